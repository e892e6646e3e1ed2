/**
 * The beats of a heart: every few seconds, at once when there is news, and as soon as the database is there again.
 *
 * Invariant: never two at a time, and none under an id that was declared dead.
 */
import { beatEvery } from '../core/policy.ts'
import { sharedElapsed, systemClock } from '../lib/clock.ts'
import { type Loop, loop } from '../lib/service.ts'
import type { Vitals } from '../store/heartbeat.ts'
import { openPulse } from '../store/pulse.ts'

export interface BeatsOptions {
  url: string
  vitals: () => Vitals
  /** Such vitals have been told. */
  landed: () => void
  dead: (id: string) => void
  /** No beat has landed for `silentMs`. */
  silentMs: number
  silent: () => void
}

/** Shorter than a beat: a link that does not answer is given up before the next is due. */
const deadlineMs = beatEvery - 500
const longestPauseMs = 1000

export class Beats {
  readonly #options: BeatsOptions
  readonly #pulse: ReturnType<typeof openPulse>
  readonly #loop: Loop
  #id: string | undefined
  #landedAt = sharedElapsed()
  #told = false
  #failures = 0

  constructor(options: BeatsOptions) {
    this.#options = options
    this.#pulse = openPulse(options.url, deadlineMs, () => this.soon())
    this.#loop = loop({ clock: systemClock, every: beatEvery, tick: () => this.#beat(), failed: () => {} })
  }

  /** Beats for that worker from now on. */
  live(id: string): void {
    this.#id = id
    this.#landedAt = sharedElapsed()
    this.#loop.wake()
  }

  /** There is news. */
  soon(): void {
    this.#loop.wake()
  }

  async end(): Promise<void> {
    this.#id = undefined
    // Not waited for: what is on its way ends with its connection.
    void this.#loop.stop()
    await this.#pulse.end()
  }

  async #beat(): Promise<number | undefined> {
    const id = this.#id
    if (id === undefined) return undefined
    try {
      const alive = await this.#pulse.beat(id, this.#options.vitals())
      this.#failures = 0
      this.#landedAt = sharedElapsed()
      this.#told = false
      if (alive) this.#options.landed()
      else this.#bury(id)
      return undefined
    } catch {
      if (!this.#told && sharedElapsed() - this.#landedAt > this.#options.silentMs) {
        this.#told = true
        this.#options.silent()
      }
      return Math.min(100 * 2 ** this.#failures++, longestPauseMs)
    }
  }

  #bury(id: string): void {
    // It may have begun another life meanwhile.
    if (this.#id === id) this.#id = undefined
    this.#options.dead(id)
  }
}
