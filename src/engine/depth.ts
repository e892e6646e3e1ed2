/**
 * How full a queue is, for those that say how many may wait (`limits.maxDepth`).
 *
 * Counting costs more the more there are, so it is not done for each job: what was counted a moment ago, and what this
 * process has put in since, is near enough. Before anything is refused it is counted anew. Counting takes at most a
 * twentieth of the time. Several processes may together go over by what the others put in between two counts.
 */
import { RetomaError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Db } from '../store/db.ts'
import { type Depth, depthOf } from '../store/queue.ts'

interface Sample extends Depth {
  /** Put in by this process since. */
  added: number
  /** From when on it may be counted again, and from when on it must be. */
  mayAt: number
  mustAt: number
}

const share = 20
const oldestMs = 1000
/** A queue without such a limit is asked for one so often. */
const unlimitedMs = 5000

export class Depths {
  readonly #db: Db
  readonly #clock: Clock
  readonly #samples = new Map<string, Sample>()
  readonly #counting = new Map<string, Promise<Sample>>()

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** Throws queue_full when so many more would be too many. */
  async admit(queue: string, count: number): Promise<void> {
    let sample = this.#samples.get(queue)
    if (sample === undefined || this.#clock.elapsed() >= sample.mustAt) sample = await this.#count(queue)
    if (isOver(sample, count) && this.#clock.elapsed() >= sample.mayAt) sample = await this.#count(queue)
    if (isOver(sample, count)) {
      const { waiting, added, maxDepth } = sample
      throw new RetomaError('queue_full', { queue, waiting: waiting + added, most: maxDepth! })
    }
    sample.added += count
  }

  /** Many who ask at once are answered by one count. */
  #count(queue: string): Promise<Sample> {
    const running = this.#counting.get(queue) ?? this.#sample(queue).finally(() => this.#counting.delete(queue))
    this.#counting.set(queue, running)
    return running
  }

  async #sample(queue: string): Promise<Sample> {
    const begun = this.#clock.elapsed()
    const depth = await depthOf(this.#db, queue)
    const now = this.#clock.elapsed()
    const mayAt = now + (now - begun) * share
    const mustAt = depth.maxDepth === null ? now + unlimitedMs : Math.max(mayAt, now + oldestMs)
    const sample = { ...depth, added: 0, mayAt, mustAt }
    this.#samples.set(queue, sample)
    return sample
  }
}

const isOver = ({ maxDepth, waiting, added }: Sample, count: number): boolean =>
  maxDepth !== null && waiting + added + count > maxDepth
