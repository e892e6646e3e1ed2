/**
 * Turns an incident into the notice to send. Pure; the sentences are in notice-sentences.ts, the webhook is in incidents/webhook.ts.
 *
 * Invariant: the engine makes a notice once, when the watchdog finds the incident, and sends the same notice on every attempt. A
 * receiver recognises a repeated notice by `facts.incident` and `event`.
 */
import type { Language } from '../../errors/errors.ts'
import { type IncidentFacts, sentenceOf, sentenceOfEnd, sentenceOfMany } from './notice-sentences.ts'

/** The queue and the kind of the jobs that post notices. */
export const notifyQueue = 'retoma-notify'
export const notifyKind = 'retoma.notify'

export const incidentEvents = [
  'batch.stalled', 'batch.failed', 'batch.succeeded', 'batch.completed_with_failures', 'batch.paused', 'job.poison', 'queue.starved', 'jobs.stuck', 'watchdog.late',
] as const // biome-ignore format: read as one list
/** The name of an incident, such as `batch.stalled`. */
export type IncidentEvent = (typeof incidentEvents)[number]

/** The severity of a notice. */
export type NoticeSeverity = 'info' | 'warning' | 'critical'

const severities: Record<IncidentEvent, NoticeSeverity> = {
  'batch.stalled': 'critical',
  'batch.failed': 'critical',
  'batch.succeeded': 'info',
  'batch.completed_with_failures': 'warning',
  'batch.paused': 'warning',
  'job.poison': 'warning',
  'queue.starved': 'critical',
  'jobs.stuck': 'critical',
  'watchdog.late': 'critical',
}

/** A finding for people, with the facts of the moment of detection. */
export interface Incident {
  event: IncidentEvent
  /** The affected object, such as batch:17. At most a single open incident per event and subject. */
  subject: string
  since: string
  facts: IncidentFacts
}

/** Body of the webhook request. `facts` has also subject, since, cleared_at, and the number of the incident. */
export interface WebhookNotice {
  /** The event of the incident; with `.cleared` at the end of the incident; or `test`. */
  event: string
  severity: NoticeSeverity
  sentence: string
  link: string | null
  facts: Record<string, unknown>
}

export interface Writing {
  language: Language
  /** Public address of Retoma. */
  link: string | null
}

export const severityOf = (event: IncidentEvent): NoticeSeverity => severities[event]

export const noticeOf = ({ event, subject, since, facts }: Incident, { language, link }: Writing): WebhookNotice => ({
  event,
  severity: severityOf(event),
  sentence: sentenceOf(event, facts)[language],
  link: linkTo(link, facts),
  facts: { ...facts, subject, since },
})

/** Makes the notice about the end of an incident. */
export const noticeOfEnd = (
  { event, subject, since, facts }: Incident,
  clearedAt: string,
  { language, link }: Writing,
): WebhookNotice => ({
  event: `${event}.cleared`,
  severity: 'info',
  sentence: sentenceOfEnd(event, facts)[language],
  link: linkTo(link, facts),
  facts: { ...facts, subject, since, cleared_at: clearedAt },
})

/** Makes a single notice about `more` incidents, when there are too many for a notice each. */
export const noticeOfMany = (
  { event, subject, since, facts }: Incident & { facts: { more: number } },
  { language, link }: Writing,
): WebhookNotice => ({
  event,
  severity: severityOf(event),
  sentence: sentenceOfMany(event, facts.more)[language],
  link: linkTo(link, facts),
  facts: { ...facts, subject, since },
})

export const noticeOfTest = ({ language, link }: Writing, at: string): WebhookNotice => ({
  event: 'test',
  severity: 'info',
  sentence:
    language === 'pt'
      ? 'O Retoma consegue avisar aqui. Isto é um teste; não há nada a fazer.'
      : 'Retoma can tell you here. This is a test; there is nothing to do.',
  link,
  facts: { at },
})

/** Returns the address of the explanation or of the list. */
function linkTo(base: string | null, facts: IncidentFacts): string | null {
  if (base === null) return null
  const home = base.replace(/(?<!\/)\/+$/, '')
  if (facts.about !== undefined) return `${home}${facts.about.path}`
  const path = () => {
    if (facts.batch !== undefined) return `batches/${facts.batch}/explain`
    if (facts.job !== undefined) return `jobs/${facts.job}/explain`
    if (facts.stuck !== undefined) return 'jobs?state=stalled'
    return facts.queue === undefined ? 'stats' : 'queues'
  }
  return `${home}/api/v1/${path()}`
}
