/**
 * Judges a job, a worker or a lane of a queue (batches: batches/model/batch-stall-verdict.ts): a pure function from facts to a verdict with an action. Watchdog and
 * janitor collect the facts and apply the action. If a single statement must judge and write (dead workers, overdue jobs), the
 * statement has the same rule in SQL, and a test compares both.
 *
 * Facts are ages by the clock of the database, in milliseconds; no clock of our processes is in the facts.
 *
 * Invariant: unobserved time, and time in which a job could not advance through no fault of its own, never counts. A clock
 * therefore starts at the latest of: the start, the last progress, the begin of the uninterrupted checks, the instant at which
 * the worker's loop came free.
 */
import { beatEvery, type JobPolicy, type PolicyAction } from '../../jobs/model/policy.ts'
import type { Duration } from '../../lib/values/duration.ts'
import { minutes, seconds } from '../../lib/values/duration.ts'

/** Delay after the timeout until the watchdog ends an attempt in place of the worker. */
export const timeoutGrace = minutes(1)
/** A job without a capable worker for so long is starved. */
export const starvedAfter = seconds(30)
/**
 * Silent checks after which a worker is dead, even with gaps between the checks. A live worker sends a heartbeat within two
 * heartbeat intervals after the database returns, and fewer checks fit into two intervals.
 */
export const silentChecks = 6

export interface JobFacts {
  of: 'job'
  state: 'waiting' | 'running' | 'stalled'
  /** Age since the enqueue, or since `runAt` while the job has never started. */
  ageMs: number
  /** Age of the running attempt; 0 in other states, and so are the ages below. */
  runningMs: number
  /** Time without progress: since the start, a step, or a progress note. */
  quietMs: number
  /** Time since the last sweep of the kind; 0: this check is a sweep. The stall is judged as of the sweep. */
  sweptMs: number
  /** The worker of the job lives. */
  held: boolean
  /** The job that blocks the main loop of the worker. */
  blocked: 'no' | 'by it' | 'by another'
  /** Duration of the block; null: the loop is free. */
  blockedMs: number | null
  /** Time since the loop last came free; null: the loop was never blocked. */
  freeMs: number | null
  /** Time since the begin of the uninterrupted checks. */
  watchedMs: number
}

export interface WorkerFacts {
  of: 'worker'
  beatMs: number
  /** null: the worker is not suspected. */
  suspectedMs: number | null
  /** Consecutive checks with a silent worker, including this check. */
  looks: number
  /** No gap between the previous check and this check. */
  watched: boolean
  /** Smallest `orphanAfter` of the worker's running jobs. */
  orphanAfter: Duration
  /** Duration of the blocked loop; null: the loop is free. */
  blockedMs: number | null
}

/** Ready jobs of a queue, kind and version. */
export interface LaneFacts {
  of: 'lane'
  /** Time since the oldest ready job could have started. */
  readyMs: number
  /** A live worker has the code for the jobs. */
  taken: boolean
  /** The queue is paused. */
  paused: boolean
  watchedMs: number
}

export type Judgement =
  | { verdict: 'orphan'; action: PolicyAction }
  | { verdict: 'suspect'; action: 'watch' }
  | { verdict: 'timeout'; action: 'count' }
  | { verdict: 'stalled'; action: PolicyAction }
  /** Job only: another handler blocks the job's worker, and the worker counts as dead. */
  | { verdict: 'hung'; action: PolicyAction }
  | { verdict: 'overdue'; action: 'fail' }
  | { verdict: 'hung' | 'slow' | 'starved'; action: 'report' }

type JudgedPolicy = Pick<JobPolicy, 'timeout' | 'stallAfter' | 'expect' | 'maxAge' | 'onOrphan' | 'onStall'>

export function judge(facts: JobFacts, policy: JudgedPolicy): Judgement | null
export function judge(facts: WorkerFacts | LaneFacts): Judgement | null
export function judge(facts: JobFacts | WorkerFacts | LaneFacts, policy?: JudgedPolicy): Judgement | null {
  switch (facts.of) {
    case 'job':
      return judgeJob(facts, policy as JudgedPolicy)
    case 'worker':
      return judgeWorker(facts)
    case 'lane':
      return judgeLane(facts)
  }
}

/** Judges by severity: over its `maxAge`, an orphan, past its timeout, without progress, slow. */
function judgeJob(facts: JobFacts, policy: JudgedPolicy): Judgement | null {
  const { state, runningMs, quietMs, watchedMs, blocked } = facts
  if (reached(facts.ageMs, policy.maxAge)) return { verdict: 'overdue', action: 'fail' }
  if (state !== 'running') return null
  if (!facts.held) return { verdict: 'orphan', action: policy.onOrphan }
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

/**
 * Two steps (docs/adr/0007-dead-workers.md): a worker silent for half of `orphanAfter` is suspected; silent for all of
 * `orphanAfter`, and for two heartbeat intervals after the suspicion, the worker is dead. With an intermittent database the rule
 * counts checks instead of seconds.
 */
function judgeWorker(facts: WorkerFacts): Judgement | null {
  const { beatMs, suspectedMs, looks, watched, orphanAfter } = facts
  if (beatMs > orphanAfter / 2) {
    const heardLongEnough = watched && suspectedMs !== null && suspectedMs >= 2 * beatEvery
    if (beatMs > orphanAfter && (heardLongEnough || (suspectedMs !== null && looks >= silentChecks)))
      return { verdict: 'orphan', action: 'retry' }
    return { verdict: 'suspect', action: 'watch' }
  }
  return facts.blockedMs === null ? null : { verdict: 'hung', action: 'report' }
}

function judgeLane({ readyMs, taken, paused, watchedMs }: LaneFacts): Judgement | null {
  if (taken || paused || Math.min(readyMs, watchedMs) < starvedAfter) return null
  return { verdict: 'starved', action: 'report' }
}
