/**
 * For how long a main loop has stood still, seen from outside it. Pure: instants come in.
 *
 * A process that was stopped as a whole (SIGSTOP, a paused machine, no processor to be had) is not blocked: then this look
 * comes late, too, and what passed meanwhile is not counted.
 */
import { lateMs } from './stops.ts'

export class LoopWatch {
  readonly #everyMs: number
  #lookedAt: number
  #countedFrom: number

  constructor(everyMs: number, now: number) {
    this.#everyMs = everyMs
    this.#lookedAt = now
    this.#countedFrom = now
  }

  /** Milliseconds since it was last seen to turn; one that turns never shows more than some hundred. */
  stoodMs(now: number, turnAt: number): number {
    if (now - this.#lookedAt > this.#everyMs + lateMs) this.#countedFrom = now
    this.#lookedAt = now
    return Math.max(now - Math.max(turnAt, this.#countedFrom), 0)
  }
}
