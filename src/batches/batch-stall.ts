/**
 * Checks the stall clocks of batches and applies the verdicts of model/batch-stall-verdict.ts: starts or stops a stall clock; stalls, reruns
 * or fails a batch without progress for `stallAfter`. Any number of watchdogs may run this: the facts of the verdict are in the
 * `where`.
 */

import type { Db } from '../database/db.ts'
import { judgeBatch } from './model/batch-stall-verdict.ts'
import { rerunStalled, stallBatch } from './sql/batch-actions.ts'
import { type BatchClock, readBatchClocks, setBatchClocks } from './sql/batch-stall-clock.ts'

/** A batch that made no progress. */
export interface StalledBatch {
  id: string
  /** The state of the batch afterwards; `running`: its running jobs run again. */
  state: 'stalled' | 'failed' | 'running'
  reason: { code: 'no_progress' | 'no_worker'; since: string; stallAfterMs: number }
  /** The queue with jobs that wait again. */
  queue: string | null
}

export async function stallBatches(db: Db, ids: readonly string[], now: () => Date | null): Promise<StalledBatch[]> {
  const stalled: StalledBatch[] = []
  const run: string[] = []
  const stand: string[] = []
  for (const clock of await readBatchClocks(db, ids, now())) {
    const { verdict, action } = judgeBatch(clock, clock.policy)
    if (action === 'stand' && clock.fromUs !== null) stand.push(clock.id)
    if (action === 'run' && clock.fromUs === null) run.push(clock.id)
    if (verdict !== 'no progress' && verdict !== 'no worker') continue
    const done = await stall(db, clock, verdict === 'no worker' ? 'no_worker' : 'no_progress', now())
    if (done !== undefined) stalled.push(done)
  }
  await setBatchClocks(db, run, stand, now())
  return stalled
}

async function stall(
  db: Db,
  { id, policy, quietSince, fromUs, progressUs }: BatchClock,
  code: 'no_progress' | 'no_worker',
  now: Date | null,
): Promise<StalledBatch | undefined> {
  const reason = { code, since: quietSince.toISOString(), stallAfterMs: policy.stallAfter! }
  const seen = { fromUs: fromUs!, progressUs }
  if (policy.onStall === 'retry') {
    const again = await rerunStalled(db, id, reason, now, seen)
    return again && { id, state: 'running', reason, queue: again.queue }
  }
  const state = await stallBatch(db, id, reason, now, seen)
  return state && { id, state, reason, queue: null }
}
