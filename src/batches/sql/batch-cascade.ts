/**
 * Runs the cascade of a batch in chunks: cancels the jobs, fails the jobs because the resumes are spent, retries the failed jobs, or
 * prunes all jobs.
 *
 * Invariant: a chunk is one statement under the lock of the batch row. The statement changes jobs and counters together and stores the
 * position of the cascade. Any process may run the next chunk (the caller of the action, a tick, ten processes at once), and a crash
 * between two chunks loses nothing.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { sqlState } from '../../database/pg-errors.ts'
import { doomed } from '../../files/sql/file-removal.ts'
import { fingerprintOf } from '../../jobs/model/error-fingerprint.ts'
import { removeRowsOf } from '../../jobs/sql/prune-jobs.ts'
import {
  countMoves,
  keyTakenByAnother,
  noteBatchStates,
  readyForRetry,
  releaseLimits,
} from '../../jobs/sql/transition.ts'

const now = nowParameter(2)

/** Result of a cascade chunk. `done`: the cascade is complete. */
export interface CascadeChunk {
  moved: number
  /** Retry: jobs not retried because another job has the unique key by now. The jobs stay `failed`. */
  conflicts: number
  /** Queues of the changed jobs that were running. */
  ran: string[]
  done: boolean
}

// The reason of the batch says whether the resumes are spent or the policy fails a stalled batch at once.
const spent = `(select reason ->> 'code' from home) = 'resumes_spent'`
const message = `
  case when ${spent} then 'batch ended after ' || (select resumes from home) || ' resumes; item not processed'
  else 'batch ended: no progress; item not processed' end`
const causes = {
  spent: fingerprintOf({
    type: 'stalled',
    code: 'resumes_spent',
    message: 'batch ended after 3 resumes; item not processed',
  }),
  failed: fingerprintOf({
    type: 'stalled',
    code: 'batch_stalled',
    message: 'batch ended: no progress; item not processed',
  }),
}

const end = {
  name: 'batch_cascade_end',
  text: `
    with home as materialized (
      select id, cascade, cascade_chunk, chunks, resumes, reason from retoma.batch
      where id = $1 and cascade in ('cancel', 'fail')
      for update
    ), chunk as materialized (
      select c.n, c.first_id, c.last_id
      from retoma.batch_chunk c
      where c.batch_id = (select id from home) and c.n >= (select cascade_chunk from home)
      order by c.n
      limit $3
    ), before as materialized (
      select j.id, j.state
      from chunk c
        cross join lateral (
          select id, state from retoma.job
          where id between c.first_id and c.last_id and batch_id = $1 and state in ('waiting', 'running', 'stalled')
          order by id
          for update
        ) j
    ), moved as (
      update retoma.job j
      set state = case (select cascade from home) when 'cancel' then 'cancelled' else 'failed' end,
        last_worker = coalesce(j.worker_id, j.last_worker), worker_id = null,
        finished_at = ${now}, unique_until = nullif(j.unique_until, 'final'),
        error = case
          when (select cascade from home) = 'cancel' then j.error
          else jsonb_build_object(
            'type', 'stalled', 'code', case when ${spent} then 'resumes_spent' else 'batch_stalled' end, 'message', ${message}, 'stack', null,
            'cause', case when ${spent} then $4::text else $5::text end)
        end
      from before b
      where j.id = any (array[b.id])
      returning j.id, b.state as was, j.state, j.queue, j.limited, j.limit_key, j.batch_id, j.attempt, j.last_worker, j.started_at, j.error
    ), ran as (
      select * from moved where was = 'running'
    ), noted as (
      insert into retoma.failure (job_id, attempt, failure_type, code, message, worker, started_at, at)
      select id, attempt, 'stalled', error ->> 'code', error ->> 'message', last_worker, started_at, ${now}
      from ran where state = 'failed'
      on conflict do nothing
    ), ${releaseLimits('ran', now)},
    ${countMoves('moved')}, followed as (
      update retoma.batch b
      set cascade_chunk = b.cascade_chunk + (select count(*) from chunk)::int,
        cascade = case when b.cascade_chunk + (select count(*) from chunk) < b.chunks then b.cascade end,
        claims_blocked = b.cascade_chunk + (select count(*) from chunk) < b.chunks
      from home h
      where b.id = any (array[h.id])
      returning b.cascade
    )
    select (select count(*)::int from moved) as moved, 0 as conflicts, array(select distinct queue from ran) as ran,
      cascade is null as done
    from followed`,
}

