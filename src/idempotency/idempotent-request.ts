/**
 * Executes an idempotent request once and answers its repetition with the stored response.
 *
 * `exactlyOnce` commits the created rows and the response together, so that the guarantee survives any crash: jobs, the job of a
 * schedule, a token; `transactionOnce` does the same for rows of an application. `once` is for work outside a single transaction:
 * a second request is rejected while the first is under way, and if the first crashed, or its end is unknown, the work runs again
 * after a minute. Such work needs a unique key of its own if a repetition matters.
 */

import { type Db, type Run, runOn } from '../database/db.ts'
import { sqlState } from '../database/pg-errors.ts'
import type { AppTransactions } from '../database/transactions/app-transaction.ts'
import { RetomaError } from '../errors/errors.ts'
import type { JobTransaction } from '../jobs/model/job-context.ts'
import type { Clock } from '../lib/clock.ts'
import {
  dropKey,
  eraseStoredResponses,
  type IdempotencyKey,
  readStoredResponse,
  type StoredResponse,
  storeResponse,
  takeKey,
} from './stored-response.sql.ts'

export interface IdempotentRequests {
  /**
   * `work` answers the response to store, which may be less than its value; if `work` throws, nothing is stored. Throws
   * `idempotency_conflict`, `idempotency_running`.
   */
  once<T>(
    once: IdempotencyKey,
    work: () => Promise<{ value: T; keep: StoredResponse }>,
  ): Promise<{ value: T } | { kept: StoredResponse }>
  /**
   * Commits the writes of `work` through `tx` together with the response, or neither; a repetition gets the stored response
   * without a call of `work`. All reads of `work` must use `tx` too: concurrent repetitions wait for `work`, each with a
   * connection. Throws `idempotency_conflict`, `idempotency_running`.
   */
  transactionOnce(
    once: IdempotencyKey,
    work: (tx: JobTransaction) => Promise<StoredResponse>,
  ): Promise<Replayable<StoredResponse>>
  /**
   * Call after erasing a resource created by an idempotent request of `route` (`post /letters`). Replaces the stored response by
   * the field `id`; repeating the request then fails with `not_found` instead of creating the resource again.
   */
  forgetAnswers(route: string, id: string): Promise<void>
}

/** Throws if another request has the key, or the request is under way. */
async function lookUp(run: Run, once: IdempotencyKey, now: Date | null): Promise<StoredResponse | undefined> {
  const found = await readStoredResponse(run, once, now)
  if (found === undefined) return undefined
  if (!found.same) throw new RetomaError('idempotency_conflict', { key: once.key })
  if (found.status === null || found.body === null) throw running(once)
  return { status: found.status, body: found.body }
}

const running = ({ key }: IdempotencyKey) => new RetomaError('idempotency_running', { key }, { retryAfterSeconds: 1 })

/** `made`: absent if a stored response was found and nothing was created. */
export interface Replayable<T> {
  kept: StoredResponse
  made?: T
}

/**
 * `prepare` validates the request and answers the function that creates the rows; not called if a stored response exists.
 * `answer`: the response to store. Of two concurrent requests the second waits for the commit of the first and gets the same
 * response.
 */
export async function exactlyOnce<T>(
  { db, clock }: { db: Db; clock: Clock },
  once: IdempotencyKey,
  prepare: () => Promise<(run: Run) => Promise<T>>,
  answer: (made: T) => StoredResponse,
): Promise<Replayable<T>> {
  for (;;) {
    const before = await lookUp(db.run, once, clock.instant())
    if (before !== undefined) return { kept: before }
    const make = await prepare()
    const done = await db.transaction(client => inside(runOn(client), once, clock.instant(), make, answer))
    if (done !== undefined) return done
    // The key expired in between.
  }
}

/** Runs inside the caller's transaction; undefined: another request had the key, which has expired. */
async function inside<T>(
  run: Run,
  once: IdempotencyKey,
  now: Date | null,
  make: (run: Run) => Promise<T>,
  answer: (made: T) => StoredResponse,
): Promise<Replayable<T> | undefined> {
  const at = await takeKey(run, once, now).catch(error => {
    // The first request has had the key for longer than the lock timeout.
    throw sqlState(error) === '55P03' ? running(once) : error
  })
  if (at === undefined) {
    const kept = await lookUp(run, once, now)
    return kept && { kept }
  }
  const made = await make(run)
  const kept = answer(made)
  await storeResponse(run, once, at, kept)
  return { kept, made }
}

const runThrough =
  (tx: JobTransaction): Run =>
  async <Row>({ text }: { text: string }, values: unknown[]) =>
    (await tx.query<Row>(text, values)).rows

export function createIdempotentRequests({
  db,
  clock,
  transaction,
}: {
  db: Db
  clock: Clock
  transaction: AppTransactions['transaction']
}): IdempotentRequests {
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
        // The key expired in between.
      }
    },

    async once(once, work) {
      for (;;) {
        const at = await takeKey(db.run, once, clock.instant())
        if (at === undefined) {
          const kept = await lookUp(db.run, once, clock.instant())
          if (kept !== undefined) return { kept }
          continue // the key expired in between
        }
        const { value, keep } = await work().catch(async error => {
          await dropKey(db.run, once, at).catch(() => {}) // a leftover key is free after a minute
          throw error
        })
        await storeResponse(db.run, once, at, keep)
        return { value }
      }
    },

    forgetAnswers: (route, id) => eraseStoredResponses(db.run, route, id, clock.instant()),
  }
}
