/**
 * Prunes finished jobs past their retention. Works in chunks, so no statement locks many rows for long; with SKIP LOCKED,
 * so any number of janitors may run without a leader. A job is deleted with its failures, checkpoints, costs, events and files;
 * the items of a batch are deleted with the batch (batches/sql/batch-cascade.ts).
 *
 * Invariant: a job with a unique key stays for a day, however short its retention: the key is taken until then.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { doomed } from '../../files/sql/file-removal.ts'
import type { FinalJobState } from '../model/state.ts'

/** Parts of a `with`: remove the checkpoints, costs, events and files of the deleted jobs in the rows of `deleted`. */
export const removeRowsOf = (deleted: string): string => `kept as (
      delete from retoma.checkpoint where job_id = any (array(select id from ${deleted}))
    ), costs as (
      delete from retoma.job_cost where job_id = any (array(select id from ${deleted}))
    ), events as (
      delete from retoma.event where job_id = any (array(select id from ${deleted}))
    ), files as (
      update retoma.file set ${doomed} where job_id = any (array(select id from ${deleted}))
    )`

const pruned = (ids: string) => `
    with old as (
      delete from retoma.job
      where id = any (array(${ids}))
      returning id
    ), ${removeRowsOf('old')}
    select id from old`

/** The predicate of the indexes: the job has a retention of its own for its state. */
const hasOwn = 'coalesce(retention ? state, false)'

const prune = {
  name: 'prune_jobs',
  text: pruned(`
      select id from retoma.job
      where finished_at < coalesce($3::timestamptz, now()) - make_interval(secs => $2 / 1000.0)
        and state = any ($1::text[]) and finished_at is not null and batch_id is null and not ${hasOwn}
        and (unique_until is null or finished_at < coalesce($3::timestamptz, now()) - interval '24 hours')
      order by finished_at, id
      limit $4
      for update skip locked`),
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

const epoch = `timestamptz '2000-01-01 00:00:00+00'`
/** The expression of the index `job_finished_own`: the end of the retention, as the time since the epoch. */
const endOfRetention = `((greatest(finished_at, ${epoch}) - ${epoch})
        + greatest(make_interval(secs => (retention ->> state)::float8 / 1000), case when unique_until is not null then interval '24 hours' end))`

// Names no other column, and `greatest` hides that finished_at is not null, so that no other index fits: only final jobs outside of batches have a retention of their own.
const isPastOwn = (now: string) => `${endOfRetention} < ${now} - ${epoch} and ${hasOwn}`

/** A condition: a job is past a retention of its own. The order makes the planner read the index of these alone. */
export const someJobPastOwnRetention = (now: string): string => `coalesce((
        select true from retoma.job where ${isPastOwn(now)} order by ${endOfRetention}, id limit 1
      ), false)`

const pruneOwn = {
  name: 'prune_jobs_own',
  text: pruned(`
      select id from retoma.job
      where ${isPastOwn(nowParameter(1))}
      order by ${endOfRetention}, id
      limit $2
      for update skip locked`),
}

/** Deletes at most `limit` jobs past a retention of their own; returns the number. */
export async function pruneJobsWithOwnRetention(db: Db, limit: number, now: Date | null): Promise<number> {
  const rows = await db.run(pruneOwn, [now, limit], 8000)
  return rows.length
}
