/**
 * Shares a single timer among all attempts of a worker, since most attempts end long before their deadline. The timer fires at the first
 * known deadline.
 */
import type { Clock } from '../lib/clock.ts'

export class DeadlineTimer {
  readonly #clock: Clock
  readonly #ring: () => number
  #due = Number.POSITIVE_INFINITY
  #sleep: AbortController | undefined
  #isOff = false

  /** `ring` returns the next instant to fire. */
  constructor(clock: Clock, ring: () => number) {
    this.#clock = clock
    this.#ring = ring
  }

  /** The instant of the next firing, at the latest. */
  get due(): number {
    return this.#due
  }

  /** Fires at `at`, unless an earlier instant is set. */
  set(at: number): void {
    if (at >= this.#due || this.#isOff) return
    this.#sleep?.abort()
    const sleep = new AbortController()
    this.#sleep = sleep
    this.#due = at
    void this.#clock.sleep(at - this.#clock.elapsed(), sleep.signal).then(() => {
      if (sleep.signal.aborted) return
      const next = this.#ring()
      this.#due = Number.POSITIVE_INFINITY
      this.set(next)
    })
  }

  /** Stops the timer for good. */
  off(): void {
    this.#isOff = true
    this.#sleep?.abort()
  }
}
