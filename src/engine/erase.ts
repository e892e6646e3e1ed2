/**
 * Erases a batch or a job that is over, with all that is its: for who asks that what is known of him be removed.
 *
 * Invariant: pressed again, after a crash or by ten at once, it goes on where it was; what it has begun, ticks and the janitor
 * finish without it.
 */
import { finalBatchStates } from '../core/batch-state.ts'
import { isId } from '../core/id.ts'
import { finalStates } from '../core/state.ts'
import { RetomaError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { markErased } from '../store/batch-erase.ts'
import type { Db } from '../store/db.ts'
import { removeDropped } from '../store/file-removal.ts'
import { eraseJob } from '../store/job-erase.ts'
import { follow } from '../watchdog/batches.ts'

export interface Erasing {
  /**
   * A batch that is over, its jobs, their steps, failures, events and files, and what was told of it. One that is not there is
   * erased already. Throws batch_state.
   */
  eraseBatch(id: string): Promise<{ id: string; erased: boolean }>
  /**
   * A job that is over, its steps, failures, events and files, and what was told of it. An item's batch goes on counting it. Its
   * key is free: whoever enqueues with it makes another job. One that is not there is erased already. Throws wrong_state.
   */
  eraseJob(id: string): Promise<{ id: string; erased: boolean }>
}

/** Something of an earlier press may have to follow first. */
const rounds = 20
const filesAtOnce = 100

export function createErasing({ db, clock }: { db: Db; clock: Clock }): Erasing {
  const removeFiles = async () => {
    while ((await removeDropped(db, filesAtOnce)) === filesAtOnce);
  }
  const bites = (id: string) => follow(db, clock, id, Number.POSITIVE_INFINITY)

  return {
    async eraseBatch(id) {
      if (!isId(id)) return { id, erased: false }
      let erased = false
      for (let left = rounds; ; left--) {
        await bites(id)
        const found = await markErased(db, id, clock.instant())
        if (found === undefined) break
        if (found === 'marked') erased = true
        else if (left === 0 || !isIn(finalBatchStates, found))
          throw new RetomaError('batch_state', { id, state: found, verb: 'erase' })
      }
      await removeFiles()
      return { id, erased }
    },

    async eraseJob(id) {
      if (!isId(id)) return { id, erased: false }
      for (let left = rounds; ; left--) {
        const found = await eraseJob(db, id, clock.instant())
        // It may have ended since it was looked for.
        if (found !== undefined && found !== 'erased') {
          if (left > 0 && isIn(finalStates, found)) continue
          throw new RetomaError('wrong_state', { id, state: found, verb: 'erase' })
        }
        await removeFiles()
        return { id, erased: found === 'erased' }
      }
    },
  }
}

const isIn = (states: readonly string[], state: string): boolean => states.includes(state)
