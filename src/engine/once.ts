/**
 * The same request under the same key is done once, and answered as it was the first time.
 *
 * Jobs and their answer commit together (together.ts), so that is exact whatever dies in between. `once` is for what cannot be
 * in that transaction: it refuses a second request while the first is under way, and when the first died, or its end is not
 * known, does it again after a minute. What is made there must have a key of its own where that matters.
 */
import { RetomaError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Db, Run } from '../store/db.ts'
import { dropKey, forgetAnswers, type Kept, keepAnswer, type Once, readKept, takeKey } from '../store/idempotency.ts'

export interface Onces {
  /**
   * `work` answers what to keep, which may be less than its value; nothing is kept when it throws. Throws
   * idempotency_conflict, idempotency_running.
   */
  once<T>(once: Once, work: () => Promise<{ value: T; keep: Kept }>): Promise<{ value: T } | { kept: Kept }>
  /**
   * For what is erased: of the answer to the request that made it (`post /letters`) only its id is kept, the field `id`. The same
   * request under the same key makes no other: it is not_found.
   */
  forgetAnswers(route: string, id: string): Promise<void>
}

/** Throws when another request has the key, or it is under way. */
export async function lookUp(run: Run, once: Once, now: Date | null): Promise<Kept | undefined> {
  const found = await readKept(run, once, now)
  if (found === undefined) return undefined
  if (!found.same) throw new RetomaError('idempotency_conflict', { key: once.key })
  if (found.status === null || found.body === null)
    throw new RetomaError('idempotency_running', { key: once.key }, { retryAfterSeconds: 1 })
  return { status: found.status, body: found.body }
}

export function createOnces({ db, clock }: { db: Db; clock: Clock }): Onces {
  return {
    async once(once, work) {
      for (;;) {
        const at = await takeKey(db.run, once, clock.instant())
        if (at === undefined) {
          const kept = await lookUp(db.run, once, clock.instant())
          if (kept !== undefined) return { kept }
          continue // its day ended in between
        }
        const { value, keep } = await work().catch(async error => {
          await dropKey(db.run, once, at).catch(() => {}) // left behind, it is free in a minute
          throw error
        })
        await keepAnswer(db.run, once, at, keep)
        return { value }
      }
    },

    forgetAnswers: (route, id) => forgetAnswers(db.run, route, id, clock.instant()),
  }
}