// A job that fails again during the cascade is not retried a second time. Checkpoints stay, so paid work is not repeated. If several jobs
// have the same free unique key, the first job takes the key. A finished batch runs again with the first retried job; if no job can be
// retried, the batch does not end a second time. `state`, `claims_blocked` and `finished_at` are read behind the lock, all three, because
// constraints are also checked on the row version of the statement's snapshot. The position is compared in the collation of the index;
// otherwise each chunk would scan all rows before the position.
const retry = {
  name: 'batch_cascade_retry',
  text: `
    with home as materialized (
      select id, state, claims_blocked, finished_at, cascade_at, cascade_cause collate "default" as cascade_cause, cascade_place collate "default" as cascade_place, cascade_id
      from retoma.batch
      where id = $1 and cascade = 'retry'
      for update
    ), locked as materialized (
      select j.id, j.kind, j.key, j.cause, ${keyTakenByAnother('j')} as has_conflict
      from home h
        cross join lateral (
          select id, kind, key, coalesce(error ->> 'cause', '') as cause from retoma.job
          where batch_id = h.id and state = 'failed'
            and (coalesce(error ->> 'cause', ''), id) > (h.cascade_place, h.cascade_id)
            and coalesce(error ->> 'cause', '') <= coalesce(h.cascade_cause, 'g')
            and finished_at <= h.cascade_at
          order by coalesce(error ->> 'cause', ''), id
          limit $3
          for update
        ) j
    ), found as materialized (
      select id, cause, has_conflict or key is not null and row_number() over (partition by has_conflict, kind, key order by cause, id) > 1 as has_conflict
      from locked
    ), moved as (
      update retoma.job j
      set ${readyForRetry}
      where j.id = any (array(select id from found where not has_conflict))
      returning j.batch_id, 'failed' as was, j.state
    ),
    ${countMoves('moved')}, followed as (
      update retoma.batch b
      set reopen_count = b.reopen_count + 1,
        state = case when h.state = 'completed_with_failures' and exists (select from moved) then 'running' else h.state end,
        claims_blocked = h.claims_blocked,
        finished_at = case when not exists (select from moved) then h.finished_at end,
        retried = b.retried + (select count(*) from moved)::int,
        retry_conflicts = b.retry_conflicts + (select count(*) from found where has_conflict)::int,
        stop_baseline_failed = greatest(b.stop_baseline_failed - (select count(*) from moved)::int, 0),
        stop_baseline_finished = greatest(b.stop_baseline_finished - (select count(*) from moved)::int, 0),
        cascade = case when (select count(*) from found) >= $3 then b.cascade end,
        cascade_place = coalesce((select cause from found order by cause desc, id desc limit 1), b.cascade_place),
        cascade_id = coalesce((select id from found order by cause desc, id desc limit 1), b.cascade_id)
      from home h
      where b.id = any (array[h.id])
      returning b.id, h.state as was, b.state, b.reason, b.cascade
    ), ${noteBatchStates('followed', now)}
    select (select count(*)::int from moved) as moved, (select count(*)::int from found where has_conflict) as conflicts, '{}'::text[] as ran,
      cascade is null as done
    from followed`,
}

// Deletes the jobs of a batch past retention. The jobs go first; the batch row stays until nothing else is left.
const prune = {
  name: 'batch_cascade_prune',
  text: `
    with home as materialized (
      select id, cascade_chunk, chunks from retoma.batch where id = $1 and cascade = 'prune' for update
    ), chunk as materialized (
      select c.n, c.first_id, c.last_id
      from retoma.batch_chunk c
      where c.batch_id = (select id from home) and c.n >= (select cascade_chunk from home)
      order by c.n
      limit $2
    ), old as (
      delete from retoma.job
      where id = any (array(
        select j.id
        from chunk c
          cross join lateral (
            select id from retoma.job where id between c.first_id and c.last_id and batch_id = $1 order by id for update
          ) j
      ))
      returning id
    ), ${removeRowsOf('old')}, followed as (
      update retoma.batch b
      set cascade_chunk = b.cascade_chunk + (select count(*) from chunk)::int
      from home h
      where b.id = any (array[h.id])
      returning b.id, b.cascade_chunk >= b.chunks as done
    )
    select (select count(*)::int from old) as moved, 0 as conflicts, '{}'::text[] as ran, done from followed`,
}

const forget = {
  name: 'batch_delete',
  text: `
    with gone as (
      delete from retoma.batch where id = $1 and cascade = 'prune' and cascade_chunk >= chunks returning id
    ), chunk as (
      delete from retoma.batch_chunk where batch_id = (select id from gone)
    ), events as (
      delete from retoma.event where batch_id = (select id from gone)
    ), files as (
      update retoma.file set ${doomed} where batch_id = (select id from gone)
    ), streak as (
      delete from retoma.provider where name = (select 'batch ' || id from gone)
    ), costs as (
      delete from retoma.batch_cost where batch_id = (select id from gone)
    )
    delete from retoma.batch_count where batch_id = (select id from gone)`,
}

