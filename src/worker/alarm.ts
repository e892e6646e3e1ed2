/** One timer for all attempts of a worker, since most end long before their time: it rings at the first deadline it was told of. */
import type { Clock } from '../lib/clock.ts'

export class Alarm {
  readonly #clock: Clock
  readonly #ring: () => number
  #due = Number.POSITIVE_INFINITY
  #sleep: AbortController | undefined
  #isOff = false

  /** `ring` answers when it is to ring next. */
  constructor(clock: Clock, ring: () => number) {
    this.#clock = clock
    this.#ring = ring
  }

  /** When it rings, at the latest. */
  get due(): number {
    return this.#due
  }

  /** Rings then, unless it does so sooner. */
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

  /** For good. */
  off(): void {
    this.#isOff = true
    this.#sleep?.abort()
  }
}
