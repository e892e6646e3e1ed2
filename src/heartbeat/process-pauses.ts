/**
 * Detects pauses of the whole process: SIGSTOP, a paused machine, no processor time. The main loop and the heartbeat thread are then both
 * late, which a job that blocks the loop cannot cause. No job of the process is to blame.
 *
 * A pause is reported once, whichever thread wakes first: the check before the pause identifies the pause.
 */
import { type SharedState, slot } from './shared-state.ts'

/** The interval of checks by the heartbeat thread, and the delay from which the whole process counts as paused. */
export const checkIntervalMs = 200
export const lateMs = 1000

/** Called by the heartbeat thread at each check. */
export function noteCheck(sharedState: SharedState, now: number): void {
  const before = sharedState[slot.checkedAt]!
  if (before > 0 && now - before > checkIntervalMs + lateMs) {
    sharedState[slot.stoppedMs] = now - before - checkIntervalMs
    sharedState[slot.stoppedFrom] = before
  }
  sharedState[slot.checkedAt] = now
}

export class ProcessPauses {
  #reported = 0

  /** Milliseconds of a pause since the last turn of the loop, if not reported before. */
  since(turnAt: number, sharedState: SharedState, now: number): number {
    const checkedAt = sharedState[slot.checkedAt]!
    // The heartbeat thread has not checked since the pause.
    if (checkedAt > 0 && now - checkedAt > checkIntervalMs + lateMs)
      return this.#recordPause(checkedAt, now - checkedAt - checkIntervalMs)
    const from = sharedState[slot.stoppedFrom]!
    const ms = sharedState[slot.stoppedMs]!
    return from + ms > turnAt ? this.#recordPause(from, ms) : 0
  }

  #recordPause(from: number, ms: number): number {
    if (from === this.#reported) return 0
    this.#reported = from
    return ms
  }
}
