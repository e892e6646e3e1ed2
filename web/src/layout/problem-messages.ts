/** The messages of the problems of this moment. The sentences come from the server. */
import { defineMessages, plural } from '../i18n/messages.ts'

const pt = (count: number, one: string, other: string) => plural('pt-BR', count, one, other)
const en = (count: number, one: string, other: string) => plural('en', count, one, other)

export const problemMessages = defineMessages(
  {
    open: 'Ver',
    resumeQueue: 'Retomar a fila',
    queueResumed: (name: string) => `A fila ${name} voltou a andar`,
    resumeBatch: 'Continuar de onde parou',
    batchResumed: (id: string) => `O lote ${id} continua de onde parou`,
    clearProvider: 'Tentar agora',
    providerCleared: (name: string) => `O provedor ${name} pode ser chamado de novo`,
    resumeJobs: 'Continuar os jobs',
    resumeJobsTitle: 'Continuar os jobs travados?',
    counting: 'Contando…',
    resumeJobsEffect: (count: number, isAll: boolean) =>
      `${isAll ? '' : 'Mais de '}${pt(count, 'job volta', 'jobs voltam')} à fila, a partir do último passo salvo.`,
    jobsResumed: (count: number) => `${pt(count, 'job voltou', 'jobs voltaram')} à fila`,
  },
  {
    open: 'Show',
    resumeQueue: 'Resume the queue',
    queueResumed: name => `The queue ${name} moves again`,
    resumeBatch: 'Resume',
    batchResumed: id => `The batch ${id} continues`,
    clearProvider: 'Try now',
    providerCleared: name => `The provider ${name} may be asked again`,
    resumeJobs: 'Resume the jobs',
    resumeJobsTitle: 'Resume the stalled jobs?',
    counting: 'Counting…',
    resumeJobsEffect: (count, isAll) =>
      `${isAll ? '' : 'More than '}${en(count, 'job returns', 'jobs return')} to the queue, from the last saved step.`,
    jobsResumed: count => `${en(count, 'job is', 'jobs are')} back in the queue`,
  },
)
