/**
 * States in TypeScript two rules that a single statement applies and writes in SQL: a dead worker (recovery/sql/dead-workers.ts) and a job
 * over its `maxAge` (recovery/sql/expired-jobs.ts). Tests compare the statements with these rules on random facts.
 */
import { heartbeatEvery } from '../../src/jobs/model/policy.ts'
import type { Duration } from '../../src/lib/values/duration.ts'

const silentChecks = 6

export interface WorkerFacts {
  heartbeatMs: number
  /** null: the worker is not suspected. */
  suspectedMs: number | null
  /** Consecutive checks with a silent worker, including this check. */
  checks: number
  /** No gap between the previous check and this check. */
  watched: boolean
  /** Smallest `orphanAfter` of the worker's running jobs. */
  orphanAfter: Duration
}

/**
 * Two steps (docs/adr/0007-dead-workers.md): a worker silent for half of `orphanAfter` is suspected; silent for all of
 * `orphanAfter`, and for two heartbeat intervals after the suspicion, the worker is dead. With an intermittent database the rule
 * counts checks instead of seconds.
 */
export function workerVerdict(facts: WorkerFacts): 'orphan' | 'suspect' | undefined {
  const { heartbeatMs, suspectedMs, checks, watched, orphanAfter } = facts
  if (heartbeatMs <= orphanAfter / 2) return undefined
  const silentLongEnough = watched && suspectedMs !== null && suspectedMs >= 2 * heartbeatEvery
  const dead = heartbeatMs > orphanAfter && (silentLongEnough || (suspectedMs !== null && checks >= silentChecks))
  return dead ? 'orphan' : 'suspect'
}
