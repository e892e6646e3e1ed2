/**
 * When the attempts of one life are out of time: one alarm for all of them, and what is taken off it while a loop, or the
 * whole process, stood still.
 *
 * Invariant: nobody is out of time for what was not its own doing; before any is told, the loop is asked whether it stood.
 */
import type { Clock } from '../lib/clock.ts'
import { Alarm } from './alarm.ts'
import type { Attempt } from './attempt.ts'

export interface DeadlinesOptions {
  clock: Clock
  attempts: Iterable<Attempt>
  /** Asked before anything is out of time: has the loop stood still? */
  isTime: () => void
}

export class Deadlines {
  readonly #options: DeadlinesOptions
  /** Rings when the first of them is out of time. */
  readonly #alarm: Alarm

  constructor(options: DeadlinesOptions) {
    this.#options = options
    this.#alarm = new Alarm(options.clock, () => this.#timeOut())
  }

  /** When the first of them is out of time, at the earliest. */
  get first(): number {
    return this.#alarm.due
  }

  /** When the last is of those that run in this very process; undefined: none does. */
  lastHere(now: number): number | undefined {
    let last: number | undefined
    for (const attempt of this.#options.attempts)
      if (attempt.running && !attempt.isAway) last = Math.max(last ?? 0, now + attempt.time.leftMs)
    return last
  }

  /** Its clock goes. */
  watch({ time }: Attempt): void {
    this.#alarm.set(time.deadline)
  }

  /** So much time was nobody's doing, but for that of one attempt if it is known. */
  stoodStill(ms: number, culprit?: string): void {
    for (const attempt of this.#options.attempts)
      if (attempt.running && attempt.name !== culprit) attempt.time.stoodStill(ms)
  }

  /** For good. */
  off(): void {
    this.#alarm.off()
  }

  /** Answers when the first of the others is out of time. */
  #timeOut(): number {
    const { attempts, clock, isTime } = this.#options
    isTime()
    const now = clock.elapsed()
    let next = Number.POSITIVE_INFINITY
    for (const attempt of attempts) {
      if (attempt.time.deadline <= now) attempt.timeOut()
      // Or it has more time now.
      if (attempt.time.deadline > now) next = Math.min(next, attempt.time.deadline)
    }
    return next
  }
}
