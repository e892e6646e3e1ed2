/**
 * Implements `engine.explain`: explains why a job, a batch or a queue does not advance, and suggests actions, in the requested
 * language.
 */

import { viewBatch } from '../batches/sql/batch-view.ts'
import type { Db } from '../database/db.ts'
import { hintFor } from '../errors/did-you-mean.ts'
import { type Language, type LocalizedText, localized, RetomaError } from '../errors/errors.ts'
import { refuseOption } from '../errors/invalid-option.ts'
import { privateKindsIn } from '../jobs/sql/job-kind.ts'
import { viewJobListed } from '../jobs/sql/job-view.ts'
import type { Clock } from '../lib/clock.ts'
import { isId } from '../lib/values/id.ts'
import { namePattern } from '../lib/values/name.ts'
import { explainBatch } from './model/explain-batch.ts'
import type { QueueFacts, WorkerFacts } from './model/explain-facts.ts'
import { explainJob } from './model/explain-job.ts'
import { explainQueue, explainQueueWithoutCounts } from './model/explain-queue.ts'
import { type Explanation, explanationOf } from './model/explanation.ts'
import { explainBatchFacts } from './sql/batch-facts.ts'
import { explainJobFacts } from './sql/job-facts.ts'
import { explainQueueFacts, queueNames } from './sql/queue-facts.ts'

/** The subject of an explanation: a job, a batch or a queue. */
export type ExplainSubject = { job: string } | { batch: string } | { queue: string }

export interface Explainer {
  /**
   * Explains why a job, a batch or a queue does not advance, and whether to wait or act. Read-only; the cost does not depend on the
   * number of waiting jobs. Throws `not_found` and `unknown_queue`.
   *
   * @example
   * const { verdict, sentence } = await engine.explain({ job: id })
   */
  explain(
    what: ExplainSubject,
    options?: {
      /** The language of the sentences. Default: en. */
      language?: Language
      /** Does not name a blocking job of these kinds, and shows no numbers of their queues. Default: none. */
      except?: readonly string[]
    },
  ): Promise<Explanation>
}

export function createExplainer({ db, clock }: { db: Db; clock: Clock }): Explainer {
  async function ofJob(id: string, language: Language, except: readonly string[]): Promise<Explanation> {
    const facts = isId(id) ? withoutBlocking(await explainJobFacts(db, id, clock.instant()), except) : undefined
    if (facts !== undefined) return explanationOf(explainJob(facts), facts, language)
    const isBatch = isId(id) && (await viewBatch(db, id, clock.instant())) !== undefined
    throw notFound(isBatch ? localized('job, but a batch, with the id', 'job, e sim um lote, com o id') : 'job', id)
  }

  async function ofBatch(id: string, language: Language, except: readonly string[]): Promise<Explanation> {
    const facts = isId(id) ? withoutBlocking(await explainBatchFacts(db, id, clock.instant()), except) : undefined
    if (facts !== undefined) return explanationOf(explainBatch(facts), facts, language)
    const isJob = isId(id) && (await viewJobListed(db, id)) !== undefined
    throw notFound(
      isJob ? localized('batch, but a job, with the id', 'lote, e sim um job, com o id') : localized('batch', 'lote'),
      id,
    )
  }

  async function ofQueue(name: string, language: Language, except: readonly string[]): Promise<Explanation> {
    const facts = namePattern.test(name)
      ? withoutBlocking(await explainQueueFacts(db, name, clock.instant()), except)
      : undefined
    if (facts !== undefined && except.length > 0) {
      const isHidden = (await privateKindsIn(db, name)).some(kind => except.includes(kind))
      if (isHidden) return explanationOf(explainQueueWithoutCounts(facts), withoutCounts(facts), language)
    }
    if (facts !== undefined) return explanationOf(explainQueue(facts), facts, language)
    throw new RetomaError('unknown_queue', { queue: String(name), hint: hintFor(String(name), await queueNames(db)) })
  }

  return {
    async explain(what, { language = 'en', except = [] } = {}) {
      if (language !== 'en' && language !== 'pt') refuseOption('language', 'it is "en" or "pt"', 'é "en" ou "pt"')
      if ('job' in what) return ofJob(what.job, language, except)
      if ('batch' in what) return ofBatch(what.batch, language, except)
      if ('queue' in what) return ofQueue(what.queue, language, except)
      return refuseOption(
        'explain',
        'it takes { job }, { batch } or { queue }',
        'recebe { job }, { batch } ou { queue }',
      )
    },
  }
}

/**
 * The same facts; a worker does not name its blocking job, nor its stack, if the job is of a kind in `except`, or if the kind is unknown
 * because the job is gone.
 */
function withoutBlocking<T>(facts: T, except: readonly string[]): T {
  if (except.length === 0 || typeof facts !== 'object' || facts === null || facts instanceof Date) return facts
  if (Array.isArray(facts)) return facts.map(each => withoutBlocking(each, except)) as T
  const shown = Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [name, withoutBlocking(value, except)]),
  ) as Partial<WorkerFacts>
  const isHidden = shown.blockedJob != null && (shown.blockedKind == null || except.includes(shown.blockedKind))
  return (isHidden ? { ...shown, ...noBlocking } : shown) as T
}

/** The facts of a queue that do not depend on its jobs. */
const withoutCounts = ({ now, queue, paused, eligibleWorkers: { live, serving } }: QueueFacts) => ({
  now,
  queue,
  paused,
  eligibleWorkers: { live, serving },
})

const noBlocking = { blockedJob: null, blockedAttempt: null, blockedKind: null, stack: null }

const notFound = (what: string | LocalizedText, id: string) => new RetomaError('not_found', { what, id: String(id) })
