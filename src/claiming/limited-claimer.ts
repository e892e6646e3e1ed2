/**
 * Claims jobs of queues with limits, taking the limit keys in turn.
 *
 * Invariant: a claim with fewer jobs than wanted has visited all keys once, or the limit of the queue allows no more. So every remaining
 * job waits for its limit, for an instant, or for a worker with other kinds.
 */

import type { Db } from '../database/db.ts'
import type { ClaimableKinds } from '../jobs/model/kind-version.ts'
import type { Clock } from '../lib/clock.ts'
import { addLimitCounters } from '../limits/sql/limit-counters.ts'
import { BatchOverrideCache } from './batch-overrides.ts'
import type { ClaimedJob } from './sql/claim.ts'
import { type ClaimTurn, claimLimited, claimTurnAfter, firstTurn, type LimitedClaim } from './sql/claim-limited.ts'

/** The maximum of lanes per statement. */
const mostLanes = 1000
/** A bound for the loop. A limit counter that was just added and is missing again was pruned in between; 1000 times is a bug. */
const mostRounds = 1000

export class LimitedClaimer {
  readonly #db: Db
  readonly #clock: Clock
  readonly #takes: ClaimableKinds
  readonly #overrides: BatchOverrideCache
  readonly #turns = new Map<string, ClaimTurn>()

  constructor(db: Db, clock: Clock, takes: ClaimableKinds, overrides = new BatchOverrideCache(db)) {
    this.#db = db
    this.#clock = clock
    this.#takes = takes
    this.#overrides = overrides
  }

  /** Passes the jobs of each statement to `took`; returns the milliseconds until the next claim without a hint. */
  async claim(
    worker: string,
    queue: string,
    want: number,
    took: (claimed: readonly ClaimedJob[]) => void,
  ): Promise<number> {
    let missing = want
    let nextMs = Number.POSITIVE_INFINITY
    let from = this.#turns.get(queue) ?? firstTurn
    let fromStart = from === firstTurn
    let lanes = want * 2 + 10
    for (let round = 0; round < mostRounds; round++) {
      const asked = {
        queue,
        want: missing,
        worker,
        ...this.#takes,
        from,
        lanes: Math.min(lanes, mostLanes),
      }
      const answer = await claimLimited(this.#db, asked, this.#clock.instant())
      await this.#overrides.applyTo(answer.claimed)
      took(answer.claimed)
      missing -= answer.claimed.length
      nextMs = Math.min(nextMs, answer.nextMs ?? nextMs)
      if (missing <= 0 || answer.allowed <= answer.claimed.length) {
        if (answer.claimed.length > 0) this.#turns.set(queue, turnAfter(answer, asked.lanes))
        break
      }
      if (answer.missing.length > 0) {
        await addLimitCounters(this.#db, queue, answer.missing, this.#clock.instant())
        continue
      }
      const wasLast = answer.lanes < asked.lanes
      if (wasLast && fromStart) {
        this.#turns.delete(queue)
        break
      }
      fromStart ||= wasLast
      from = wasLast ? firstTurn : answer.last!
      lanes *= 4
    }
    return nextMs
  }
}

/** Keys that received jobs come last in the next claim; but if no other key waits, the same keys are not visited twice. */
function turnAfter({ claimed, last, lanes }: LimitedClaim, asked: number): ClaimTurn {
  const key = claimed.map(each => each.limit_key).reduce((a, b) => (isBefore(a, b) ? b : a))
  return lanes < asked && key === last?.key ? firstTurn : claimTurnAfter(key)
}

/** Compares keys by bytes, as the database does. */
const isBefore = (a: string, b: string): boolean => Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0
