/**
 * Times out the attempts of an incarnation: a single timer for all attempts, and the extension of deadlines after a blocked loop or a pause
 * of the whole process.
 *
 * Invariant: no attempt times out because of time blocked by something else. Before any attempt times out, `checkLoop` checks whether the loop
 * was blocked.
 */
import type { Clock } from '../lib/clock.ts'
import type { Attempt, AttemptHost } from './attempt.ts'
import { DeadlineTimer } from './deadline-timer.ts'

export interface DeadlinesOptions {
  clock: Clock
  attempts: Iterable<Attempt>
  host: Pick<AttemptHost, 'checkLoop'>
}

export class Deadlines {
  readonly #options: DeadlinesOptions
  /** Fires at the first deadline. */
  readonly #timer: DeadlineTimer

  constructor(options: DeadlinesOptions) {
    this.#options = options
    this.#timer = new DeadlineTimer(options.clock, () => this.#timeOut())
  }

  /** The first deadline, at the earliest. */
  get first(): number {
    return this.#timer.due
  }

  /** The last deadline of the handlers in this process; undefined: none runs here. */
  lastHere(now: number): number | undefined {
    let last: number | undefined
    for (const attempt of this.#options.attempts)
      if (attempt.running && !attempt.isAway) last = Math.max(last ?? 0, now + attempt.time.leftMs)
    return last
  }

  /** Starts watching the deadline of an attempt. */
  watch({ time }: Attempt): void {
    this.#timer.set(time.deadline)
  }

  /** Extends all deadlines by `ms`, except the deadline of the attempt named `suspectedJob`, if known. */
  discountBlockedTime(ms: number, suspectedJob?: string): void {
    for (const attempt of this.#options.attempts)
      if (attempt.running && attempt.name !== suspectedJob) attempt.time.discountBlockedTime(ms)
  }

  /** Stops the timer for good. */
  off(): void {
    this.#timer.off()
  }

  /** Returns the next deadline among the remaining attempts. */
  #timeOut(): number {
    const { attempts, clock, host } = this.#options
    host.checkLoop()
    const now = clock.elapsed()
    let next = Number.POSITIVE_INFINITY
    for (const attempt of attempts) {
      if (attempt.time.deadline <= now) attempt.timeOut()
      // `timeOut` may have extended the deadline.
      if (attempt.time.deadline > now) next = Math.min(next, attempt.time.deadline)
    }
    return next
  }
}
