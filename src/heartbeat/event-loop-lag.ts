/**
 * Measures how long a main loop has been blocked, seen from another thread. Pure: instants come in as arguments.
 *
 * A process stopped as a whole (SIGSTOP, a paused machine, no processor time) is not blocked: this check is then late too, and the time in
 * between is not counted.
 */
import { lateMs } from './process-pauses.ts'

export class EventLoopLag {
  readonly #everyMs: number
  #checkedAt: number
  #countedFrom: number

  constructor(everyMs: number, now: number) {
    this.#everyMs = everyMs
    this.#checkedAt = now
    this.#countedFrom = now
  }

  /** Milliseconds since the last turn of the loop; a turning loop never shows more than a few hundred. */
  blockedMs(now: number, turnAt: number): number {
    if (now - this.#checkedAt > this.#everyMs + lateMs) this.#countedFrom = now
    this.#checkedAt = now
    return Math.max(now - Math.max(turnAt, this.#countedFrom), 0)
  }
}
