/**
 * Erases a finished batch or job with all related rows and files, for requests to remove personal data.
 *
 * Invariant: a repeated call, after a crash or from ten callers at once, continues where the erase stopped; ticks and the janitor
 * finish a begun erase on their own.
 */

import { continueCascade } from '../batches/batch-tick.ts'
import { finalBatchStates } from '../batches/model/batch-state.ts'
import type { Db } from '../database/db.ts'
import { RetomaError } from '../errors/errors.ts'
import { removeDropped } from '../files/sql/file-removal.ts'
import { finalStates } from '../jobs/model/state.ts'
import type { Clock } from '../lib/clock.ts'
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
  batch(id: string): Promise<EraseResult>
  /**
   * Erases a finished job with its checkpoints, failures, events, files, incidents and notices. The batch of an item still counts
   * the item. The unique key becomes free: an enqueue with the same key creates another job. A missing job counts as already
   * erased. Throws `wrong_state`.
   */
  job(id: string): Promise<EraseResult>
  /** Erases the jobs among `ids` that are in a final state; answers their number. */
  jobs(ids: readonly string[]): Promise<number>
}

/** Retries while the cascade of an earlier action must finish first. */
const maxConflictRetries = 20
const filesAtOnce = 100

export function createEraser({ db, clock }: { db: Db; clock: Clock }): Eraser {
  const removeFiles = async () => {
    while ((await removeDropped(db, filesAtOnce)) === filesAtOnce);
  }
  const finishCascade = (id: string) => continueCascade(db, clock, id, Number.POSITIVE_INFINITY)

  return {
    async batch(id) {
      if (!isId(id)) return { id, erased: false }
      let erased = false
      for (let left = maxConflictRetries; ; left--) {
        await finishCascade(id)
        const found = await markBatchErased(db, id, clock.instant())
        if (found === undefined) break
        if (found === 'marked') erased = true
        else if (left === 0 || !isIn(finalBatchStates, found))
          throw new RetomaError('batch_state', { id, state: found, action: 'erase' })
      }
      await removeFiles()
      return { id, erased }
    },

    async jobs(ids) {
      const erased = await eraseJobs(db, ids, clock.instant())
      if (erased > 0) await removeFiles()
      return erased
    },

    async job(id) {
      if (!isId(id)) return { id, erased: false }
      for (let left = maxConflictRetries; ; left--) {
        const found = await eraseJob(db, id, clock.instant())
        // The job may have ended since the read.
        if (found !== undefined && found !== 'erased') {
          if (left > 0 && isIn(finalStates, found)) continue
          throw new RetomaError('wrong_state', { id, state: found, action: 'erase' })
        }
        await removeFiles()
        return { id, erased: found === 'erased' }
      }
    },
  }
}

const isIn = (states: readonly string[], state: string): boolean => states.includes(state)
