/**
 * The virtual clock: time advances only when a test says so. Every wait, backoff, timeout and heartbeat of an engine uses the clock, and
 * every SQL statement takes the instant from the clock, so that a test can pass ten minutes in no time.
 */

import { refuseOption } from '../errors/invalid-option.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import type { Duration } from '../lib/values/duration.ts'

const longestAnswerMs = 2000

interface Sleeper {
  due: number
  wake: () => void
}

/** A clock that advances only when a test says so. */
export class VirtualClock implements Clock {
  #now: number
  #sleepers: Sleeper[] = []
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(start: Date = new Date('2030-01-01T12:00:00Z')) {
    if (!(start instanceof Date && Number.isFinite(start.getTime())))
      refuseOption('start', 'it is a valid Date', 'é um Date válido')
    this.#now = start.getTime()
  }

  /** The instant that statements get. */
  instant(): Date {
    return new Date(this.#now)
  }

  /** The current instant. */
  now(): Date {
    return this.instant()
  }

  /** Milliseconds since the clock began. */
  elapsed(): number {
    return this.#now
  }

  /** Resolves when the clock has advanced by `ms`, or `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      if (signal?.aborted || ms <= 0) return resolve()
      const wake = () => {
        this.#sleepers = this.#sleepers.filter(each => each !== sleeper)
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      const sleeper: Sleeper = { due: this.#now + ms, wake }
      this.#sleepers.push(sleeper)
      signal?.addEventListener('abort', wake, { once: true })
    })
  }

  /** Holds the clock while `work` runs in real time, two seconds at most, and returns `work`. */
  during<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work)
    const done = () => void this.#underWay.delete(work)
    work.then(done, done)
    return work
  }

  /**
   * Advances time and wakes the sleepers in the order of their instants. Before each wake-up, pending work in memory finishes and the
   * engine's database queries return: otherwise a heartbeat under way would look a minute old.
   */
  async advance(duration: Duration): Promise<void> {
    if (!(Number.isFinite(duration) && duration >= 0))
      refuseOption(
        'duration',
        'it is a duration from zero on, such as minutes(5)',
        'é uma duração a partir de zero, como minutes(5)',
      )
    const end = this.#now + duration
    for (;;) {
      await this.#quiet()
      const next = this.#sleepers.filter(each => each.due <= end).sort((a, b) => a.due - b.due)[0]
      if (next === undefined) break
      this.#now = Math.max(this.#now, next.due)
      next.wake()
    }
    this.#now = end
  }

  /** Waits until nothing is under way; or until something hangs, perhaps because the test wants a hang. */
  async #quiet(): Promise<void> {
    const waitLimit = new AbortController()
    const tooLate = systemClock.sleep(longestAnswerMs, waitLimit.signal)
    do {
      await Promise.race([Promise.allSettled(this.#underWay), tooLate.then(() => this.#underWay.clear())])
      await new Promise(resolve => setImmediate(resolve))
    } while (this.#underWay.size > 0)
    waitLimit.abort()
  }

  /** The number of sleepers on this clock; a test that expects 0 finds leaks. */
  get sleepers(): number {
    return this.#sleepers.length
  }
}
