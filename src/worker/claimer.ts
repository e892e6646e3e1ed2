/**
 * Asks for jobs, and remembers how far it got: see marks.ts. One statement for all queues.
 *
 * Invariant: a claim begins behind its mark only by the look-back, and at the start only when a sweep is due; that a
 * claim came back short is no reason to sweep.
 */
import type { Clock } from '../lib/clock.ts'
import { type Claimed, claimJobs } from '../store/claim.ts'
import type { Db } from '../store/db.ts'
import { Marks } from './marks.ts'

export class Claimer {
  readonly #db: Db
  readonly #clock: Clock
  readonly #kinds: readonly string[]
  readonly #marks = new Marks()
  /** Something was asked for from a mark since the last sweep. */
  #unswept = false

  constructor(db: Db, clock: Clock, kinds: readonly string[]) {
    this.#db = db
    this.#clock = clock
    this.#kinds = kinds
  }

  async claim(worker: string, wants: readonly { queue: string; want: number }[]): Promise<Claimed[]> {
    const at = this.#clock.elapsed()
    const sweep = this.#marks.sweepIsDue(at)
    const from = (queue: string) => (rank: number) => this.#marks.from(queue, rank, at)
    const asked = wants.map(each => (sweep ? each : { ...each, from: from(each.queue) }))
    const claimed = await claimJobs(this.#db, { wants: asked, kinds: this.#kinds, worker }, this.#clock.instant())
    if (sweep) this.#marks.swept(at, this.#clock.elapsed() - at)
    this.#unswept = !sweep
    this.#remember(claimed, at)
    return claimed
  }

  /**
   * When to ask once more though nobody says that there is work: a hint that came while no sweep was due may have been of
   * a late commit, behind the mark.
   */
  get sweepAt(): number {
    return this.#unswept ? this.#marks.sweepAt : Number.POSITIVE_INFINITY
  }

  #remember(claimed: readonly Claimed[], at: number): void {
    const lanes = new Map<string, Claimed[]>()
    for (const each of claimed) {
      const name = `${each.rank} ${each.queue}`
      const lane = lanes.get(name)
      if (lane === undefined) lanes.set(name, [each])
      else lane.push(each)
    }
    for (const lane of lanes.values()) {
      const { queue, rank } = lane[0]!
      const marks = lane.map(each => ({ runAt: each.run_at, id: each.id }))
      this.#marks.took(queue, rank, marks, at)
    }
  }
}
