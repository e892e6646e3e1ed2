/**
 * Claims jobs of queues with limits or fair turns, taking the limit keys in turn.
 *
 * Invariant: a claim with fewer jobs than wanted has visited all lanes once, or the limit of the queue allows no more. So every remaining
 * job waits for its limit, for an instant, or for a worker with other kinds. The turns are in the memory of each worker: each worker
 * shares its own starts fairly, so all workers together do, and a dead worker leaves nothing behind. The saved turns are only the start of
 * a new worker: any value is right.
 */

import type { Db } from '../database/db.ts'
import type { ClaimableKinds } from '../jobs/model/kind-version.ts'
import { raiseFloors } from '../jobs/sql/job-floor.ts'
import type { Clock } from '../lib/clock.ts'
import { addLimitCounters } from '../limits/sql/limit-counters.ts'
import { readTurnKeys, saveTurnKeys } from '../limits/sql/queue.ts'
import { BatchOverrideCache } from './batch-overrides.ts'
import type { ClaimedJob } from './sql/claim.ts'
import { beforeLanes, type ClaimTurn, claimLimited, hasReadyLimited, type LimitedClaim } from './sql/claim-limited.ts'
import { claimUnkeyed } from './sql/claim-unkeyed.ts'

/** The maximum of lanes per statement. */
const mostLanes = 1000
/** A bound for the loop. A limit counter that was just added and is missing again was pruned in between; 1000 times is a bug. */
const mostRounds = 1000
const priorities = 10
/** A statement this slow may have read dead index entries, which counts would read too. The job floors are raised at most once per second. */
const raiseFromMs = 20
const raiseEveryMs = 1000
const saveEveryMs = 1000
const noKey = { key: '', left: 0 }

export class LimitedClaimer {
  readonly #db: Db
  readonly #clock: Clock
  readonly #takes: ClaimableKinds
  readonly #overrides: BatchOverrideCache
  /** By queue: the next turn of each priority. */
  readonly #turns = new Map<string, ClaimTurn[]>()
  #savedAt = Number.NEGATIVE_INFINITY
  #raisedAt = Number.NEGATIVE_INFINITY

  constructor(db: Db, clock: Clock, takes: ClaimableKinds, overrides = new BatchOverrideCache(db)) {
    this.#db = db
    this.#clock = clock
    this.#takes = takes
    this.#overrides = overrides
  }

  /**
   * Passes the jobs of each statement to `took`. Returns the milliseconds until the next claim without a hint (`nextMs`), and until a
   * used-up rate allows the next start (`rateMs`).
   */
  async claim(
    worker: string,
    of: { queue: string; want: number; keyed: boolean },
    took: (claimed: readonly ClaimedJob[]) => void,
  ): Promise<{ nextMs: number; rateMs: number }> {
    const { queue, want, keyed } = of
    if (!keyed) {
      const asked = { queue, want, worker, ...this.#takes }
      const answer = await this.#timed(queue, () => claimUnkeyed(this.#db, asked, this.#clock.instant()))
      await this.#overrides.applyTo(answer.claimed)
      took(answer.claimed)
      return { nextMs: answer.nextMs ?? Number.POSITIVE_INFINITY, rateMs: answer.rateMs ?? Number.POSITIVE_INFINITY }
    }
    const turns = await this.#turnsOf(queue)
    let missing = want
    let nextMs = Number.POSITIVE_INFINITY
    let rateMs = Number.POSITIVE_INFINITY
    let after = beforeLanes
    let lanes = want + 10
    for (let round = 0; round < mostRounds; round++) {
      const asked = {
        queue,
        want: missing,
        worker,
        ...this.#takes,
        after,
        turns,
        lanes: Math.min(lanes, mostLanes),
      }
      const answer = await this.#timed(queue, () => claimLimited(this.#db, asked, this.#clock.instant()))
      await this.#overrides.applyTo(answer.claimed)
      took(answer.claimed)
      missing -= answer.claimed.length
      nextMs = Math.min(nextMs, answer.nextMs ?? nextMs)
      rateMs = Math.min(rateMs, answer.rateMs ?? rateMs)
      if (missing <= 0 || answer.allowed <= answer.claimed.length) {
        if (answer.turn !== null) await this.#endTurn(queue, turns, answer.turn)
        break
      }
      if (answer.missing.length > 0) {
        await addLimitCounters(this.#db, queue, answer.missing, this.#clock.instant())
        continue
      }
      if (answer.last === null) break
      after = answer.last
      lanes *= 4
    }
    return { nextMs, rateMs }
  }

  /** True if a job of the queue is ready for this worker, whatever the limits allow. */
  hasReady(queue: string): Promise<boolean> {
    return hasReadyLimited(this.#db, queue, this.#takes, this.#clock.instant())
  }

  /** A new worker continues where another worker was: a worker that lives for a few jobs would start with the first keys for ever. */
  async #turnsOf(queue: string): Promise<ClaimTurn[]> {
    const known = this.#turns.get(queue)
    if (known !== undefined) return known
    const keys = await readTurnKeys(this.#db, queue)
    const turns = Array.from({ length: priorities }, (_, priority) => ({ key: keys[priority] ?? '', left: 0 }))
    this.#turns.set(queue, turns)
    return turns
  }

  async #timed<T>(queue: string, claim: () => Promise<T>): Promise<T> {
    const at = this.#clock.elapsed()
    const answer = await claim()
    if (this.#clock.elapsed() - at >= raiseFromMs) this.#raise(queue, at)
    return answer
  }

  /** Runs in the background; if the write fails, counts work without a new floor. */
  #raise(queue: string, at: number): void {
    if (at - this.#raisedAt < raiseEveryMs || this.#clock.instant() !== null) return
    this.#raisedAt = at
    raiseFloors(this.#db, [queue]).catch(() => {})
  }

  /** Saves the turns at most once a second. The turns of a queue without keys stay at the first key. */
  async #endTurn(queue: string, turns: ClaimTurn[], turn: NonNullable<LimitedClaim['turn']>): Promise<void> {
    turns[turn.priority] = turnAfter(turn)
    const at = this.#clock.elapsed()
    if (turns.every(each => each.key <= turnAfter(noKey).key) || at - this.#savedAt < saveEveryMs) return
    this.#savedAt = at
    const keys = turns.map(each => each.key)
    // Without the keys a new worker begins with older keys.
    await saveTurnKeys(this.#db, queue, keys).catch(() => {})
  }
}

/** A key that has not used its whole turn is first in the next claim. Otherwise the next key is first: no text lies between the two. */
const turnAfter = ({ key, left }: ClaimTurn): ClaimTurn => (left > 0 ? { key, left } : { key: `${key}\u0001`, left: 0 })
