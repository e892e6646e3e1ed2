/**
 * Measures the time of an attempt. The time pauses while the attempt waits for the database, while another job blocks the loop, and
 * while the machine runs other processes instead of the attempt's child: the attempt causes none of these delays, and no attempt is
 * charged.
 */
import type { Clock } from '../lib/clock.ts'

export type Awake = <T>(work: () => Promise<T>) => Promise<T>

export class AttemptClock {
  readonly #clock: Clock
  /** Called when the time runs again: the deadline has changed. */
  readonly #resumed: () => void
  #deadline = Number.POSITIVE_INFINITY
  /** The number of open waits, and the instant the first of them began. */
  #waits = 0
  #waitsSince = 0
  #pausedMs = 0
  #stolenMs = 0

  constructor(clock: Clock, resumed: () => void) {
    this.#clock = clock
    this.#resumed = resumed
  }

  begin(timeoutMs: number): void {
    this.#deadline = this.#clock.elapsed() + timeoutMs
  }

  /** The instant of the timeout, in milliseconds of this process. Infinite while the time is paused. */
  get deadline(): number {
    return this.#waits > 0 ? Number.POSITIVE_INFINITY : this.#deadline
  }

  /** Milliseconds until the timeout; negative after the timeout. */
  get leftMs(): number {
    return this.#deadline - (this.#waits > 0 ? this.#waitsSince : this.#clock.elapsed())
  }

  /** Like `leftMs` for a handler that has blocked the loop since `blocksSince`: no answer can arrive, so the wait does not count. */
  leftOfOne(blocksSince: number): number {
    if (this.#waits === 0) return this.leftMs
    return this.leftMs - (this.#clock.elapsed() - Math.max(this.#waitsSince, blocksSince))
  }

  /** The total time during which another job blocked this attempt. */
  get blockedMs(): number {
    return this.#pausedMs
  }

  /** Another job blocked the loop for `ms`. Not discounted twice if the attempt waited meanwhile. */
  discountBlockedTime(ms: number): void {
    this.#pausedMs += ms
    if (this.#waits === 0) this.#deadline += ms
  }

  /** The total time during which the machine did not run the attempt's child. The watchdog does not see this time. */
  get stolenMs(): number {
    return this.#stolenMs
  }

  stolen(ms: number): void {
    this.#stolenMs += ms
    this.discountBlockedTime(ms)
  }

  /**
   * Stops the time until `answer` resolves, except during `awake`, which runs the attempt's own code. Such code may still run after
   * `answer` resolves; its end then changes nothing.
   */
  async waiting<T>(answer: (awake: Awake) => Promise<T>): Promise<T> {
    let waits = true
    let over = false
    const wait = (is: boolean) => {
      if (waits === is) return
      waits = is
      if (is) this.#wait()
      else this.#resume()
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

  #resume(): void {
    if (--this.#waits > 0) return
    this.#deadline += this.#clock.elapsed() - this.#waitsSince
    this.#resumed()
  }
}
