/**
 * Creates, processes and erases snaps.
 *
 * Invariant: a snap answered with 202 is processed, and its facts are written once. The row of a snap, its job and the ownership of its file
 * are written in one transaction; the facts are written in a transaction of the attempt, which only the worker with the lease can commit.
 * Erasing first hides the row and then removes the job: after a crash in between, the next tidy job finds the rest.
 */
import {
  defineJob,
  defineSchedule,
  type Engine,
  hours,
  isRetomaError,
  type Job,
  type JobContext,
  type JobTransaction,
  minutes,
  type Schedule,
  seconds,
} from 'retoma'
import { forgetResponses } from 'retoma/http'
import { z } from 'zod'
import { errors } from './errors.ts'
import { refused } from './failed.ts'
import { decodeLimits, type Limits, readImage } from './image/index.ts'
import {
  hideOldSnaps,
  hideSnap,
  insertSnap,
  type NewSnap,
  noteSnapJob,
  readHiddenSnaps,
  readSnapFile,
  removeHiddenSnap,
  saveFacts,
} from './store/snaps.ts'

export const queue = 'snaps'

export interface Snaps {
  processSnap: Job<{ snap: string }>
  tidy: Schedule
}

export function createSnaps(engine: () => Engine, limits: Limits = decodeLimits): Snaps {
  const processSnap = defineJob({
    kind: 'process-snap',
    internal: true,
    queue,
    input: z.object({ snap: z.string() }),
    maxAttempts: 5,
    backoff: { first: seconds(5), factor: 2, max: minutes(10), jitter: 0.1 },
    timeout: minutes(2),
    expect: seconds(10),
    run: (ctx, { snap }) => measure(ctx, snap, limits),
  })
  const tidyJob = defineJob({
    kind: 'tidy_snaps',
    internal: true,
    queue,
    timeout: minutes(10),
    run: () => tidySnaps(engine()),
  })
  const tidy = defineSchedule({
    name: 'tidy_snaps',
    every: hours(1),
    job: tidyJob,
    input: undefined,
    catchUp: 'once',
    options: { key: 'tidy_snaps', priority: 0 },
  })
  return { processSnap, tidy }
}

async function measure(ctx: JobContext, id: string, limits: Limits) {
  const file = await readSnapFile(ctx, id)
  const path = file === undefined ? null : await ctx.files.path(file)
  if (path === null) throw refused(errors.snap_gone, { id })
  const facts = await readImage(ctx, path, limits)
  await ctx.transaction('facts', tx => saveFacts(tx, id, facts))
  return { width: facts.width, height: facts.height, perceptual_hash: facts.perceptualHash }
}

/** Returns the id. */
export async function makeSnap(
  engine: Engine,
  tx: JobTransaction,
  { processSnap }: Snaps,
  snap: NewSnap,
  by: string,
): Promise<string> {
  const id = await insertSnap(engine, tx, snap, by)
  const { id: job } = await engine.enqueue(processSnap, { snap: id }, { tx, ref: id })
  await noteSnapJob(tx, id, job)
  await engine.files.keep([snap.file], { job, tx })
  return id
}

/** Erases a snap with its job, steps, failures, events and image; an open snap is cancelled first. false: there is no such snap. */
export async function eraseSnap(engine: Engine, id: string): Promise<boolean> {
  const hidden = await hideSnap(engine, id)
  if (hidden === undefined) return false
  await finishErasing(engine, { id, ...hidden })
  return true
}

async function finishErasing(engine: Engine, { id, job }: { id: string; job: string }): Promise<void> {
  await engine.jobs.cancel(job).catch(unlessOver)
  await engine.jobs.erase(job)
  // Before the last row goes: after the row is gone, no process would repeat this call.
  await forgetResponses(engine, 'post /api/snaps', id)
  await removeHiddenSnap(engine, id)
}

function unlessOver(error: unknown): void {
  if (!isRetomaError(error, 'not_found') && !isRetomaError(error, 'wrong_state')) throw error
}

/** Erases the rest: of erasures that a crash interrupted, and of snaps whose job the janitor has removed. */
async function tidySnaps(engine: Engine): Promise<void> {
  while ((await hideOldSnaps(engine)) > 0);
  for (;;) {
    const hidden = await readHiddenSnaps(engine)
    if (hidden.length === 0) return
    for (const snap of hidden) await finishErasing(engine, snap)
  }
}
