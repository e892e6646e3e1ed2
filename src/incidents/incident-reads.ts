/** Reads the problems of this moment and the stored incidents, each with a sentence, for `engine.metrics`. */
import type { Db } from '../database/db.ts'
import { type LocalizedText, localized } from '../errors/errors.ts'
import { unwatchedAfter } from '../jobs/model/policy.ts'
import type { Clock } from '../lib/clock.ts'
import { checkPage, type ListPage, type ListPageOptions, pageOf } from '../lib/values/page.ts'
import type { IncidentEvent, NoticeSeverity } from './model/notice.ts'
import { sentenceOf, sentenceOfMany } from './model/notice-sentences.ts'
import {
  type ProblemAction,
  type ProblemEvent,
  problemAction,
  problemSentence,
  problemSeverity,
} from './model/problem.ts'
import { type IncidentRow, viewIncidents } from './sql/view-incidents.ts'
import { viewProblems } from './sql/view-problems.ts'

/** A problem that a person should know of, with the sentence in both languages. */
export interface ProblemView {
  /** Such as batch.stalled, queue.paused, provider.stopped, watchdog.late. */
  event: ProblemEvent
  /** Such as batch:17 or queue:mail. */
  subject: string
  severity: NoticeSeverity
  sentence: LocalizedText
  since: Date
  /** The action that helps, on the subject; null: no single action helps. */
  action: ProblemAction | null
  facts: Readonly<Record<string, unknown>>
}

/** The health of the system in one sentence, and the problems of this moment, the worst first. */
export interface HealthView {
  severity: 'ok' | NoticeSeverity
  sentence: LocalizedText
  since: Date | null
  problems: ProblemView[]
}

/** A stored incident. */
export interface IncidentView extends Omit<ProblemView, 'event' | 'action'> {
  id: string
  /** Such as batch.stalled, queue.starved, watchdog.late: the names of the notices. */
  event: IncidentEvent
  foundAt: Date
  /** null: the incident is open. */
  resolvedAt: Date | null
}

/** Methods of the namespace `engine.metrics`. */
export interface IncidentReads {
  /** Is something wrong now, since when, and what helps: stopped batches, queues, jobs, workers, providers and guards, a late watchdog. */
  health(options?: {
    /** Leaves out jobs and batches of these kinds, and the jobs that wait in their queues. Default: none. */
    except?: readonly string[] | undefined
  }): Promise<HealthView>
  /** The incidents of the last 30 days, the newest first. Stored by engines with `notify`. */
  incidents(
    filter?: {
      /** true: only open incidents. Default: all. */
      open?: boolean | undefined
      /** Leaves out incidents of jobs and batches of these kinds, and incidents that count jobs of several kinds. Default: none. */
      except?: readonly string[] | undefined
    } & ListPageOptions,
  ): Promise<ListPage<IncidentView>>
}

const order: readonly NoticeSeverity[] = ['critical', 'warning', 'info']

export function createIncidentReads({ db, clock }: { db: Db; clock: Clock }): IncidentReads {
  return {
    async health({ except = [] } = {}) {
      const rows = await viewProblems(db, { lateMs: unwatchedAfter, except }, clock.instant())
      const problems = rows
        .filter(({ facts }) => facts.kind === undefined || !except.includes(facts.kind))
        .map(({ event, subject, since, facts }) => ({
          event,
          subject,
          severity: problemSeverity(event, facts),
          sentence: problemSentence(event, facts),
          since,
          action: problemAction(event),
          facts: { ...facts },
        }))
        .sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity) || a.since.getTime() - b.since.getTime())
      const [worst] = problems
      if (worst === undefined)
        return { severity: 'ok', sentence: localized('Everything is moving.', 'Tudo andando.'), since: null, problems }
      return { severity: worst.severity, sentence: worst.sentence, since: worst.since, problems }
    },

    async incidents({ open = false, except = [], ...page } = {}) {
      const limit = checkPage(page)
      return pageOf((await viewIncidents(db, { open, except }, page.after, limit + 1)).map(viewOf), limit)
    },
  }
}

const viewOf = ({ subject, facts, event, ...row }: IncidentRow): IncidentView => ({
  ...row,
  event,
  subject,
  sentence: subject === 'more' ? sentenceOfMany(event, facts.more ?? 0) : sentenceOf(event, facts),
  facts: { ...facts },
})
