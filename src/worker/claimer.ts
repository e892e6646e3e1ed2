/**
 * Asks for jobs, and remembers how far it got: see marks.ts. One statement for all queues.
 *
 * Invariant: a claim begins behind its mark only by the look-back, and at the start only when a sweep is due; that a
 * claim came back short is no reason to sweep. Sweeps that cost something are taken in turns with all workers, so that
 * twenty of them do not each walk over a million; but each sweeps every 30 s at least: others may lack its kinds.
 */
import type { Takes } from '../core/version.ts'
import type { Clock } from '../lib/clock.ts'
import { type Claimed, claimJobs } from '../store/claim.ts'
import type { Db } from '../store/db.ts'
import { raiseFloors } from '../store/floor.ts'
import { takeSweepTurns } from '../store/queue.ts'
import { Marks, sweepAtMostMs } from './marks.ts'
import { Overrides } from './overrides.ts'

/** A sweep that takes less is not worth asking whose turn it is. */
const cheapMs = 5
/** See store/floor.ts: once in that time at most, where a sweep takes so much longer than other claims. */
const raiseEveryMs = 1000
const raiseFromMs = 20

export class Claimer {
  readonly #db: Db
  readonly #clock: Clock
  readonly #takes: Takes
  readonly #overrides: Overrides
  readonly #marks = new Marks()
  /** Something was asked for from a mark since the last sweep. */
  #unswept = false
  readonly #sweptAt = new Map<string, number>()
  #raisedAt = Number.NEGATIVE_INFINITY
  /** Milliseconds that the last claim from a mark took. */
  #claimCost = 0

  constructor(db: Db, clock: Clock, takes: Takes, overrides = new Overrides(db)) {
    this.#db = db
    this.#clock = clock
    this.#takes = takes
    this.#overrides = overrides
  }

  async claim(worker: string, wants: readonly { queue: string; want: number }[]): Promise<Claimed[]> {
    const queues = wants.map(each => each.queue)
    const due = this.#marks.sweepIsDue(this.#clock.elapsed())
    const swept = due ? await this.#turns(queues) : new Set<string>()
    const at = this.#clock.elapsed()
    const from = (queue: string) => (rank: number) => this.#marks.from(queue, rank, at)
    const asked = wants.map(each => (swept.has(each.queue) ? each : { ...each, from: from(each.queue) }))
    const claimed = await claimJobs(this.#db, { wants: asked, ...this.#takes, worker }, this.#clock.instant())
    // What it costs is not known when others had the turn: as much as before.
    const took = this.#clock.elapsed() - at
    if (due) this.#marks.swept(at, swept.size > 0 ? took : this.#marks.sweepCost)
    if (swept.size === 0) this.#claimCost = took
    for (const queue of swept) this.#sweptAt.set(queue, at)
    this.#unswept = !due
    this.#raise(queues, at)
    this.#remember(claimed, at)
    await this.#overrides.handTo(claimed)
    return claimed
  }

  /** See marks.ts. */
  sawAll(queue: string, upTo: string): void {
    this.#marks.sawAll(queue, upTo)
  }

  forget(queue: string): void {
    this.#marks.forget(queue)
  }

  /** Where sweeps pass dead entries, so would counts. Nobody waits for it, and whoever counts does without where it fails. */
  #raise(queues: readonly string[], at: number): void {
    const dead = this.#marks.sweepCost - this.#claimCost
    if (dead < raiseFromMs || at - this.#raisedAt < raiseEveryMs || this.#clock.instant() !== null) return
    this.#raisedAt = at
    raiseFloors(this.#db, queues).catch(() => {})
  }

  /** The queues to sweep now. */
  async #turns(queues: readonly string[]): Promise<Set<string>> {
    if (this.#marks.sweepCost < cheapMs) return new Set(queues)
    const won = await takeSweepTurns(this.#db, queues, this.#marks.sweepEvery, this.#clock.instant())
    const at = this.#clock.elapsed()
    const late = queues.filter(queue => at - (this.#sweptAt.get(queue) ?? Number.NEGATIVE_INFINITY) >= sweepAtMostMs)
    return new Set([...won, ...late])
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
