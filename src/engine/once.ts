/**
 * The same request under the same key is done once, and answered as it was the first time.
 *
 * By `exactlyOnce` what is made and its answer commit together, so that holds whatever dies in between: jobs, the job of a
 * schedule, a token. `once` is for what cannot be in that transaction: it refuses a second request while the first is under way, and when
 * the first died, or its end is not known, does it again after a minute. What is made there must have a key of its own where that matters.
 */
import { RetomaError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { type Db, type Run, runOn } from '../store/db.ts'
import { dropKey, type Kept, keepAnswer, type Once, readKept, takeKey } from '../store/idempotency.ts'

export interface Onces {
  /**
   * `work` answers what to keep, which may be less than its value; nothing is kept when it throws. Throws
   * idempotency_conflict, idempotency_running.
   */
  once<T>(once: Once, work: () => Promise<{ value: T; keep: Kept }>): Promise<{ value: T } | { kept: Kept }>
}

/** Throws when another request has the key, or it is under way. */
async function lookUp(run: Run, once: Once, now: Date | null): Promise<Kept | undefined> {
  const found = await readKept(run, once, now)
  if (found === undefined) return undefined
  if (!found.same) throw new RetomaError('idempotency_conflict', { key: once.key })
  if (found.status === null || found.body === null)
    throw new RetomaError('idempotency_running', { key: once.key }, { retryAfterSeconds: 1 })
  return { status: found.status, body: found.body }
}

/** `made`: absent when it was answered before, and nothing is made. */
export interface Exactly<T> {
  kept: Kept
  made?: T
}

/**
 * `prepare` refuses what cannot be made, and gives what makes it; it is not asked for what was answered before. `answer`: what
 * of it is kept. Two at once: the second waits for the first to commit, and has its answer.
 */
export async function exactlyOnce<T>(
  { db, clock }: { db: Db; clock: Clock },
  once: Once,
  prepare: () => Promise<(run: Run) => Promise<T>>,
  answer: (made: T) => Kept,
): Promise<Exactly<T>> {
  for (;;) {
    const before = await lookUp(db.run, once, clock.instant())
    if (before !== undefined) return { kept: before }
    const make = await prepare()
    const done = await db.transaction(async (client): Promise<Exactly<T> | undefined> => {
      const run = runOn(client)
      const at = await takeKey(run, once, clock.instant())
      if (at === undefined) {
        const kept = await lookUp(run, once, clock.instant())
        return kept && { kept }
      }
      const made = await make(run)
      const kept = answer(made)
      await keepAnswer(run, once, at, kept)
      return { kept, made }
    })
    if (done !== undefined) return done
    // Its day ended in between.
  }
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
  }
}
