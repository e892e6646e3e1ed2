/**
 * Prunes finished jobs past their retention. Works in chunks, so no statement locks many rows for long; with SKIP LOCKED,
 * so any number of janitors may run without a leader. A job is deleted with its failures, checkpoints, events and files;
 * the items of a batch are deleted with the batch (batches/sql/batch-cascade.ts).
 */

import type { Db } from '../../database/db.ts'
import { doomed } from '../../files/sql/file-removal.ts'
import type { FinalJobState } from '../model/state.ts'

const prune = {
  name: 'prune_jobs',
  text: `
    with old as (
      delete from retoma.job
      where id = any (array(
      select id from retoma.job
      where finished_at < coalesce($3::timestamptz, now()) - make_interval(secs => $2 / 1000.0)
        and state = any ($1::text[]) and batch_id is null
      order by finished_at, id
      limit $4
      for update skip locked
      ))
      returning id
    ), kept as (
      delete from retoma.checkpoint where job_id = any (array(select id from old))
    ), events as (
      delete from retoma.event where job_id = any (array(select id from old))
    ), files as (
      update retoma.file set ${doomed} where job_id = any (array(select id from old))
    )
    select id from old`,
}

/** Deletes at most `limit` jobs in `states` that finished more than `olderThanMs` ago; returns the number. */
export async function pruneJobs(
  db: Db,
  states: readonly FinalJobState[],
  olderThanMs: number,
  limit: number,
  now: Date | null,
): Promise<number> {
  const rows = await db.run(prune, [states, olderThanMs, now, limit], 8000)
  return rows.length
}
