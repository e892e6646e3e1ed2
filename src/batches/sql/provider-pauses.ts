/**
 * Pauses batches for stopped providers, chooses a job of a batch for each probe, and resumes batches once the provider
 * answers.
 *
 * Invariant: a batch stays paused for a provider only while the provider is stopped and the batch has jobs left; any tick
 * finds and resumes other batches, after any crash. A batch paused by a person keeps its reason, and a finished batch is
 * not changed. Pausing is fenced: only a worker with a lease on a job of the batch may pause. Every statement may run
 * twice, or in twenty processes at once.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { probeEvery } from '../../jobs/model/deferral.ts'
import { defaultPolicy } from '../../jobs/model/policy.ts'
import { noteBatchStates } from '../../jobs/sql/transition.ts'
import { resumedState, unblockClaims } from './batch-actions.ts'
import { batchSums } from './batch-counters.ts'

const tickMs = 8000
const now = nowParameter(1)

/** A job to be released, and the reason to pause its batch. */
export interface ProviderPause {
  id: string
  attempt: number
  /** JSON text. */
  reason: string
}

export interface MovedBatch {
  id: string
  queue: string
}

const isStopped = (name: string) =>
  `exists (select from retoma.provider p where p.name = ${name} and p.stopped_at is not null)`

// If several jobs would pause the same batch, the first job gives the reason. The reason names the job, which makes the
// probe.
const pause = {
  name: 'batch_pause_by_job',
  text: `
    with given as materialized (
      select * from unnest((select $2::bigint[]), (select $3::int[]), (select $4::jsonb[])) as g (id, attempt, reason)
    ), ours as materialized (
      select distinct on (j.batch_id) j.batch_id, g.reason || jsonb_build_object('job', g.id::text) as reason
      from given g join retoma.job j on j.id = any (array[g.id])
      where j.attempt = g.attempt and j.worker_id = $5 and j.batch_id is not null
        and (g.reason ->> 'provider' is null or ${isStopped(`g.reason ->> 'provider'`)})
      order by j.batch_id, g.id
    ), home as materialized (
      select id, state from retoma.batch
      where id = any (array(select batch_id from ours)) and state in ('submitting', 'running')
      order by id
      for update
    ), changed as (
      update retoma.batch b
      set state = 'paused', claims_blocked = true, stopped_at = ${now}, reason = o.reason, throughput_at = '{}', throughput_done = '{}', stall_clock_started_at = 'infinity'
      from home h join ours o on o.batch_id = h.id
      where b.id = any (array[h.id])
      returning b.id, h.state as was, b.state, b.reason, b.queue
    ), ${noteBatchStates('changed', now)}
    select id::text as id, queue from changed`,
}

/** Returns the paused batches. */
export const pauseBatches = (
  db: Db,
  worker: string,
  given: readonly ProviderPause[],
  at: Date | null,
): Promise<MovedBatch[]> => {
  const column = <K extends keyof ProviderPause>(name: K) => given.map(each => each[name])
  return db.run<MovedBatch>(pause, [at, column('id'), column('attempt'), column('reason'), worker])
}

/** The batch has no unfinished item: the last item failed, or a person removed it. */
const hasNothingLeft = `(
  b.submitted_at is not null and b.cascade is null and b.total = (select s.ended from (${batchSums('b.id')}) s)
)`

const resume = {
  name: 'batch_resume_after_probe',
  text: `
    with home as materialized (
      select b.id, b.reason ->> 'provider' as provider, ${hasNothingLeft} as empty from retoma.batch b
      where b.claims_blocked and b.state = 'paused' and b.reason ->> 'code' in ('provider', 'same_cause')
        and (not ${isStopped(`b.reason ->> 'provider'`)} and b.reason ->> 'provider' is not null or ${hasNothingLeft})
      order by b.id
      for update skip locked
    ), changed as (
      update retoma.batch b
      set state = ${resumedState}, claims_blocked = false, resumed_at = ${now}, reason = null
      from home h
      where b.id = any (array[h.id])
      returning b.id, b.queue, 'paused' as was, b.state,
        jsonb_build_object('code', case when h.empty then 'nothing_left' else 'provider_answered' end, 'provider', h.provider) as reason
    ), ${unblockClaims}, ${noteBatchStates('changed', now)}
    select id::text as id, queue from changed`,
}

