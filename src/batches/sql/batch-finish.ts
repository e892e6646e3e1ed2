/**
 * Ends or stops batches. Callers run the check after the commit that may have decided the end, and at every tick for all other open
 * batches. Two settles that each write one of the last two outcomes do not see each other, so neither could find the end; a check after
 * both commits can.
 *
 * Invariant: a batch ends once for each time the batch was open, with one `onComplete` job. The counters are read as of the beginning of
 * the statement, the batch row behind the lock. `reopen_count` shows whether a job of the batch waits again since the
 * snapshot.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { noteBatchStates } from '../../jobs/sql/transition.ts'
import { batchSums } from './batch-counters.ts'

const now = nowParameter(2)

export interface BatchCheck {
  id: string
  /** This call ended the batch. */
  ended: boolean
  /** Jobs without a final state. */
  left: number
  /** The policy has `stopAfter`, and at least one job has failed. */
  mayStop: boolean
  /** The batch is paused because of a streak of failures with the same fingerprint. */
  sameCause: boolean
  /** Queue of the `onComplete` job if this call enqueued the job. */
  queue: string | null
}

// A stall verdict may race with the outcome of the last job. A `stalled` batch without unfinished jobs has nothing to resume, and ends
// too.
const finish = {
  name: 'batch_complete',
  text: `
    with seen as materialized (
      select b.id, b.reopen_count, b.total, b.policy, b.reason, s.*
      from (select distinct id from unnest((select $1::bigint[])) as g (id) order by id) g
        cross join lateral (
          select id, reopen_count, total, policy, reason from retoma.batch where id = g.id and finished_at is null offset 0
        ) b
        cross join lateral (${batchSums('b.id')}) s
    ), locked as materialized (
      select b.id, b.state, s.succeeded, s.failed, s.skipped, s.cancelled
      from seen s
        cross join lateral (
          select id, state from retoma.batch
          where id = s.id and s.ended = s.total and total = s.total and reopen_count = s.reopen_count
            and state in ('running', 'stalled') and submitted_at is not null and cascade is null
          for update
        ) b
    ), ended as (
      update retoma.batch b
      set state = case when h.failed + h.cancelled > 0 then 'completed_with_failures' else 'succeeded' end, claims_blocked = false, finished_at = ${now}, completions = b.completions + 1, reason = null, stall_clock_started_at = 'infinity',
        complete_job = case when b.policy -> 'onComplete' ->> 'kind' is not null then nextval('retoma.job_id_seq') end
      from locked h
      where b.id = any (array[h.id])
      returning b.id, h.state as was, b.state, b.reason, b.name, b.policy -> 'onComplete' ->> 'kind' as kind, b.policy -> 'onComplete' ->> 'queue' as queue,
        (b.policy -> 'onComplete' ->> 'version')::int as version, b.policy -> 'onComplete' -> 'retention' as retention,
        b.complete_job, b.priority, b.completions, b.total, h.succeeded, h.failed, h.skipped, h.cancelled
    ), ${noteBatchStates('ended', now)}, completes as (
      insert into retoma.job (id, queue, kind, ref, state, claim_rank, run_at, input, limited, limit_key, version, retention, created_at)
      select e.complete_job, e.queue, e.kind, e.id::text, 'waiting', e.priority * 2 + 1, ${now},
        jsonb_build_object('batch', e.id::text, 'name', e.name, 'total', e.total, 'succeeded', e.succeeded, 'failed', e.failed,
          'skipped', e.skipped, 'cancelled', e.cancelled, 'end', e.completions),
        coalesce((select limited from retoma.queue where name = e.queue), false), '', e.version, e.retention, ${now}
      from ended e
      where e.complete_job is not null
    )
    select s.id::text as id, e.id is not null as ended, s.total - s.ended as left,
      s.failed > 0 and s.policy -> 'stopAfter' <> 'null' as "mayStop",
      coalesce(s.reason ->> 'code' = 'same_cause', false) as "sameCause", e.queue
    from seen s left join ended e on e.id = s.id`,
}

/** Checks the batches in `ids`. Returns the batches that were open before this call. */
export const finishBatches = (db: Db, ids: readonly string[], now: Date | null): Promise<BatchCheck[]> =>
  db.run<BatchCheck>(finish, [ids, now])

const succeed = {
  name: 'batch_succeed',
  text: `
    with found as materialized (
      select b.id from retoma.batch b cross join lateral (${batchSums('b.id')}) s
      where b.id = $1 and b.state = 'completed_with_failures' and b.cascade is null and s.failed + s.cancelled = 0
    ), ended as (
      update retoma.batch b
      set state = 'succeeded'
      from found f
      where b.id = any (array[f.id]) and b.state = 'completed_with_failures' and b.cascade is null
      returning b.id, 'completed_with_failures' as was, b.state, b.reason
    ), ${noteBatchStates('ended', now)}
    select from ended`,
}

