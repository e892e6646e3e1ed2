/**
 * Changes a waiting job: its earliest start, its priority, its input.
 *
 * Invariant: the `where` names the state `waiting` behind the lock of the row, so a job that a worker has claimed meanwhile stays unchanged.
 * A job that moves to another lane, or to another time, gets a `run_at` of now or later, and so lies after every claim cursor.
 */

import { type Db, type Run, runOn } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import type { JobState } from '../model/state.ts'
import { noteJobActions } from './transition.ts'

const now = nowParameter(2)

const update = {
  name: 'job_update',
  text: `
    with before as materialized (
      select id, run_at, claim_rank from retoma.job where id = $1 and state = 'waiting' for update
    ), moved as (
      update retoma.job j
      set run_at = case
          when $4::timestamptz is not null or $5::float8 is not null
            then greatest(coalesce($4::timestamptz, ${now}) + make_interval(secs => coalesce($5::float8, 0) / 1000), ${now})
          when $6::smallint <> b.claim_rank / 2 then greatest(b.run_at, ${now})
          else b.run_at
        end,
        claim_rank = coalesce($6::smallint * 2 + (b.claim_rank & 1), b.claim_rank),
        input = coalesce($7::jsonb, j.input),
        version = case when $7::jsonb is null then j.version else $8::int end
      from before b
      where j.id = any (array[b.id])
      returning j.id, j.attempt, 'waiting' as was, j.state, j.batch_id, j.ref, j.queue, j.run_at
    ), ${noteJobActions('update', 'moved', now, '$3::text')}
    select queue, (extract(epoch from run_at - ${now}) * 1000)::float8 as "dueMs" from moved`,
}

const lock = { name: 'job_update_lock', text: `select id from retoma.job where id = $1 for update` }

const steps = {
  name: 'job_update_steps',
  text: `select exists (select from retoma.checkpoint where job_id = $1) as saved`,
}

const find = { name: 'job_update_state', text: `select state, kind from retoma.job where id = $1` }

export interface JobChanges {
  runAt: Date | null
  delayMs: number | null
  priority: number | null
  /** JSON text; null: the input stays. */
  input: string | null
  /** Version of the code that has checked the input; null: 1. */
  version: number | null
}

export interface UpdatedJob {
  queue: string
  /** Milliseconds until the job is due. */
  dueMs: number
}

/** Returns undefined if the job does not wait, and 'steps' if the input cannot change because of saved steps. */
export async function updateJob(
  db: Db,
  id: string,
  { runAt, delayMs, priority, input, version }: JobChanges,
  by: string | undefined,
  now: Date | null,
): Promise<UpdatedJob | 'steps' | undefined> {
  const change = async (run: Run) => {
    const values = [id, now, by ?? null, runAt, delayMs, priority, input, version]
    return (await run<UpdatedJob>(update, values))[0]
  }
  if (input === null) return change(db.run)
  // Three statements: each sees the steps saved before the lock, and no attempt saves a step while the job waits behind the lock.
  return db.transaction(async client => {
    const run = runOn(client)
    await run(lock, [id])
    const [found] = await run<{ saved: boolean }>(steps, [id])
    return found?.saved ? 'steps' : change(run)
  })
}

export async function stateAndKind(db: Db, id: string): Promise<{ state: JobState; kind: string } | undefined> {
  const [row] = await db.run<{ state: JobState; kind: string }>(find, [id])
  return row
}
