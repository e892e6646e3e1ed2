/**
 * A batch that is over is erased: from the first commit on it is gone for everybody, and so is what was told of it. Its jobs, with
 * all that is theirs, follow in bites (batch-bite.ts), whoever takes them.
 *
 * Invariant: what was told goes in the commit that marks the batch; otherwise a crash would leave it behind, and nobody would
 * know of what it was.
 */
import { finalBatchStates } from '../core/batch-state.ts'
import { type Db, runOn } from './db.ts'
import { doomed } from './file-removal.ts'
import { freeGates } from './gate.ts'

const mark = {
  name: 'batch_erase_mark',
  text: `
    update retoma.batch
    set todo = 'prune', todo_chunk = 0, todo_at = coalesce($2::timestamptz, now()), key_held = false
    where id = $1 and state = any ($3::text[]) and todo is null
    returning complete_job::text as complete`,
}

// Of the batch and of its jobs. Some parts of a subject are no numbers. One that is being told goes too: its attempt finds its lease lost.
const told = {
  name: 'batch_erase_told',
  text: `
    with gone as (
      delete from retoma.incident i
      where i.subject = 'batch:' || $1::text or starts_with(i.subject, 'batch:' || $1::text || '/')
        or (
          select j.batch_id from retoma.job j
          where j.id = case when i.subject ~ '^job:[0-9]{1,18}$' then substr(i.subject, 5)::bigint end
        ) = $1::text::bigint
      returning told_job, cleared_job
    ), old as materialized (
      select id, queue, gated, gate_key, worker_id from retoma.job
      where batch_id is null and id = any (array(
        select told_job from gone union all select cleared_job from gone union all select $2::bigint
      ))
      order by id
      for update
    ), removed as (
      delete from retoma.job where id = any (array(select id from old))
    ), ran as (
      select * from old where worker_id is not null
    ), ${freeGates('ran', 'coalesce($3::timestamptz, now())')}, kept as (
      delete from retoma.checkpoint where job_id = any (array(select id from old))
    ), files as (
      update retoma.file set ${doomed} where job_id = any (array(select id from old))
    )
    delete from retoma.event where job_id = any (array(select id from old))`,
}

/** 'marked', or why not: undefined, there is none; else its state, which may be final when something still has to follow. */
export async function markErased(db: Db, id: string, now: Date | null): Promise<'marked' | string | undefined> {
  const marked = await db.transaction(async client => {
    const run = runOn(client)
    const [row] = await run<{ complete: string | null }>(mark, [id, now, finalBatchStates])
    if (row !== undefined) await run(told, [id, row.complete, now])
    return row !== undefined
  })
  if (marked) return 'marked'
  const [found] = await db.run<{ state: string }>(state, [id])
  return found?.state
}

const state = { name: 'batch_erase_state', text: `select state from retoma.batch where id = $1` }