/**
 * Makes a `completed_with_failures` batch `succeeded` if no failed and no cancelled job is left. Called after the commit of a skip: of two people who skip
 * the last two failed jobs at the same time, the later call finds both skips.
 */
export const succeedWithoutFailures = async (db: Db, id: string, now: Date | null): Promise<void> => {
  await db.run(succeed, [id, now])
}

/** A failure percentage of fewer finished items is not meaningful. */
const leastEnded = 20

// Failures that stopped the batch once do not stop the batch again, because a person has resumed the batch.
const stop = {
  name: 'batch_stop',
  text: `
    with seen as materialized (
      select b.id, s.failed, s.ended
      from (select distinct id from unnest((select $1::bigint[])) as g (id) order by id) g
        cross join lateral (
          select id, stop_baseline_failed, stop_baseline_finished, (policy #>> '{stopAfter,failures}')::float8 as failures,
            (policy #>> '{stopAfter,percent}')::float8 as percent
          from retoma.batch where id = g.id and state in ('submitting', 'running')
          offset 0
        ) b
        cross join lateral (${batchSums('b.id')}) s
      where s.failed - b.stop_baseline_failed >= b.failures
        or s.ended - b.stop_baseline_finished >= ${leastEnded} and (s.failed - b.stop_baseline_failed) * 100 >= b.percent * (s.ended - b.stop_baseline_finished)
    ), locked as materialized (
      select b.id, b.state, s.failed, s.ended
      from seen s
        cross join lateral (
          select id, state from retoma.batch
          where id = s.id and state in ('submitting', 'running') and stop_baseline_failed < s.failed and cascade is null
          for update
        ) b
    ), stopped as (
      update retoma.batch b
      set state = 'paused', claims_blocked = true, stopped_at = ${now}, stop_baseline_failed = h.failed, stop_baseline_finished = h.ended, stall_clock_started_at = 'infinity',
        reason = jsonb_build_object('code', 'stop_after', 'failed', h.failed, 'ended', h.ended)
      from locked h
      where b.id = any (array[h.id])
      returning b.id, h.state as was, b.state, b.reason
    ), ${noteBatchStates('stopped', now)}
    select id::text as id from stopped`,
}

/** Pauses the batches with more failures than `stopAfter` allows. Returns the ids. */
export async function stopBatches(db: Db, ids: readonly string[], now: Date | null): Promise<string[]> {
  const rows = await db.run<{ id: string }>(stop, [ids, now])
  return rows.map(row => row.id)
}

const mostSamples = 12

// Writes only if a job has finished since the last sample: an idle batch costs nothing. A locked batch is skipped.
const sample = {
  name: 'batch_throughput_sample',
  text: `
    with seen as materialized (
      select b.id, s.ended
      from unnest((select $1::bigint[])) as g (id)
        cross join lateral (
          select id, throughput_at, throughput_done from retoma.batch
          where id = g.id and state in ('submitting', 'running')
          for update skip locked
        ) b
        cross join lateral (${batchSums('b.id')}) s
      where s.ended <> coalesce(b.throughput_done[cardinality(b.throughput_done)], -1)
        and coalesce(b.throughput_at[cardinality(b.throughput_at)] <= ${now} - interval '3 seconds', true)
    )
    update retoma.batch b
    set throughput_at = b.throughput_at[greatest(cardinality(b.throughput_at) - ${mostSamples - 2}, 1):] || ${now},
      throughput_done = b.throughput_done[greatest(cardinality(b.throughput_done) - ${mostSamples - 2}, 1):] || s.ended
    from seen s
    where b.id = any (array[s.id])`,
}

/** Samples the number of finished jobs, for the throughput of the batches. */
export async function sampleBatches(db: Db, ids: readonly string[], now: Date | null): Promise<void> {
  await db.run(sample, [ids, now])
}

const open = {
  name: 'batch_open',
  text: `
    select b.id::text as id, b.cascade from retoma.batch b
    where (b.finished_at is null or b.cascade is not null) and b.id > $1
    order by b.id
    limit $2`,
}

export interface OpenBatch {
  id: string
  /** The cascade under way; null if there is none. */
  cascade: string | null
}

/** Returns the batches after the id `after` that are open or have a cascade under way. */
export const openBatches = (db: Db, after: string, limit: number): Promise<OpenBatch[]> =>
  db.run<OpenBatch>(open, [after, limit], 8000)
