/**
 * Erases a finished batch or job with all related rows and files, for requests to remove personal data.
 *
 * Invariant: a repeated call, after a crash or from ten callers at once, continues where the erase stopped; ticks and the janitor
 * finish a begun erase on their own.
 */

import { type CascadeOptions, continueCascade } from '../batches/batch-tick.ts'
import { finalBatchStates } from '../batches/model/batch-state.ts'
import { RetomaError } from '../errors/errors.ts'
import { removeDropped } from '../files/sql/file-removal.ts'
import { type ActedBy, checkActor } from '../jobs/model/actor.ts'
import { finalStates } from '../jobs/model/state.ts'
import type { Log } from '../lib/logging/log.ts'
import { isId } from '../lib/values/id.ts'
import { markBatchErased } from './sql/erase-batch.ts'
import { eraseJob, eraseJobs } from './sql/erase-job.ts'

/** `erased`: this call erased the batch or the job. */
export interface EraseResult {
  id: string
  erased: boolean
}

/** `batch` is `engine.batches.erase`, `job` is `engine.jobs.erase`. */
export interface Eraser {
  /**
   * Erases a finished batch with its jobs, checkpoints, failures, events, files, incidents and notices. A missing batch counts as
   * already erased. Throws `batch_state`.
   */
  batch(id: string, options?: ActedBy): Promise<EraseResult>
  /**
   * Erases a finished job with its checkpoints, failures, events, files, incidents and notices. The batch of an item still counts
   * the item. The unique key becomes free: an enqueue with the same key creates another job. A missing job counts as already
   * erased. Throws `wrong_state`.
   */
  job(id: string, options?: ActedBy): Promise<EraseResult>
  /** Erases the jobs among `ids` that are in a final state; answers their number. `by` is checked. */
  jobs(ids: readonly string[], by: string | undefined): Promise<number>
}

/** Retries while the cascade of an earlier action must finish first. */
const maxConflictRetries = 20
const filesAtOnce = 100

/** An erase removes the events too, so that the log alone says who erased. */
export function createEraser(given: CascadeOptions & { log: Log }): Eraser {
  const { db, clock, log } = given
  const removeFiles = async () => {
    while ((await removeDropped(db, filesAtOnce)) === filesAtOnce);
  }
  const finishCascade = (id: string) => continueCascade(given, id, Number.POSITIVE_INFINITY)

  return {
    async batch(id, options) {
      const by = checkActor(options)
      if (!isId(id)) return { id, erased: false }
      let erased = false
      for (let left = maxConflictRetries; ; left--) {
        await finishCascade(id)
        const found = await markBatchErased(db, id, clock.instant())
        if (found === undefined) break
        if (found === 'marked') {
          erased = true
          log.info({ batch: id, by }, 'batch erased')
        } else if (left === 0 || !isIn(finalBatchStates, found))
          throw new RetomaError('batch_state', { id, state: found, action: 'erase' })
      }
      await removeFiles()
      return { id, erased }
    },

    async jobs(ids, by) {
      const erased = await eraseJobs(db, ids, clock.instant())
      if (erased > 0) {
        log.info({ jobs: erased, first: ids[0], last: ids.at(-1), by }, 'jobs erased')
        await removeFiles()
      }
      return erased
    },

    async job(id, options) {
      const by = checkActor(options)
      if (!isId(id)) return { id, erased: false }
      for (let left = maxConflictRetries; ; left--) {
        const found = await eraseJob(db, id, clock.instant())
        // The job may have ended since the read.
        if (found !== undefined && found !== 'erased') {
          if (left > 0 && isIn(finalStates, found)) continue
          throw new RetomaError('wrong_state', { id, state: found, action: 'erase' })
        }
        if (found === 'erased') log.info({ job: id, by }, 'job erased')
        await removeFiles()
        return { id, erased: found === 'erased' }
      }
    },
  }
}

const isIn = (states: readonly string[], state: string): boolean => states.includes(state)
