/** How long a failed job waits before its next try. */
import { type Duration, milliseconds, minutes, seconds } from './duration.ts'

export interface Backoff {
  first: Duration
  factor: number
  max: Duration
  /** 0.1 spreads each wait by up to 10 % more, so that jobs that failed together do not come back together. */
  jitter: number
}

export const defaultBackoff: Backoff = { first: seconds(5), factor: 2, max: minutes(10), jitter: 0.1 }

/** The wait after the `failures`-th failure (1 or more); `random` is between 0 and 1. Never above max plus its jitter. */
export function backoffAfter(failures: number, backoff: Backoff, random: number): Duration {
  // The factor is kept finite: after a thousand failures it is not, and no wait at all times infinity is no number.
  const factor = Math.min(backoff.factor ** (failures - 1), Number.MAX_VALUE)
  const exact = Math.min(backoff.first * factor, backoff.max)
  return milliseconds(Math.round(exact * (1 + backoff.jitter * random)))
}
