/**
 * Applies a job action to many jobs, in chunks of ids. Each chunk is one statement with the state check in the `where`, as in the actions
 * on a single job (job-actions.ts), and changes jobs, limit counters and batch counters together. A crash between two chunks loses nothing;
 * the same action again changes the rest.
 *
 * Locks follow the common order: batches, jobs by id, limit counters, batch counters.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { sqlState } from '../../database/pg-errors.ts'
import type { JobState } from '../model/state.ts'
import { waitingJobs } from './job-floor.ts'
import {
  countMoves,
  keyTakenByAnother,
  limitsOfItsQueue,
  noteBatchStates,
  noteJobActions,
  readyForRetry,
  releaseLimits,
} from './transition.ts'

const now = nowParameter(2)

export interface BulkChunk {
  changed: number
  /** Retry: jobs not retried because another job has the unique key by now. The jobs stay as before. */
  conflicts: number
  /** Queues of the changed jobs. */
  queues: string[]
  /** Cancel: queues of the changed jobs that were running. */
  ran: string[]
  batches: string[]
  /** Retry: batches with another cascade under way. The jobs of these batches were not changed. */
  blocked: string[]
}

const summary = (conflicts: string, blocked: string) => `
    select count(*)::int as changed, ${conflicts} as conflicts, ${blocked} as blocked,
      coalesce(array_agg(distinct queue), '{}') as queues,
      coalesce(array_agg(distinct queue) filter (where was = 'running'), '{}') as ran,
      coalesce(array_agg(distinct batch_id::text) filter (where batch_id is not null), '{}') as batches
    from moved`

const cancel = {
  name: 'bulk_cancel',
  text: `
    with before as materialized (
      select id, state from retoma.job
      where id = any ($1::bigint[]) and state = any ($3::text[])
      order by id
      for update
    ), moved as (
      update retoma.job j
      set state = 'cancelled', last_worker = coalesce(j.worker_id, j.last_worker), worker_id = null,
        finished_at = ${now}, unique_until = nullif(j.unique_until, 'final')
      from before b
      where j.id = any (array[b.id])
      returning j.id, j.attempt, b.state as was, j.state, j.queue, j.limited, j.limit_key, j.batch_id, j.ref
    ), ran as (
      select * from moved where was = 'running'
    ), ${releaseLimits('ran', now)},
    ${countMoves('moved')},
    ${noteJobActions('cancel', 'moved', now, '$4::text')}
    ${summary('0', `'{}'::text[]`)}`,
}

// If several jobs have the same free unique key, the first job takes the key. `state` and `has_conflict` are both read behind the lock, because
// constraints are also checked on the row version of the statement's snapshot, and a pause may have come in between.
const retry = {
  name: 'bulk_retry',
  text: `
    with home as materialized (
      select b.id, b.state, b.claims_blocked, b.cascade from retoma.batch b
      where b.id = any (array(select distinct batch_id from retoma.job where id = any ($1::bigint[])))
      order by b.id
      for update
    ), locked as materialized (
      select j.id, j.state, j.kind, j.key, ${keyTakenByAnother('j')} as has_conflict
      from retoma.job j
      where j.id = any ($1::bigint[]) and j.state = any ($3::text[])
        and coalesce(j.batch_id, 0) not in (select id from home where state = 'cancelled' or cascade is not null)
      order by j.id
      for update
    ), found as materialized (
      select id, state, has_conflict or key is not null and row_number() over (partition by has_conflict, kind, key order by id) > 1 as has_conflict
      from locked
    ), moved as (
      update retoma.job j
      set ${readyForRetry}
      from (select id, state from found where not has_conflict) f
      where j.id = any (array[f.id])
      returning j.id, j.attempt, f.state as was, j.state, j.queue, j.batch_id, j.ref
    ), reopened as (
      update retoma.batch b
      set reopen_count = b.reopen_count + 1,
        resumes = case when h.state = 'failed' then 0 else b.resumes end,
        reason = case when h.state = 'failed' then null else b.reason end,
        finished_at = null,
        stop_baseline_failed = greatest(b.stop_baseline_failed - m.failed, 0),
        stop_baseline_finished = greatest(b.stop_baseline_finished - m.ended, 0),
        state = case
          when h.state not in ('succeeded', 'completed_with_failures', 'failed') then h.state
          when b.submitted_at is null then 'submitting'
          else 'running'
        end,
        claims_blocked = h.claims_blocked
      from (
          select batch_id, count(*)::int as ended, count(*) filter (where was = 'failed')::int as failed
          from moved where batch_id is not null group by 1
        ) m
        join home h on h.id = m.batch_id
      where b.id = any (array[h.id])
      returning b.id, h.state as was, b.state, b.reason
    ), ${noteBatchStates('reopened', now)},
    ${countMoves('moved')},
    ${noteJobActions('retry', 'moved', now, '$4::text')}
    ${summary(
      '(select count(*)::int from found where has_conflict)',
      `array(select id::text from home where state <> 'cancelled' and cascade is not null)`,
    )}`,
}

