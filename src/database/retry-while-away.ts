/**
 * Repeats work while the database is away: after 100 ms, then after twice as long each time, up to 5 s. An outage is no failure of a job,
 * so a worker waits for the database as long as the attempt may run.
 *
 * Invariant: `work` must be safe to repeat, because the answer to a committed statement can be lost. After the signal aborts, `work`
 * does not start again. After `giveUp` aborts, `work` starts once more at most: a database that is back still takes the write.
 */
import type { Clock } from '../lib/clock.ts'

export interface RetryWhileAway {
  clock: Clock
  signal?: AbortSignal | undefined
  /** True for an error that no outage causes: the error is thrown at once. */
  isAnswer: (error: unknown) => boolean
  /** Calls of `work` in total. Default: no bound. */
  mostCalls?: number
  firstPauseMs?: number
  /** Ends the waiting: the error of the next failed call is thrown. */
  giveUp?: AbortSignal
  /** The first error that is followed by another call. */
  onFirstError?: (error: unknown) => void
}

const longestPauseMs = 5000

export async function retryWhileAway<T>(
  work: () => Promise<T>,
  {
    clock,
    signal,
    isAnswer,
    mostCalls = Number.POSITIVE_INFINITY,
    firstPauseMs = 100,
    giveUp,
    onFirstError,
  }: RetryWhileAway,
): Promise<T> {
  for (let call = 1, pause = firstPauseMs; ; call++, pause = Math.min(pause * 2, longestPauseMs)) {
    signal?.throwIfAborted()
    try {
      return await work()
    } catch (error) {
      if (call >= mostCalls || giveUp?.aborted || isAnswer(error)) throw error
      if (call === 1) onFirstError?.(error)
      await clock.sleep(pause, signal ?? giveUp)
    }
  }
}
