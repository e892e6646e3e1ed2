/**
 * Estimates the number of waiting jobs of queues with a `limits.maxDepth`.
 *
 * The cost of a count grows with the queue, so there is no count for each job: a recent count plus the jobs added by this process
 * since then is near enough. Before a refusal the queue is counted again. Counting takes at most a twentieth of the time. Several
 * processes together may exceed the limit by the jobs that the other processes add between two counts. The rate at which the
 * queue drains follows from the counts and gives the caller a retry time.
 */

import type { Db } from '../database/db.ts'
import { RetomaError } from '../errors/errors.ts'
import type { Clock } from '../lib/clock.ts'
import { type Depth, depthOf } from '../limits/sql/queue.ts'
import { queueFullRetryAfter } from './model/queue-full-retry-after.ts'

interface Sample extends Depth {
  /** Jobs added by this process since the count. */
  added: number
  /** Earliest and latest time of the next count. */
  refreshNotBefore: number
  refreshBy: number
}

/** Cumulative number of jobs that had left the queue at a count; jobs added by other processes hide the same number. */
interface Count {
  at: number
  gone: number
}

const share = 20
const oldestMs = 1000
/** Interval at which a queue without a `maxDepth` is checked for a new limit. */
const unlimitedMs = 5000
/** Counts of this period determine the drain rate. */
const rememberedMs = 60_000

export class QueueDepths {
  readonly #db: Db
  readonly #clock: Clock
  readonly #samples = new Map<string, Sample>()
  readonly #counts = new Map<string, Count[]>()
  readonly #counting = new Map<string, Promise<Sample>>()

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** Throws `queue_full` if `count` more jobs exceed the limit; otherwise answers the `admit` rate of the queue. */
  async admit(queue: string, count: number): Promise<Pick<Depth, 'admit'>> {
    let sample = this.#samples.get(queue)
    if (sample === undefined || this.#clock.elapsed() >= sample.refreshBy) sample = await this.#count(queue)
    if (isOver(sample, count) && this.#clock.elapsed() >= sample.refreshNotBefore) sample = await this.#count(queue)
    if (isOver(sample, count)) {
      const waiting = sample.waiting + sample.added
      const most = sample.maxDepth!
      const retryAfterSeconds = this.#roomAfter(queue, waiting + count - most)
      throw new RetomaError('queue_full', { queue, waiting, most, seconds: retryAfterSeconds }, { retryAfterSeconds })
    }
    sample.added += count
    return sample
  }

  /** Admitted jobs were not enqueued after all. */
  withdraw(queue: string, count: number): void {
    const sample = this.#samples.get(queue)
    if (sample !== undefined) sample.added = Math.max(sample.added - count, 0)
  }

  #roomAfter(queue: string, over: number): number {
    const counts = this.#counts.get(queue) ?? []
    const now = this.#clock.elapsed()
    const samples = counts.map(({ at, gone }) => ({ ageSeconds: (now - at) / 1000, ended: gone }))
    return queueFullRetryAfter(samples, counts.at(-1)?.gone ?? 0, over)
  }

  /** Concurrent callers share a single count. */
  #count(queue: string): Promise<Sample> {
    const running = this.#counting.get(queue) ?? this.#sample(queue).finally(() => this.#counting.delete(queue))
    this.#counting.set(queue, running)
    return running
  }

  async #sample(queue: string): Promise<Sample> {
    const begun = this.#clock.elapsed()
    const depth = await depthOf(this.#db, queue)
    const now = this.#clock.elapsed()
    const refreshNotBefore = now + (now - begun) * share
    const refreshBy = depth.maxDepth === null ? now + unlimitedMs : Math.max(refreshNotBefore, now + oldestMs)
    if (depth.maxDepth !== null) this.#remember(queue, depth.waiting, now)
    const sample = { ...depth, added: 0, refreshNotBefore, refreshBy }
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