// The batch is locked before the jobs: a batch that stalls at the same instant either stalls first, and its items stay, or stalls afterwards.
const resume = {
  name: 'bulk_resume',
  text: `
    with home as materialized (
      select b.id, b.state from retoma.batch b
      where b.id = any (array(select distinct batch_id from retoma.job where id = any ($1::bigint[])))
      order by b.id
      for update
    ), found as materialized (
      select id from retoma.job
      where id = any ($1::bigint[]) and state = 'stalled' and coalesce(batch_id, 0) not in (select id from home where state = 'stalled')
      order by id
      for update
    ), moved as (
      update retoma.job j
      set state = 'waiting', claim_rank = claim_rank & ~1, run_at = ${now}, crash_suspicion = null, ${limitsOfItsQueue}
      from found f
      where j.id = any (array[f.id])
      returning j.id, j.attempt, 'stalled' as was, j.state, j.queue, j.batch_id, j.ref
    ),
    ${countMoves('moved')},
    ${noteJobActions('resume', 'moved', now, '$3::text')}
    ${summary('0', `'{}'::text[]`)}`,
}

const resumable = {
  name: 'bulk_resumable',
  text: `
    select j.id::text from retoma.job j
    where j.id = any ($1::bigint[]) and j.state = 'stalled'
      and (select b.state from retoma.batch b where b.id = j.batch_id) is distinct from 'stalled'`,
}

export interface BulkRequest {
  ids: readonly string[]
  /** Only jobs in one of these states. */
  states: readonly JobState[]
  by: string | undefined
}

export async function cancelSome(db: Db, { ids, states, by }: BulkRequest, now: Date | null): Promise<BulkChunk> {
  return (await db.run<BulkChunk>(cancel, [ids, now, states, by ?? null]))[0]!
}

export async function retrySome(db: Db, { ids, states, by }: BulkRequest, now: Date | null): Promise<BulkChunk> {
  for (let left = 5; ; left--) {
    try {
      return (await db.run<BulkChunk>(retry, [ids, now, states, by ?? null]))[0]!
    } catch (error) {
      // Another job took the unique key of a job at the same instant. The next try sees the holder.
      if (sqlState(error) !== '23505' || left === 0) throw error
    }
  }
}

/** Resumes the stalled jobs among `ids`. Items of a stalled batch stay `stalled`. */
export async function resumeSome(
  db: Db,
  { ids, by }: Pick<BulkRequest, 'ids' | 'by'>,
  now: Date | null,
): Promise<BulkChunk> {
  return (await db.run<BulkChunk>(resume, [ids, now, by ?? null]))[0]!
}

/** The jobs among `ids` that `resumeSome` would change. */
export async function resumableIn(db: Db, ids: readonly string[]): Promise<string[]> {
  return (await db.run<{ id: string }>(resumable, [ids])).map(row => row.id)
}

const waiting = {
  name: 'bulk_waiting_of_queue',
  text: `
    select w.id::text as id
    from (
      (
        select j.id
        from generate_series(0, 19) as r (claim_rank)
          cross join lateral (
            select id from retoma.job
            where queue = $1 and claim_rank = r.claim_rank::smallint and state = 'waiting' and not limited and id + 0 < $2
              and kind <> all ($4::text[])
            order by run_at, id
            limit $3
          ) j
        limit $3
      )
      union all
      (
        select id from retoma.job
        where queue = $1 and state = 'waiting' and limited and id + 0 < $2 and kind <> all ($4::text[])
        order by claim_rank, limit_key, run_at, id
        limit $3
      )
    ) w
    limit $3`,
}

/** Returns the ids of at most `limit` waiting jobs of a queue with an id below `top`, without jobs of the kinds `except`. */
export async function waitingOfQueue(
  db: Db,
  queue: string,
  { top, limit, except }: { top: string; limit: number; except: readonly string[] },
): Promise<string[]> {
  const rows = await db.run<{ id: string }>(waiting, [queue, top, limit, except])
  return rows.map(row => row.id)
}

const countWaiting = {
  name: 'bulk_count_waiting_of_queue',
  text: `
    select count(*)::int as n
    from generate_series(0, 19) as r (claim_rank)
      cross join lateral (${waitingJobs('$1', '', 'and kind <> all ($2::text[]) offset 0')}) w`,
}

/** Counts the waiting jobs of a queue, without jobs of the kinds `except`. */
export async function countWaitingOfQueue(db: Db, queue: string, except: readonly string[]): Promise<number> {
  return (await db.run<{ n: number }>(countWaiting, [queue, except]))[0]!.n
}

const items = {
  name: 'bulk_items',
  text: `
    with chunk as materialized (
      select n, first_id, last_id from retoma.batch_chunk where batch_id = $1 and n > $3 order by n limit 1
    )
    select (select n from chunk) as n, coalesce(array_agg(j.id::text), '{}') as ids
    from chunk c
      join retoma.job j on j.id between c.first_id and c.last_id and j.batch_id = $1 and j.state = any ($2::text[])
        and ($4::text is null or j.kind = $4) and ($5::text is null or j.queue = $5) and ($6::text is null or j.group_key = $6)
        and ($7::timestamptz is null or j.created_at < $7) and j.kind <> all ($8::text[])`,
}

/** Returns the matching jobs of the next `batch_chunk` range of a batch; `n` is null if there is no further range. */
export async function someItems(
  db: Db,
  filter: {
    batchId: string
    states: readonly JobState[]
    kind?: string | undefined
    queue?: string | undefined
    groupKey?: string | undefined
    createdBefore?: Date | undefined
    except?: readonly string[] | undefined
  },
  after: number,
): Promise<{ n: number | null; ids: string[] }> {
  const { batchId, states, kind, queue, groupKey, createdBefore, except } = filter
  const values = [
    ...[batchId, states, after, kind ?? null, queue ?? null, groupKey ?? null, createdBefore ?? null],
    except ?? [],
  ]
  return (await db.run<{ n: number | null; ids: string[] }>(items, values))[0]!
}
