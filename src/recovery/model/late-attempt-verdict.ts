/**
 * Judges a running attempt that takes long: a pure function from facts to a verdict with an action. recovery/late-attempts.ts collects
 * the facts and applies the action. Other verdicts: dead workers in recovery/sql/dead-workers.ts, jobs past `maxAge` or `maxWait` in
 * recovery/sql/expired-jobs.ts, jobs that no worker takes in recovery/sql/unclaimed-jobs.ts, batches in
 * batches/model/batch-stall-verdict.ts.
 *
 * Facts are ages by the clock of the database, in milliseconds; no clock of our processes is in the facts.
 *
 * Invariant: unobserved time, and time in which a job could not advance through no fault of its own, never counts. A clock
 * therefore starts at the latest of: the start, the last progress, the begin of the uninterrupted checks, the instant at which
 * the worker's loop came free.
 */
import type { JobPolicy, PolicyAction } from '../../jobs/model/policy.ts'
import type { Duration } from '../../lib/values/duration.ts'
import { minutes } from '../../lib/values/duration.ts'

/** Delay after the timeout until the watchdog ends an attempt in place of the worker. */
export const timeoutGrace = minutes(1)

export interface AttemptFacts {
  /** Age of the attempt. */
  runningMs: number
  /** Time without progress: since the start, a step, or a progress note. */
  quietMs: number
  /** Time since the last sweep of the kind; 0: this check is a sweep. The stall is judged as of the sweep. */
  sweptMs: number
  /** The job that blocks the main loop of the worker. */
  blocked: 'no' | 'by it' | 'by another'
  /** Duration of the block; null: the loop is free. */
  blockedMs: number | null
  /** Time since the loop last came free; null: the loop was never blocked. */
  freeMs: number | null
  /** Time since the begin of the uninterrupted checks. */
  watchedMs: number
}

export type AttemptVerdict =
  | { verdict: 'timeout'; action: 'count' }
  | { verdict: 'stalled'; action: PolicyAction }
  /** Another handler blocks the worker of the job, and the worker counts as dead. */
  | { verdict: 'hung'; action: PolicyAction }
  | { verdict: 'slow'; action: 'report' }

type JudgedPolicy = Pick<JobPolicy, 'timeout' | 'stallAfter' | 'expect' | 'onOrphan' | 'onStall'>

/** Judges by severity: past its timeout, behind a blocked loop, without progress, slow. */
export function judgeAttempt(facts: AttemptFacts, policy: JudgedPolicy): AttemptVerdict | null {
  const { runningMs, quietMs, watchedMs, blocked } = facts
  const sinceMs = Math.min(runningMs, watchedMs, facts.freeMs ?? Number.POSITIVE_INFINITY)
  if (sinceMs >= policy.timeout + timeoutGrace && blocked !== 'by another')
    return { verdict: 'timeout', action: 'count' }
  // A loop blocked by another handler stops the clock of the attempt, and no other worker can claim the job. The attempt may stay
  // so for its timeout plus the grace, and not longer.
  if (blocked === 'by another' && Math.min(sinceMs, facts.blockedMs ?? 0) >= policy.timeout + timeoutGrace)
    return { verdict: 'hung', action: policy.onOrphan }
  if (blocked === 'no' && reached(Math.min(sinceMs, quietMs) - facts.sweptMs, policy.stallAfter))
    return { verdict: 'stalled', action: policy.onStall }
  if (reached(runningMs, policy.expect)) return { verdict: 'slow', action: 'report' }
  return null
}

const reached = (ageMs: number, limit: Duration | null): boolean => limit !== null && ageMs >= limit
