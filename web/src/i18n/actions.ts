/** The words for what a person or the engine did to a job or a batch. */
import { defineMessages } from './messages.ts'

export const actionMessages = defineMessages(
  {
    pause: 'pausou',
    resume: 'continuou',
    cancel: 'cancelou',
    retry: 'mandou tentar de novo',
    'retry failed': 'mandou reprocessar os erros',
    rerun: 'mandou rodar do zero',
    skip: 'pulou',
    fail: 'marcou como falha',
    priority: 'mudou a prioridade',
    update: 'mudou',
  },
  {
    pause: 'paused',
    resume: 'resumed',
    cancel: 'cancelled',
    retry: 'retried',
    'retry failed': 'retried the failures',
    rerun: 'ran from scratch',
    skip: 'skipped',
    fail: 'marked as failed',
    priority: 'changed the priority',
    update: 'changed',
  },
)
