/**
 * A clock that moves only when a test says so. Everything in an engine that waits, backs off, times out or beats asks
 * its clock, and every SQL statement takes the instant from it, so a test passes ten minutes in no time at all.
 */
import type { Duration } from '../core/duration.ts'
import { refuseOption } from '../core/refuse.ts'
import { type Clock, systemClock } from '../lib/clock.ts'

const longestAnswerMs = 2000

interface Sleeper {
  due: number
  wake: () => void
}

export class VirtualClock implements Clock {
  #now: number
  #sleepers: Sleeper[] = []
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(start: Date = new Date('2030-01-01T12:00:00Z')) {
    if (!(start instanceof Date && Number.isFinite(start.getTime())))
      refuseOption('start', 'it is a valid Date', 'é um Date válido')
    this.#now = start.getTime()
  }

  instant(): Date {
    return new Date(this.#now)
  }

  now(): Date {
    return this.instant()
  }

  elapsed(): number {
    return this.#now
  }

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

  during<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work)
    const done = () => void this.#underWay.delete(work)
    work.then(done, done)
    return work
  }

  /**
   * Moves on, waking whoever sleeps in the order of their times. Before each, whatever goes on in memory is done and what
   * the engine asked of the database is answered: otherwise a heartbeat on its way would look a minute old.
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

  /** Nothing is under way; or something hangs, perhaps because the test wants it to. */
  async #quiet(): Promise<void> {
    const patience = new AbortController()
    const tooLate = systemClock.sleep(longestAnswerMs, patience.signal)
    do {
      await Promise.race([Promise.allSettled(this.#underWay), tooLate.then(() => this.#underWay.clear())])
      await new Promise(resolve => setImmediate(resolve))
    } while (this.#underWay.size > 0)
    patience.abort()
  }

  /** How many wait for this clock; a test that expects none has a leak otherwise. */
  get sleepers(): number {
    return this.#sleepers.length
  }
}
