/**
 * The time of one attempt. It stands still while the attempt waits for the database, while another job blocks the loop, and while
 * the machine computes something else than the attempt's child: none of that is its doing, and nobody is charged for it.
 */
import type { Clock } from '../lib/clock.ts'

export type Awake = <T>(work: () => Promise<T>) => Promise<T>

export class AttemptClock {
  readonly #clock: Clock
  /** It goes on: who waits for its end must look again. */
  readonly #resumed: () => void
  #deadline = Number.POSITIVE_INFINITY
  /** How many answers are waited for, and since when there are any. */
  #waits = 0
  #waitsSince = 0
  #stoodMs = 0
  #stolenMs = 0

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

  /** The same of one that has kept the loop to itself since then: no answer can come, so it does not wait for one. */
  leftOfOne(blocksSince: number): number {
    if (this.#waits === 0) return this.leftMs
    return this.leftMs - (this.#clock.elapsed() - Math.max(this.#waitsSince, blocksSince))
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

  /** For how long the machine has computed something else than the attempt's child: whoever watches from outside does not know. */
  get stolenMs(): number {
    return this.#stolenMs
  }

  stolen(ms: number): void {
    this.#stolenMs += ms
    this.stoodStill(ms)
  }

  /**
   * Stands still until that is answered, but for what is done `awake`: the attempt's own code in the middle of it. That may
   * go on when the answer is there, which changes nothing any more.
   */
  async waiting<T>(answer: (awake: Awake) => Promise<T>): Promise<T> {
    let waits = true
    let over = false
    const wait = (is: boolean) => {
      if (waits === is) return
      waits = is
      if (is) this.#wait()
      else this.#goOn()
    }
    this.#wait()
    try {
      return await answer(async work => {
        wait(false)
        try {
          return await work()
        } finally {
          wait(!over)
        }
      })
    } finally {
      over = true
      wait(false)
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
