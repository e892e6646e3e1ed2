/**
 * The same request under the same key is done once, and answered as it was the first time.
 *
 * By `exactlyOnce` what is made and its answer commit together, so that holds whatever dies in between: jobs, the job of a
 * schedule, a token; by `transactionOnce` so do the rows of an application. `once` is for what cannot be in one transaction: it refuses
 * a second request while the first is under way, and when the first died, or its end is not known, does it again after a minute.
 * What is made there must have a key of its own where that matters.
 */
import type { JobTransaction } from '../core/context.ts'
import { RetomaError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { type Db, type Run, runOn } from '../store/db.ts'
import { dropKey, forgetAnswers, type Kept, keepAnswer, type Once, readKept, takeKey } from '../store/idempotency.ts'
import { sqlState } from '../store/trouble.ts'
import type { Own } from './own.ts'

export interface Onces {
  /**
   * `work` answers what to keep, which may be less than its value; nothing is kept when it throws. Throws
   * idempotency_conflict, idempotency_running.
   */
  once<T>(once: Once, work: () => Promise<{ value: T; keep: Kept }>): Promise<{ value: T } | { kept: Kept }>
  /**
   * What `work` writes through `tx` and the answer that it gives are committed together, or neither is; what was answered before is
   * given again, and `work` not asked. All that it reads goes by `tx` too: those who ask for the same at the same time wait for it, each
   * with a connection. Throws idempotency_conflict, idempotency_running.
   */
  transactionOnce(once: Once, work: (tx: JobTransaction) => Promise<Kept>): Promise<Exactly<Kept>>
  /**
   * For what is erased: of the answer to the request that made it (`post /letters`) only its id is kept, the field `id`. The same
   * request under the same key makes no other: it is not_found.
   */
  forgetAnswers(route: string, id: string): Promise<void>
}

/** Throws when another request has the key, or it is under way. */
async function lookUp(run: Run, once: Once, now: Date | null): Promise<Kept | undefined> {
  const found = await readKept(run, once, now)
  if (found === undefined) return undefined
  if (!found.same) throw new RetomaError('idempotency_conflict', { key: once.key })
  if (found.status === null || found.body === null) throw running(once)
  return { status: found.status, body: found.body }
}

const running = ({ key }: Once) => new RetomaError('idempotency_running', { key }, { retryAfterSeconds: 1 })

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
    const done = await db.transaction(client => inside(runOn(client), once, clock.instant(), make, answer))
    if (done !== undefined) return done
    // Its day ended in between.
  }
}

/** All of it in the caller's transaction; undefined: somebody had the key, and has it no longer. */
async function inside<T>(
  run: Run,
  once: Once,
  now: Date | null,
  make: (run: Run) => Promise<T>,
  answer: (made: T) => Kept,
): Promise<Exactly<T> | undefined> {
  const at = await takeKey(run, once, now).catch(error => {
    // Its first has it for longer than anybody waits for a lock.
    throw sqlState(error) === '55P03' ? running(once) : error
  })
  if (at === undefined) {
    const kept = await lookUp(run, once, now)
    return kept && { kept }
  }
  const made = await make(run)
  const kept = answer(made)
  await keepAnswer(run, once, at, kept)
  return { kept, made }
}

const runThrough =
  (tx: JobTransaction): Run =>
  async <Row>({ text }: { text: string }, values: unknown[]) =>
    (await tx.query<Row>(text, values)).rows

export function createOnces({
  db,
  clock,
  transaction,
}: {
  db: Db
  clock: Clock
  transaction: Own['transaction']
}): Onces {
  return {
    async transactionOnce(once, work) {
      for (;;) {
        const before = await lookUp(db.run, once, clock.instant())
        if (before !== undefined) return { kept: before }
        const done = await transaction(tx =>
          inside(
            runThrough(tx),
            once,
            clock.instant(),
            () => work(tx),
            kept => kept,
          ),
        )
        if (done !== undefined) return done
        // Its day ended in between.
      }
    },

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
