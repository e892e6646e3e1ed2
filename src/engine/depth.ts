/**
 * How full a queue is, for those that say how many may wait (`limits.maxDepth`).
 *
 * Counting costs more the more there are, so it is not done for each job: what was counted a moment ago, and what this
 * process has put in since, is near enough. Before anything is refused it is counted anew. Counting takes at most a
 * twentieth of the time. Several processes may together go over by what the others put in between two counts. How fast it
 * empties is read off the counts, so that whoever is refused knows when to come again.
 */
import { roomAfterSeconds } from '../core/drain.ts'
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

/** How many had left a queue when it was counted; what others put in meanwhile hides as many. */
interface Count {
  at: number
  gone: number
}

const share = 20
const oldestMs = 1000
/** A queue without such a limit is asked for one so often. */
const unlimitedMs = 5000
/** Counts that a rate is read off. */
const rememberedMs = 60_000

export class Depths {
  readonly #db: Db
  readonly #clock: Clock
  readonly #samples = new Map<string, Sample>()
  readonly #counts = new Map<string, Count[]>()
  readonly #counting = new Map<string, Promise<Sample>>()

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** Throws queue_full when so many more would be too many; answers what else the queue says of those that come in. */
  async admit(queue: string, count: number): Promise<Pick<Depth, 'admit'>> {
    let sample = this.#samples.get(queue)
    if (sample === undefined || this.#clock.elapsed() >= sample.mustAt) sample = await this.#count(queue)
    if (isOver(sample, count) && this.#clock.elapsed() >= sample.mayAt) sample = await this.#count(queue)
    if (isOver(sample, count)) {
      const waiting = sample.waiting + sample.added
      const most = sample.maxDepth!
      const retryAfterSeconds = this.#roomAfter(queue, waiting + count - most)
      throw new RetomaError('queue_full', { queue, waiting, most, seconds: retryAfterSeconds }, { retryAfterSeconds })
    }
    sample.added += count
    return sample
  }

  /** They were admitted, and did not come. */
  withdraw(queue: string, count: number): void {
    const sample = this.#samples.get(queue)
    if (sample !== undefined) sample.added = Math.max(sample.added - count, 0)
  }

  #roomAfter(queue: string, over: number): number {
    const counts = this.#counts.get(queue) ?? []
    const now = this.#clock.elapsed()
    const samples = counts.map(({ at, gone }) => ({ ageSeconds: (now - at) / 1000, ended: gone }))
    return roomAfterSeconds(samples, counts.at(-1)?.gone ?? 0, over)
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
    if (depth.maxDepth !== null) this.#remember(queue, depth.waiting, now)
    const sample = { ...depth, added: 0, mayAt, mustAt }
    this.#samples.set(queue, sample)
    return sample
  }

  #remember(queue: string, waiting: number, now: number): void {
    const before = this.#samples.get(queue)
    const counts = this.#counts.get(queue) ?? []
    const left = before === undefined ? 0 : Math.max(before.waiting + before.added - waiting, 0)
    const kept = counts.filter(({ at }) => now - at < rememberedMs)
    this.#counts.set(queue, [...kept, { at: now, gone: (counts.at(-1)?.gone ?? 0) + left }])
  }
}

const isOver = ({ maxDepth, waiting, added }: Sample, count: number): boolean =>
  maxDepth !== null && waiting + added + count > maxDepth
