/**
 * Implements `engine.explain`: explains why a job, a batch or a queue does not advance, and suggests actions, in the requested
 * language.
 */

import { viewBatch } from '../batches/sql/batch-view.ts'
import type { Db } from '../database/db.ts'
import { hintFor } from '../errors/did-you-mean.ts'
import { type Language, type LocalizedText, localized, RetomaError } from '../errors/errors.ts'
import { refuseOption } from '../errors/invalid-option.ts'
import { viewJobListed } from '../jobs/sql/job-view.ts'
import type { Clock } from '../lib/clock.ts'
import { isId } from '../lib/values/id.ts'
import { namePattern } from '../lib/values/name.ts'
import { explainBatch } from './model/explain-batch.ts'
import { explainJob } from './model/explain-job.ts'
import { explainQueue } from './model/explain-queue.ts'
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
    },
  ): Promise<Explanation>
}

export function createExplainer({ db, clock }: { db: Db; clock: Clock }): Explainer {
  async function ofJob(id: string, language: Language): Promise<Explanation> {
    const facts = isId(id) ? await explainJobFacts(db, id, clock.instant()) : undefined
    if (facts !== undefined) return explanationOf(explainJob(facts), facts, language)
    const isBatch = isId(id) && (await viewBatch(db, id, clock.instant())) !== undefined
    throw notFound(isBatch ? localized('job, but a batch, with the id', 'job, e sim um lote, com o id') : 'job', id)
  }

  async function ofBatch(id: string, language: Language): Promise<Explanation> {
    const facts = isId(id) ? await explainBatchFacts(db, id, clock.instant()) : undefined
    if (facts !== undefined) return explanationOf(explainBatch(facts), facts, language)
    const isJob = isId(id) && (await viewJobListed(db, id)) !== undefined
    throw notFound(
      isJob ? localized('batch, but a job, with the id', 'lote, e sim um job, com o id') : localized('batch', 'lote'),
      id,
    )
  }

  async function ofQueue(name: string, language: Language): Promise<Explanation> {
    const facts = namePattern.test(name) ? await explainQueueFacts(db, name, clock.instant()) : undefined
    if (facts !== undefined) return explanationOf(explainQueue(facts), facts, language)
    throw new RetomaError('unknown_queue', { queue: String(name), hint: hintFor(String(name), await queueNames(db)) })
  }

  return {
    async explain(what, { language = 'en' } = {}) {
      if (language !== 'en' && language !== 'pt') refuseOption('language', 'it is "en" or "pt"', 'é "en" ou "pt"')
      if ('job' in what) return ofJob(what.job, language)
      if ('batch' in what) return ofBatch(what.batch, language)
      if ('queue' in what) return ofQueue(what.queue, language)
      return refuseOption(
        'explain',
        'it takes { job }, { batch } or { queue }',
        'recebe { job }, { batch } ou { queue }',
      )
    },
  }
}

const notFound = (what: string | LocalizedText, id: string) => new RetomaError('not_found', { what, id: String(id) })
