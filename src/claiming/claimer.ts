/**
 * Claims jobs from the claim cursors of claim-cursors.ts, with a single statement for all queues.
 *
 * Invariant: a claim starts at the claim cursor minus the look-back, or from the start of the queue if a full scan is due; a claim with
 * fewer jobs than wanted is no reason for a full scan. Expensive full scans are taken in turns among all workers, so that 20 workers do not
 * each scan 1,000,000 rows; but each worker scans every 30 s at least, because others may lack its kinds.
 */

import type { Db } from '../database/db.ts'
import type { ClaimableKinds } from '../jobs/model/kind-version.ts'
import { raiseFloors } from '../jobs/sql/job-floor.ts'
import type { Clock } from '../lib/clock.ts'
import { takeFullScanTurns } from '../limits/sql/queue.ts'
import { BatchOverrideCache } from './batch-overrides.ts'
import { ClaimCursors, fullScanAtMostMs } from './claim-cursors.ts'
import { type ClaimedJob, claimJobs } from './sql/claim.ts'

/** Below this duration a full scan runs without asking for a turn. */
const cheapMs = 5
/** The job floor (jobs/sql/job-floor.ts) is raised at most once per second, if a full scan takes at least 20 ms longer than other claims. */
const raiseEveryMs = 1000
const raiseFromMs = 20

export class Claimer {
  readonly #db: Db
  readonly #clock: Clock
  readonly #takes: ClaimableKinds
  readonly #overrides: BatchOverrideCache
  readonly #cursors = new ClaimCursors()
  /** True if a claim started from a claim cursor since the last full scan. */
  #unswept = false
  readonly #sweptAt = new Map<string, number>()
  #raisedAt = Number.NEGATIVE_INFINITY
  /** Duration of the last claim from a claim cursor, in milliseconds. */
  #claimCost = 0

  constructor(db: Db, clock: Clock, takes: ClaimableKinds, overrides = new BatchOverrideCache(db)) {
    this.#db = db
    this.#clock = clock
    this.#takes = takes
    this.#overrides = overrides
  }

  async claim(worker: string, wants: readonly { queue: string; want: number }[]): Promise<ClaimedJob[]> {
    const queues = wants.map(each => each.queue)
    const due = this.#cursors.sweepIsDue(this.#clock.elapsed())
    const swept = due ? await this.#turns(queues) : new Set<string>()
    const at = this.#clock.elapsed()
    const from = (queue: string) => (rank: number) => this.#cursors.from(queue, rank, at)
    const asked = wants.map(each => (swept.has(each.queue) ? each : { ...each, from: from(each.queue) }))
    const claimed = await claimJobs(this.#db, { wants: asked, ...this.#takes, worker }, this.#clock.instant())
    // If another worker had the turn, the cost of the full scan is unknown: keep the last cost.
    const took = this.#clock.elapsed() - at
    if (due) this.#cursors.swept(at, swept.size > 0 ? took : this.#cursors.sweepCost)
    if (swept.size === 0) this.#claimCost = took
    for (const queue of swept) this.#sweptAt.set(queue, at)
    this.#unswept = !due
    this.#raise(queues, at)
    this.#remember(claimed, at)
    await this.#overrides.applyTo(claimed)
    return claimed
  }

  /** See claim-cursors.ts. */
  sawAll(queue: string, upTo: string): void {
    this.#cursors.sawAll(queue, upTo)
  }

  forget(queue: string): void {
    this.#cursors.forget(queue)
  }

  /**
   * Raises the job floors if full scans pass dead index entries, because counts would pass the same entries. Runs in the background; if the
   * write fails, counts work without a new floor.
   */
  #raise(queues: readonly string[], at: number): void {
    const dead = this.#cursors.sweepCost - this.#claimCost
    if (dead < raiseFromMs || at - this.#raisedAt < raiseEveryMs || this.#clock.instant() !== null) return
    this.#raisedAt = at
    raiseFloors(this.#db, queues).catch(() => {})
  }

  /** The queues to scan fully now. */
  async #turns(queues: readonly string[]): Promise<Set<string>> {
    if (this.#cursors.sweepCost < cheapMs) return new Set(queues)
    const won = await takeFullScanTurns(this.#db, queues, this.#cursors.sweepEvery, this.#clock.instant())
    const at = this.#clock.elapsed()
    const late = queues.filter(queue => at - (this.#sweptAt.get(queue) ?? Number.NEGATIVE_INFINITY) >= fullScanAtMostMs)
    return new Set([...won, ...late])
  }

  /**
   * The instant of the next claim without a hint: a hint that came while no full scan was due may announce a late commit behind the claim
   * cursor.
   */
  get sweepAt(): number {
    return this.#unswept ? this.#cursors.sweepAt : Number.POSITIVE_INFINITY
  }

  #remember(claimed: readonly ClaimedJob[], at: number): void {
    const lanes = new Map<string, ClaimedJob[]>()
    for (const each of claimed) {
      const name = `${each.claim_rank} ${each.queue}`
      const lane = lanes.get(name)
      if (lane === undefined) lanes.set(name, [each])
      else lane.push(each)
    }
    for (const lane of lanes.values()) {
      const { queue, claim_rank } = lane[0]!
      const marks = lane.map(each => ({ runAt: each.run_at, id: each.id }))
      this.#cursors.took(queue, claim_rank, marks, at)
    }
  }
}
