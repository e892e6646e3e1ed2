/**
 * Erases a batch that is over, with all that is its: for who asks that what is known of him be removed.
 *
 * Invariant: pressed again, after a crash or by ten at once, it goes on where it was; what it has begun, ticks and the janitor
 * finish without it.
 */
import { finalBatchStates } from '../core/batch-state.ts'
import { isId } from '../core/id.ts'
import { RetomaError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { markErased } from '../store/batch-erase.ts'
import type { Db } from '../store/db.ts'
import { removeDropped } from '../store/file-removal.ts'
import { follow } from '../watchdog/batches.ts'

export interface Erasing {
  /**
   * A batch that is over, its jobs, their steps, failures, events and files, and what was told of it. One that is not there is
   * erased already. Throws batch_state.
   */
  eraseBatch(id: string): Promise<{ id: string; erased: boolean }>
}

/** Something of an earlier press may have to follow first. */
const rounds = 20
const filesAtOnce = 100

export function createErasing({ db, clock }: { db: Db; clock: Clock }): Erasing {
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
        else if (left === 0 || !isFinal(found))
          throw new RetomaError('batch_state', { id, state: found, verb: 'erase' })
      }
      while ((await removeDropped(db, filesAtOnce)) === filesAtOnce);
      return { id, erased }
    },
  }
}

const isFinal = (state: string) => (finalBatchStates as readonly string[]).includes(state)
