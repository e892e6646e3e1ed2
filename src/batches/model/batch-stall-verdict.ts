/**
 * Decides whether a batch is stalled: a pure function from facts to a verdict with an action. batch-stall.ts reads the facts and applies
 * the action. recovery/model/late-attempt-verdict.ts has the verdicts on jobs, workers and queues, and the rule that unobserved time never counts.
 */
import type { PolicyAction } from '../../jobs/model/policy.ts'
import type { BatchPolicy } from './batch.ts'

export interface BatchStallFacts {
  running: number
  stalled: number
  /** Jobs without a final state. */
  left: number
  /** A job of the batch is ready. */
  ready: boolean
  /** A live worker has a free slot for the batch. */
  room: boolean
  /** There is a live worker. */
  anybody: boolean
  /** Time since the end of the last attempt of the batch, or since the batch was created. */
  quietMs: number
  /** Running time of the stall clock; null: the clock was stopped. */
  ranMs: number | null
  watchedMs: number
}

export type BatchVerdict =
  /** `run` or `stand` is for the stall clock. */
  { verdict: 'at work'; action: 'run' | 'stand' } | { verdict: 'no worker' | 'no progress'; action: PolicyAction }

type StallPolicy = Pick<BatchPolicy, 'stallAfter' | 'onStall'>

/**
 * The stall clock runs in three cases: a job of the batch runs; a job is ready, and there is a free slot or no live worker; every
 * unfinished job waits for a person. Waiting for a `run_at` or behind other jobs does not count as a stall.
 */
export function judgeBatch(facts: BatchStallFacts, { stallAfter, onStall }: StallPolicy): BatchVerdict {
  const { running, stalled, left, ready, room, anybody } = facts
  const waitsForAPerson = stalled > 0 && stalled === left
  const runs = running > 0 || (ready && (room || !anybody)) || waitsForAPerson
  if (stallAfter === null || !runs) return { verdict: 'at work', action: 'stand' }
  // The clock was stopped until now and starts at this check.
  if (facts.ranMs === null || Math.min(facts.ranMs, facts.quietMs, facts.watchedMs) < stallAfter)
    return { verdict: 'at work', action: 'run' }
  return { verdict: anybody ? 'no progress' : 'no worker', action: onStall }
}