/** Resumes batches whose provider is no longer stopped, and batches without unfinished items; returns these batches. */
export const resumeBatches = (db: Db, at: Date | null): Promise<MovedBatch[]> =>
  db.run<MovedBatch>(resume, [at], tickMs)

/**
 * Limits for finding a ready job: rows read at the front of each lane (`depth`), rows at the end of the batch (`last`),
 * and batches per provider (`some`).
 */
const depth = 1000
const last = 100
const some = 20

const ofLane = (limited: string) => `
  select l.id, l.claim_rank from (values (b.priority * 2), (b.priority * 2 + 1)) as r (claim_rank)
    cross join lateral (
      select id, claim_rank, batch_id from retoma.job
      where queue = b.queue and claim_rank = r.claim_rank and state = 'waiting' and ${limited} and run_at <= ${now}
      limit ${depth}
    ) l
  where l.batch_id = b.id`

// Ready jobs of the batch `b`: first the job that met the stop, then jobs that returned to `waiting`, then new jobs.
const candidates = `
  select id, -1 as claim_rank from retoma.job
  where id = (b.reason ->> 'job')::bigint and batch_id = b.id and state = 'waiting' and run_at <= ${now}
  union all
  (${ofLane('not limited')} limit 1)
  union all
  (${ofLane('limited')} limit 1)
  union all
  (
    select j.id, 99
    from (select last_id from retoma.batch_chunk where batch_id = b.id order by n desc limit 1) c
      cross join lateral (
        select id, state, run_at from retoma.job where id <= c.last_id and id > c.last_id - ${last} and batch_id = b.id
      ) j
    where j.state = 'waiting' and j.run_at <= ${now}
    limit 1
  )`

// Moves the job to the head of its lane, so that every claim finds the job first. Batches with a live worker come first.
// The next probe goes to another job, of the next batch: perhaps no worker runs the kind any more, or the error belongs
// to the item. A running probe keeps its permission, for any time until its request.
const arm = {
  name: 'provider_permit_probe',
  text: `
    with due as materialized (
      select name, last_probe_job, (select batch_id from retoma.job j where j.id = last_probe_job) as last_batch from retoma.provider
      where stopped_at is not null and probe_at <= ${now} and wait_until <= ${now}
        and (select j.state from retoma.job j where j.id = probe_job) is distinct from 'running'
      order by name
      for update skip locked
    ), chosen as materialized (
      select d.name, c.id, c.queue
      from due d
        cross join lateral (
          select j.id, b.queue
          from (
            select id, queue, priority, reason from retoma.batch
            where claims_blocked and state = 'paused' and reason ->> 'provider' = d.name
              and (select q.paused from retoma.queue q where q.name = batch.queue) is not true
            order by not exists (
                select from retoma.worker w
                where w.dead_at is null and w.heartbeat_at > ${now} - make_interval(secs => ${defaultPolicy.orphanAfter / 1000})
                  and w.queues ? batch.queue and (batch.kind = any (w.kinds) or w.versions ? batch.kind)
              ), id <= coalesce(d.last_batch, 0), id
            limit ${some}
          ) b
            cross join lateral (
              select x.id from (${candidates}) x order by x.id is not distinct from d.last_probe_job, x.claim_rank limit 1
            ) j
          limit 1
        ) c
    ), armed as (
      update retoma.provider p
      set probe_job = c.id, last_probe_job = c.id, probe_at = ${now} + make_interval(secs => ${probeEvery / 1000})
      from chosen c
      where p.name = c.name
    ), moved as (
      update retoma.job j
      set claim_rank = claim_rank & ~1, run_at = ${now}
      where j.id = any (array(select id from chosen)) and j.state = 'waiting'
    )
    select distinct queue from chosen`,
}

/** Permits a probe to a job of each stopped provider that is due; returns the queues of the jobs. */
export async function armProbes(db: Db, at: Date | null): Promise<string[]> {
  const rows = await db.run<{ queue: string }>(arm, [at], tickMs)
  return rows.map(row => row.queue)
}
