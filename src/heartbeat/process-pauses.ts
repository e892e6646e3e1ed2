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
export function noteCheck(sharedState: SharedState, now: number): void {
  const before = sharedState[slot.lookedAt]!
  if (before > 0 && now - before > checkIntervalMs + lateMs) {
    sharedState[slot.stoppedMs] = now - before - checkIntervalMs
    sharedState[slot.stoppedFrom] = before
  }
  sharedState[slot.lookedAt] = now
}

export class ProcessPauses {
  #told = 0

  /** Milliseconds of a pause since the last turn of the loop, if not reported before. */
  since(turnAt: number, sharedState: SharedState, now: number): number {
    const lookedAt = sharedState[slot.lookedAt]!
    // The heartbeat thread has not looked since the pause.
    if (lookedAt > 0 && now - lookedAt > checkIntervalMs + lateMs)
      return this.#recordPause(lookedAt, now - lookedAt - checkIntervalMs)
    const from = sharedState[slot.stoppedFrom]!
    const ms = sharedState[slot.stoppedMs]!
    return from + ms > turnAt ? this.#recordPause(from, ms) : 0
  }

  #recordPause(from: number, ms: number): number {
    if (from === this.#told) return 0
    this.#told = from
    return ms
  }
}
