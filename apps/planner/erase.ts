/**
 * Erases jobs of the planner.
 *
 * Invariant: erasing first hides the row and then removes the job. After a crash in between, the next run of reconcile_orphan_jobs erases the
 * rest.
 */
import { type Engine, isRetomaError } from 'retoma'
import { forgetResponses } from 'retoma/http'
import { type HiddenJob, hideJob, readHiddenJobs, removeHiddenJob } from './store/jobs.ts'

/**
 * Erases the job with its input, result, files, failures and events; an open job is cancelled first. Returns false if there is no such
 * job.
 */
export async function eraseJob(engine: Engine, id: string): Promise<boolean> {
  const hidden = await hideJob(engine, id)
  if (hidden === undefined) return false
  await finishErasing(engine, hidden)
  return true
}

/** Erases the rest of erasures that a crash interrupted. */
export async function eraseHiddenJobs(engine: Engine): Promise<void> {
  for (;;) {
    const hidden = await readHiddenJobs(engine)
    if (hidden.length === 0) return
    for (const job of hidden) await finishErasing(engine, job)
  }
}

async function finishErasing(engine: Engine, { id, kind }: HiddenJob): Promise<void> {
  await engine.jobs.cancel(id).catch(error => {
    if (!isRetomaError(error, 'not_found') && !isRetomaError(error, 'wrong_state')) throw error
  })
  await engine.jobs.erase(id)
  // Before the row is removed: without the row, no process would repeat this call.
  await forgetResponses(engine, `post /api/planner/${kind}`, id)
  await removeHiddenJob(engine, id)
}
