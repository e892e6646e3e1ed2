/**
 * Wakes workers for jobs in a caller's transaction. The commit time is unknown: a few wakes in the first half second, then polling finds the
 * jobs.
 *
 * Invariant: no wake after the engine closes. A rolled-back transaction costs empty claims and nothing else.
 */
import type { Clock } from '../../lib/clock.ts'

const delaysMs = [10, 100, 500]

/** Calls `wake` after each delay, and `last` once after the last delay. */
export function wakeAfterCommit(
  { clock, closing }: { clock: Clock; closing: AbortSignal },
  wake: () => void,
  last: () => void = () => {},
): void {
  for (const ms of delaysMs) {
    void clock.sleep(ms, closing).then(() => {
      if (closing.aborted) return
      wake()
      if (ms === delaysMs.at(-1)) last()
    })
  }
}
