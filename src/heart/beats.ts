/**
 * The beats of a heart: every few seconds, at once when there is news, and as soon as the database is there again.
 *
 * Invariant: never two at a time, and none under an id that was declared dead.
 */
import { beatEvery } from '../core/policy.ts'
import { sharedElapsed, systemClock } from '../lib/clock.ts'
import { type Loop, loop } from '../lib/service.ts'
import type { Vitals } from '../store/heartbeat.ts'
import type { Pulse } from '../store/pulse.ts'

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
/**
 * The worker's row is written before its heart starts, and counts as a beat. So the first beat of each life comes a little later,
 * and with it the driver and the connection: a worker that starts on a backlog needs its processor for the first jobs.
 */
const firstBeatMs = 2000

export class Beats {
  readonly #options: BeatsOptions
  #pulse: Promise<Pulse> | undefined
  #beatsFrom = Number.POSITIVE_INFINITY
  readonly #loop: Loop
  #id: string | undefined
  #landedAt = sharedElapsed()
  #told = false
  #failures = 0

  constructor(options: BeatsOptions) {
    this.#options = options
    this.#loop = loop({ clock: systemClock, every: beatEvery, tick: () => this.#beat(), failed: () => {} })
  }

  /** Beats for that worker from now on. */
  live(id: string): void {
    this.#id = id
    this.#landedAt = sharedElapsed()
    this.#beatsFrom = this.#landedAt + firstBeatMs
    this.#loop.wake()
  }

  /** There is news. */
  soon(): void {
    this.#beatsFrom = 0
    this.#loop.wake()
  }

  async end(): Promise<void> {
    this.#id = undefined
    // Not waited for: what is on its way ends with its connection.
    void this.#loop.stop()
    await (await this.#pulse)?.end()
  }

  async #beat(): Promise<number | undefined> {
    const id = this.#id
    if (id === undefined) return undefined
    const early = this.#beatsFrom - sharedElapsed()
    if (early > 0) return early
    try {
      const alive = await (await this.#open()).beat(id, this.#options.vitals())
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

  #open(): Promise<Pulse> {
    this.#pulse ??= import('../store/pulse.ts').then(
      ({ openPulse }) => openPulse(this.#options.url, deadlineMs, () => this.soon()),
      error => {
        // The next beat tries again.
        this.#pulse = undefined
        throw error
      },
    )
    return this.#pulse
  }

  #bury(id: string): void {
    // It may have begun another life meanwhile.
    if (this.#id === id) this.#id = undefined
    this.#options.dead(id)
  }
}
