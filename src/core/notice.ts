/**
 * What a person is told, and how: an incident as it is found, made into the notice that is posted. Pure; the sentences are
 * in notice-words.ts, the webhook in engine/webhook.ts.
 *
 * Invariant: a notice is made once, when its incident is found, and sent as it is however often it takes: whoever gets it twice
 * can tell by `facts.incident` and `event`.
 */
import type { Language } from '../errors.ts'
import { type IncidentFacts, sentenceOf, sentenceOfEnd, sentenceOfMany } from './notice-words.ts'

export const incidentEvents = [
  'batch.stalled', 'batch.failed', 'batch.succeeded', 'batch.paused', 'job.poison', 'queue.starved', 'jobs.stuck', 'watchdog.late',
] as const // biome-ignore format: read as one list
export type IncidentEvent = (typeof incidentEvents)[number]

export type Severity = 'info' | 'warning' | 'critical'

const severities: Record<IncidentEvent, Severity> = {
  'batch.stalled': 'critical',
  'batch.failed': 'critical',
  'batch.succeeded': 'info',
  'batch.paused': 'warning',
  'job.poison': 'warning',
  'queue.starved': 'critical',
  'jobs.stuck': 'critical',
  'watchdog.late': 'critical',
}

/** Something a person should know, as it was found. */
export interface Incident {
  event: IncidentEvent
  /** What it is of, such as batch:17: one is told once while it lasts. */
  subject: string
  since: string
  facts: IncidentFacts
}

/** What is posted. `facts` has besides what was found: subject, since, cleared_at, and the incident's number. */
export interface Notice {
  /** An incident's event; with `.cleared` when it is over; or `test`. */
  event: string
  severity: Severity
  sentence: string
  link: string | null
  facts: Record<string, unknown>
}

export interface Writing {
  language: Language
  /** Where people reach Retoma. */
  link: string | null
}

export const severityOf = (event: IncidentEvent): Severity => severities[event]

export const noticeOf = ({ event, subject, since, facts }: Incident, { language, link }: Writing): Notice => ({
  event,
  severity: severityOf(event),
  sentence: sentenceOf(event, facts)[language],
  link: linkTo(link, facts),
  facts: { ...facts, subject, since },
})

/** It is over. */
export const noticeOfEnd = (
  { event, subject, since, facts }: Incident,
  clearedAt: string,
  { language, link }: Writing,
): Notice => ({
  event: `${event}.cleared`,
  severity: 'info',
  sentence: sentenceOfEnd(event, facts)[language],
  link: linkTo(link, facts),
  facts: { ...facts, subject, since, cleared_at: clearedAt },
})

/** So many that more are not told one by one. */
export const noticeOfMany = (
  { event, subject, since, facts }: Incident & { facts: { more: number } },
  { language, link }: Writing,
): Notice => ({
  event,
  severity: severityOf(event),
  sentence: sentenceOfMany(event, facts.more)[language],
  link: linkTo(link, facts),
  facts: { ...facts, subject, since },
})

export const noticeOfTest = ({ language, link }: Writing, at: string): Notice => ({
  event: 'test',
  severity: 'info',
  sentence:
    language === 'pt'
      ? 'O Retoma consegue avisar aqui. Isto é um teste; não há nada a fazer.'
      : 'Retoma can tell you here. This is a test; there is nothing to do.',
  link,
  facts: { at },
})

/** Where it is explained, or listed. */
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
