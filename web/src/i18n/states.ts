/** The words for the states of jobs and batches. */
import { defineMessages } from './messages.ts'

export const stateMessages = defineMessages(
  {
    waiting: 'Aguardando',
    ready: 'Pronto',
    scheduled: 'Agendado',
    submitting: 'Enviando',
    running: 'Em execução',
    paused: 'Pausado',
    stalled: 'Travado',
    succeeded: 'Concluído',
    completed_with_failures: 'Concluído com erros',
    failed: 'Falhou',
    skipped: 'Pulado',
    cancelled: 'Cancelado',
  },
  {
    waiting: 'Waiting',
    ready: 'Ready',
    scheduled: 'Scheduled',
    submitting: 'Submitting',
    running: 'Running',
    paused: 'Paused',
    stalled: 'Stalled',
    succeeded: 'Succeeded',
    completed_with_failures: 'Completed with failures',
    failed: 'Failed',
    skipped: 'Skipped',
    cancelled: 'Cancelled',
  },
)
