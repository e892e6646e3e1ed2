/**
 * Detects pauses of the whole process: SIGSTOP, a paused machine, no processor time. The main loop and the heartbeat thread are then both
 * late, which a job that blocks the loop cannot cause. No job of the process is to blame.
 *
 * A pause is reported once, whichever thread wakes first: the look before the pause identifies the pause.
 */
import { type Signs, sign } from './shared-state.ts'

/** The interval of looks by the heartbeat thread, and the delay from which the whole process counts as paused. */
export const lookMs = 200
export const lateMs = 1000

/** Called by the heartbeat thread at each look. */
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

  /** Milliseconds of a pause since the last turn of the loop, if not reported before. */
  since(turnAt: number, signs: Signs, now: number): number {
    const lookedAt = signs[sign.lookedAt]!
    // The heartbeat thread has not looked since the pause.
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
