/**
 * Detects pauses of the whole process: SIGSTOP, a paused machine, no processor time. The main loop and the heartbeat thread are then both
 * late, which a job that blocks the loop cannot cause. No job of the process is to blame.
 *
 * A pause is reported once, whichever thread wakes first: the look before the pause identifies the pause.
 */
import { type SharedState, slot } from './shared-state.ts'

/** The interval of looks by the heartbeat thread, and the delay from which the whole process counts as paused. */
export const checkIntervalMs = 200
export const lateMs = 1000

/** Called by the heartbeat thread at each look. */
export function noteCheck(signs: SharedState, now: number): void {
  const before = signs[slot.lookedAt]!
  if (before > 0 && now - before > checkIntervalMs + lateMs) {
    signs[slot.stoppedMs] = now - before - checkIntervalMs
    signs[slot.stoppedFrom] = before
  }
  signs[slot.lookedAt] = now
}

export class ProcessPauses {
  #told = 0

  /** Milliseconds of a pause since the last turn of the loop, if not reported before. */
  since(turnAt: number, signs: SharedState, now: number): number {
    const lookedAt = signs[slot.lookedAt]!
    // The heartbeat thread has not looked since the pause.
    if (lookedAt > 0 && now - lookedAt > checkIntervalMs + lateMs)
      return this.#tell(lookedAt, now - lookedAt - checkIntervalMs)
    const from = signs[slot.stoppedFrom]!
    const ms = signs[slot.stoppedMs]!
    return from + ms > turnAt ? this.#tell(from, ms) : 0
  }

  #tell(from: number, ms: number): number {
    if (from === this.#told) return 0
    this.#told = from
    return ms
  }
}
