/**
 * Saves the checkpoints and the progress of attempts.
 *
 * Invariant: a checkpoint is written only while the attempt has the lease of the job. The insert locks the job's row FOR SHARE. Without
 * the lock, or with FOR KEY SHARE, a checkpoint could be written after the job went to another attempt, which has already looked for the
 * checkpoint in vain. If the row already exists from the same attempt, the checkpoint was sent twice and counts as written.
 */
import type { Db } from '../../database/db.ts'

export interface Checkpoint {
  id: string
  attempt: number
  name: string
  /** JSON text. */
  value: string
}

// Each job is found alone, by the primary key, in the order of the ids: concurrent writes do not deadlock, and no plan can scan the
// table.
const save = {
  name: 'checkpoint_save',
  text: `
    with given as materialized (
      select g.*, row_number() over (order by g.id) as place
      from unnest((select $1::bigint[]), (select $2::int[]), (select $3::text[]), (select $4::json[])) as g (id, attempt, name, value)
    ), held as materialized (
      select g.*
      from (select * from given order by place) g
        cross join lateral (
          select from retoma.job j where j.id = g.id and j.attempt = g.attempt and j.worker_id = $5 for share
        ) j
    ), landed as (
      insert into retoma.checkpoint (job_id, name, attempt, value, at)
      select id, name, attempt, value, coalesce($6::timestamptz, now()) from held
      on conflict (job_id, name) do update set name = excluded.name where checkpoint.attempt = excluded.attempt
      returning job_id, name
    )
    select g.id, g.name
    from given g
    where (select count(*) from landed) < (select count(*) from given)
      and not exists (select from landed l where l.job_id = g.id and l.name = g.name)`,
}

/** Returns the checkpoints in the database, saved by this call or by an earlier call whose answer was lost. */
export async function saveCheckpoints<T extends Checkpoint>(
  db: Db,
  worker: string,
  given: readonly T[],
  now: Date | null,
): Promise<Set<T>> {
  const rows = await db.run<{ id: string; name: string }>(save, [
    given.map(each => each.id),
    given.map(each => each.attempt),
    given.map(each => each.name),
    given.map(each => each.value),
    worker,
    now,
  ])
  if (rows.length === 0) return new Set(given)
  const lost = new Set(rows.map(row => `${row.id} ${row.name}`))
  return new Set(given.filter(each => !lost.has(`${each.id} ${each.name}`)))
}

const saved = {
  name: 'checkpoint_load',
  text: `select name, value from retoma.checkpoint where job_id = $1`,
}

/** Returns all checkpoints of a job by name. */
export async function loadCheckpoints(db: Db, jobId: string): Promise<Map<string, unknown>> {
  const rows = await db.run<{ name: string; value: unknown }>(saved, [jobId])
  return new Map(rows.map(row => [row.name, row.value]))
}

export interface ProgressRow {
  id: string
  attempt: number
  /** Name of the last checkpoint; null: unchanged. The other columns are JSON texts, and null also means unchanged. */
  checkpoint: string | null
  checkpointData: string | null
  progress: string | null
}

const note = {
  name: 'checkpoint_note',
  text: `
    with given as materialized (
      select *
      from unnest((select $1::bigint[]), (select $2::int[]), (select $3::text[]), (select $4::json[]), (select $5::jsonb[]))
        as g (id, attempt, checkpoint, checkpoint_data, progress)
    )
    update retoma.job j
    set progress_at = coalesce($7::timestamptz, now()),
      checkpoint = coalesce(g.checkpoint, j.checkpoint),
      checkpoint_data = coalesce(g.checkpoint_data, j.checkpoint_data),
      progress = coalesce(g.progress, j.progress)
    from given g
    where j.id = any (array[g.id]) and j.attempt = g.attempt and j.worker_id = $6
    returning j.id`,
}

/** Returns the notes whose attempt still has the lease. */
export async function noteProgress<T extends ProgressRow>(
  db: Db,
  worker: string,
  given: readonly T[],
  now: Date | null,
): Promise<Set<T>> {
  const sorted = given.toSorted((a, b) => a.id.length - b.id.length || (a.id < b.id ? -1 : 1))
  const rows = await db.run<{ id: string }>(note, [
    sorted.map(each => each.id),
    sorted.map(each => each.attempt),
    sorted.map(each => each.checkpoint),
    sorted.map(each => each.checkpointData),
    sorted.map(each => each.progress),
    worker,
    now,
  ])
  const landed = new Set(rows.map(row => row.id))
  return new Set(given.filter(each => landed.has(each.id)))
}
