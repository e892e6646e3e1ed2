/**
 * Computes the backoff: the delay of a failed job before the next attempt. recovery/sql/recover-jobs-of-crashed-worker.ts has the same
 * formula in SQL, and a test compares both.
 */
import { type Duration, milliseconds, minutes, seconds } from '../../lib/values/duration.ts'

/** The delays between the attempts of a job. */
export interface Backoff {
  /** The delay after the first failure. Default 5 s. */
  first: Duration
  /** Each further delay is so many times as long. Default 2. */
  factor: number
  /** The longest delay. Default 10 minutes. */
  max: Duration
  /**
   * 0.1 lengthens each delay by up to 10 %, so that jobs with a common failure do not return at the same instant.
   * Default 0.1.
   */
  jitter: number
}

export const defaultBackoff: Backoff = { first: seconds(5), factor: 2, max: minutes(10), jitter: 0.1 }

/** Returns the delay after the `failures`-th failure (1 or more); `random` is between 0 and 1. Never above `max` plus jitter. */
export function backoffAfter(failures: number, backoff: Backoff, random: number): Duration {
  // After about a thousand failures the factor would be Infinity, and a `first` of 0 times Infinity is NaN.
  const factor = Math.min(backoff.factor ** (failures - 1), Number.MAX_VALUE)
  const exact = Math.min(backoff.first * factor, backoff.max)
  return milliseconds(Math.round(exact * (1 + backoff.jitter * random)))
}