/** A range of `batch_chunk` has up to 1,000 jobs. A cascade chunk holds the locks for about 10 ms. */
const chunksPerStatement = 2
const jobsPerStatement = 2000

/** Runs the next chunk of the cascade. Returns undefined if the batch has no cascade. */
export async function runCascadeChunk(db: Db, id: string, now: Date | null): Promise<CascadeChunk | undefined> {
  const [cascade] = await db.run<{ cascade: string | null }>(whatFollows, [id])
  switch (cascade?.cascade) {
    case 'cancel':
    case 'fail':
      return (await db.run<CascadeChunk>(end, [id, now, chunksPerStatement, causes.spent, causes.failed]))[0]
    case 'retry':
      return retryChunk(db, id, now)
    case 'prune': {
      const [chunk] = await db.run<CascadeChunk>(prune, [id, chunksPerStatement])
      if (chunk?.done) await db.run(forget, [id])
      return chunk
    }
    default:
      return undefined
  }
}

async function retryChunk(db: Db, id: string, now: Date | null): Promise<CascadeChunk | undefined> {
  for (let left = 5; ; left--) {
    try {
      return (await db.run<CascadeChunk>(retry, [id, now, jobsPerStatement]))[0]
    } catch (error) {
      // Another job took the unique key of a job at the same instant. The next try sees the holder.
      if (sqlState(error) !== '23505' || left === 0) throw error
    }
  }
}

const whatFollows = { name: 'batch_cascade_read', text: `select cascade from retoma.batch where id = $1` }

const marked = (ids: string, now: string) => `
    update retoma.batch
    set cascade = 'prune', cascade_chunk = 0, cascade_at = ${now}, key_reserved = false
    where id = any (array(${ids}))
    returning id::text as id`

/** The final state whose retention counts. */
const retainedAs = `case state when 'completed_with_failures' then 'failed' else state end`
const hasOwn = `coalesce(policy -> 'retention' ? ${retainedAs}, false)`

// A batch with a key stays for a day, however short its retention: the key is taken until then.
const mark = {
  name: 'batch_mark_expired',
  text: marked(
    `
      select id from retoma.batch
      where finished_at < coalesce($3::timestamptz, now()) - make_interval(secs => $2 / 1000.0)
        and state = any ($1::text[]) and cascade is null and not ${hasOwn}
        and (not key_reserved or finished_at < coalesce($3::timestamptz, now()) - interval '24 hours')
      order by finished_at, id
      limit $4
      for update skip locked`,
    nowParameter(3),
  ),
}

const epoch = `timestamptz '2000-01-01 00:00:00+00'`
/** The expression of the index `batch_finished_own`: the end of the retention, as the time since the epoch. */
const endOfRetention = `((greatest(finished_at, ${epoch}) - ${epoch})
        + greatest(make_interval(secs => (policy -> 'retention' ->> ${retainedAs})::float8 / 1000),
          case when key_reserved then interval '24 hours' end))`

// `greatest` hides that finished_at is not null, so that no other index fits.
const isPastOwn = (now: string) => `${endOfRetention} < ${now} - ${epoch} and ${hasOwn} and cascade is null`

/** A condition: a batch is past a retention of its own. The order makes the planner read the index of these alone. */
export const someBatchPastOwnRetention = (now: string): string => `coalesce((
        select true from retoma.batch where ${isPastOwn(now)} order by ${endOfRetention}, id limit 1
      ), false)`

const markOwn = {
  name: 'batch_mark_expired_own',
  text: marked(
    `
      select id from retoma.batch
      where ${isPastOwn(nowParameter(1))}
      order by ${endOfRetention}, id
      limit $2
      for update skip locked`,
    nowParameter(1),
  ),
}

/** Begins to prune batches past a retention of their own. From this commit on no reader sees the batches; a tick deletes the jobs. */
export async function markBatchesWithOwnRetention(db: Db, limit: number, now: Date | null): Promise<string[]> {
  const rows = await db.run<{ id: string }>(markOwn, [now, limit], 8000)
  return rows.map(row => row.id)
}

/** The same for batches whose states have the retention of the engine. */
export async function markOldBatches(
  db: Db,
  states: readonly string[],
  olderThanMs: number,
  limit: number,
  now: Date | null,
): Promise<string[]> {
  const rows = await db.run<{ id: string }>(mark, [states, olderThanMs, now, limit], 8000)
  return rows.map(row => row.id)
}
