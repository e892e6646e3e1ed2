/** The problems of this moment: severity, sentence and the action that helps. Pure; sql/view-problems.ts finds the problems. */
import { type LocalizedText, localized } from '../../errors/errors.ts'
import { type IncidentEvent, type NoticeSeverity, severityOf } from './notice.ts'
import { type IncidentFacts, sentenceOf } from './notice-sentences.ts'

/** Problems that send no notice. */
type OwnEvent = keyof typeof severities
/** The name of a problem, such as `queue.paused`; also the names of incidents. */
export type ProblemEvent = IncidentEvent | OwnEvent

export const problemActions = ['batch.resume', 'queue.resume', 'jobs.resume', 'provider.clear'] as const
/** The action that helps against a problem; its subject is the subject of the problem. */
export type ProblemAction = (typeof problemActions)[number]

const severities = {
  'queue.paused': 'warning',
  'workers.none': 'critical',
  'jobs.stalled': 'critical',
  'jobs.slow': 'info',
  'worker.blocked': 'critical',
  'provider.stopped': 'critical',
  'provider.waiting': 'warning',
  'guard.failing': 'critical',
  'guard.late': 'warning',
} satisfies Record<string, NoticeSeverity>

const isOwn = (event: ProblemEvent): event is OwnEvent => event in severities
const isPausedByPerson = (event: ProblemEvent, { reason }: IncidentFacts) =>
  event === 'batch.paused' && reason?.code === 'person'

/** A pause by a person is no fault, so its severity is `info`. */
export function problemSeverity(event: ProblemEvent, facts: IncidentFacts): NoticeSeverity {
  if (isPausedByPerson(event, facts)) return 'info'
  return isOwn(event) ? severities[event] : severityOf(event)
}

const actions: Partial<Record<ProblemEvent, ProblemAction>> = {
  'batch.stalled': 'batch.resume',
  'batch.paused': 'batch.resume',
  'queue.paused': 'queue.resume',
  'jobs.stalled': 'jobs.resume',
  'provider.stopped': 'provider.clear',
  'provider.waiting': 'provider.clear',
}

/** null: no single action of the engine helps. */
export const problemAction = (event: ProblemEvent): ProblemAction | null => actions[event] ?? null

export function problemSentence(event: ProblemEvent, facts: IncidentFacts): LocalizedText {
  if (!isOwn(event)) return sentenceOf(event, facts)
  const { queue, jobs = 0, host, pid, provider, message, guard, error } = facts
  switch (event) {
    case 'queue.paused':
      return localized(
        `Queue ${queue} is paused, and ${count(jobs, 'job waits', 'jobs wait')}.`,
        `A fila ${queue} está pausada e ${count(jobs, 'job espera', 'jobs esperam')}.`,
      )
    case 'workers.none':
      return localized(
        `No worker is alive, and ${count(jobs, 'job waits', 'jobs wait')}. Start one: npx retoma worker.`,
        `Nenhum worker vivo, e ${count(jobs, 'job espera', 'jobs esperam')}. Inicie um: npx retoma worker.`,
      )
    case 'jobs.stalled':
      return localized(
        `${count(jobs, 'job is stalled and waits', 'jobs are stalled and wait')} for a decision: resume, skip or cancel.`,
        `${count(jobs, 'job travado espera', 'jobs travados esperam')} uma decisão: continuar, pular ou cancelar.`,
      )
    case 'jobs.slow':
      return localized(
        `${count(jobs, 'job takes', 'jobs take')} longer than expected.`,
        `${count(jobs, 'job demora', 'jobs demoram')} mais que o esperado.`,
      )
    case 'worker.blocked':
      return localized(
        `The event loop of the worker on ${host} (process ${pid}) is blocked by its own code.`,
        `O worker em ${host} (processo ${pid}) está com o laço de eventos parado pelo próprio código.`,
      )
    case 'provider.stopped':
      return localized(
        `Provider ${provider} refuses requests${because(message)}. Its jobs wait; one a minute tries.`,
        `O provedor ${provider} recusa os pedidos${because(message)}. Os jobs esperam; um por minuto tenta.`,
      )
    case 'provider.waiting':
      return localized(
        `Provider ${provider} demands a wait${because(message)}.`,
        `O provedor ${provider} pediu para esperar${because(message)}.`,
      )
    case 'guard.failing':
      return localized(
        `Guard ${guard} cannot sweep${because(error?.en)}.`,
        `A guarda ${guard} não consegue varrer${because(error?.pt)}.`,
      )
    case 'guard.late':
      return localized(
        `Guard ${guard} is late: no process sweeps its table.`,
        `A guarda ${guard} está atrasada: nenhum processo varre a tabela.`,
      )
  }
}

const count = (jobs: number, one: string, other: string): string => `${jobs} ${jobs === 1 ? one : other}`
const because = (words: string | undefined): string => (words ? `: ${words.replace(/[.\s]+$/, '')}` : '')
