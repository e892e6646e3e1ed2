/**
 * Whether a whole process stood still: SIGSTOP, a paused machine, no processor to be had. Its main loop is late then and so is
 * its heart, which a job that blocks the loop cannot bring about. Nobody in the process is to blame.
 *
 * Whichever of the two threads wakes first, a stop is told once: it is known by the look it came after.
 */
import { type Signs, sign } from './signs.ts'

/** How often a heart looks, and how late it may be before the whole process is taken to have stood still. */
export const lookMs = 200
export const lateMs = 1000

/** By the heart, each time it looks. */
export function noteLook(signs: Signs, now: number): void {
  const before = signs[sign.lookedAt]!
  if (before > 0 && now - before > lookMs + lateMs) {
    signs[sign.stoppedMs] = now - before - lookMs
    signs[sign.stoppedFrom] = before
  }
  signs[sign.lookedAt] = now
}

export class Stops {
  #told = 0

  /** For how long all stood still since the loop last came round, if that was not told before. */
  since(turnAt: number, signs: Signs, now: number): number {
    const lookedAt = signs[sign.lookedAt]!
    // The heart has not looked since.
    if (lookedAt > 0 && now - lookedAt > lookMs + lateMs) return this.#tell(lookedAt, now - lookedAt - lookMs)
    const from = signs[sign.stoppedFrom]!
    const ms = signs[sign.stoppedMs]!
    return from + ms > turnAt ? this.#tell(from, ms) : 0
  }

  #tell(from: number, ms: number): number {
    if (from === this.#told) return 0
    this.#told = from
    return ms
  }
}
