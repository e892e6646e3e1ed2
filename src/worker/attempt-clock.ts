/**
 * The time of one attempt. It stands still while the attempt waits for the database, and while another job blocks the loop:
 * neither is its doing, and nobody is charged for it.
 */
import type { Clock } from '../lib/clock.ts'

export class AttemptClock {
  readonly #clock: Clock
  /** It goes on: who waits for its end must look again. */
  readonly #resumed: () => void
  #deadline = Number.POSITIVE_INFINITY
  /** How many answers are waited for, and since when there are any. */
  #waits = 0
  #waitsSince = 0
  #stoodMs = 0

  constructor(clock: Clock, resumed: () => void) {
    this.#clock = clock
    this.#resumed = resumed
  }

  begin(timeoutMs: number): void {
    this.#deadline = this.#clock.elapsed() + timeoutMs
  }

  /** When the time is up, in this process's milliseconds. While it stands still there is no such time. */
  get deadline(): number {
    return this.#waits > 0 ? Number.POSITIVE_INFINITY : this.#deadline
  }

  /** Until the time is up; below zero: since then. */
  get leftMs(): number {
    return this.#deadline - (this.#waits > 0 ? this.#waitsSince : this.#clock.elapsed())
  }

  /** For how long it has stood still because of another job. */
  get stoodMs(): number {
    return this.#stoodMs
  }

  /** Another job blocked the loop for so long. Not counted twice when it waited meanwhile. */
  stoodStill(ms: number): void {
    this.#stoodMs += ms
    if (this.#waits === 0) this.#deadline += ms
  }

  /** Stands still until that is answered. */
  async waiting<T>(answer: Promise<T>): Promise<T> {
    this.#wait()
    try {
      return await answer
    } finally {
      this.#goOn()
    }
  }

  /** In the middle of such a wait: the attempt's own code runs, and its time with it. */
  async awake<T>(work: () => Promise<T>): Promise<T> {
    this.#goOn()
    try {
      return await work()
    } finally {
      this.#wait()
    }
  }

  #wait(): void {
    if (this.#waits++ === 0) this.#waitsSince = this.#clock.elapsed()
  }

  #goOn(): void {
    if (--this.#waits > 0) return
    this.#deadline += this.#clock.elapsed() - this.#waitsSince
    this.#resumed()
  }
}
