/**
 * Batches and the providers they wait for: a batch is paused because its provider has stopped, one of its jobs asks again now
 * and then, and it goes on once the provider does not stand any more.
 *
 * Invariant: a batch is paused for a provider only as long as that one is stopped and the batch has jobs left: whoever ticks finds
 * one that is not, and has it go on, whatever happened in between. A batch that a person paused keeps that reason, and one that is over is left. Pausing is
 * fenced: only who holds a job of it may. All of it may be done twice, or by twenty at once.
 */
import { probeEvery } from '../core/hand-back.ts'
import { defaultPolicy } from '../core/policy.ts'
import { goesOn, unheld } from './batch-control.ts'
import { sumsOf } from './batch-count.ts'
import type { Db } from './db.ts'
import { noteBatchStates } from './event.ts'

const tickMs = 8000
const now = `coalesce($1::timestamptz, now())`

/** A job whose attempt is handed back, and why its batch must stand still. */
export interface Pausing {
  id: string
  attempt: number
  /** As JSON text. */
  reason: string
}

export interface MovedBatch {
  id: string
  queue: string
}

const isStopped = (name: string) =>
  `exists (select from retoma.provider p where p.name = ${name} and p.stopped_at is not null)`

// Of a batch that several would pause, the first of them says why. The job that met it is noted: it is the one to ask again.
const pause = {
  name: 'batch_pause_itself',
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
    ), pressed as (
      update retoma.batch b
      set state = 'paused', held = true, reason = o.reason, sample_at = '{}', sample_done = '{}', stall_from = 'infinity'
      from home h join ours o on o.batch_id = h.id
      where b.id = any (array[h.id])
      returning b.id, h.state as was, b.state, b.reason, b.queue
    ), ${noteBatchStates('pressed', now)}
    select id::text as id, queue from pressed`,
}

/** Answers those that it paused. */
export const pauseBatches = (
  db: Db,
  worker: string,
  given: readonly Pausing[],
  at: Date | null,
): Promise<MovedBatch[]> => {
  const column = <K extends keyof Pausing>(name: K) => given.map(each => each[name])
  return db.run<MovedBatch>(pause, [at, column('id'), column('attempt'), column('reason'), worker])
}

/** The last that was to ask has failed, or a person took it out. */
const hasNothingLeft = `(
  b.submitted_at is not null and b.todo is null and b.total = (select s.ended from (${sumsOf('b.id')}) s)
)`

const goOn = {
  name: 'batch_goes_on',
  text: `
    with home as materialized (
      select b.id, b.reason ->> 'provider' as provider, ${hasNothingLeft} as empty from retoma.batch b
      where b.held and b.state = 'paused' and b.reason ->> 'code' in ('provider', 'same_cause')
        and (not ${isStopped(`b.reason ->> 'provider'`)} and b.reason ->> 'provider' is not null or ${hasNothingLeft})
      order by b.id
      for update skip locked
    ), pressed as (
      update retoma.batch b
      set state = ${goesOn}, held = false, reason = null
      from home h
      where b.id = any (array[h.id])
      returning b.id, b.queue, 'paused' as was, b.state,
        jsonb_build_object('code', case when h.empty then 'nothing_left' else 'provider_answered' end, 'provider', h.provider) as reason
    ), ${unheld}, ${noteBatchStates('pressed', now)}
    select id::text as id, queue from pressed`,
}

/** Batches whose provider does not stand any more, or that have nothing to wait for it with, go on; answers them. */
export const letBatchesGoOn = (db: Db, at: Date | null): Promise<MovedBatch[]> => db.run<MovedBatch>(goOn, [at], tickMs)

/** Rows that are looked at for one that is ready: in front of its lanes, and at its end; and batches, for one that has such a job. */
const depth = 1000
const last = 100
const some = 20

const ofLane = (gated: string) => `
  select l.id, l.rank from (values (b.priority * 2), (b.priority * 2 + 1)) as r (rank)
    cross join lateral (
      select id, rank, batch_id from retoma.job
      where queue = b.queue and rank = r.rank and state = 'waiting' and ${gated} and run_at <= ${now}
      limit ${depth}
    ) l
  where l.batch_id = b.id`

// Of a batch b, one that is ready: first the job that met it; what came back before what is new.
const candidates = `
  select id, -1 as rank from retoma.job
  where id = (b.reason ->> 'job')::bigint and batch_id = b.id and state = 'waiting' and run_at <= ${now}
  union all
  (${ofLane('not gated')} limit 1)
  union all
  (${ofLane('gated')} limit 1)
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

// It comes to the head of what waits, so that no claim passes it by. Where somebody works, first of all. The next pass goes to
// another job, of the next batch: nobody may run that kind any more, or it may be that item's own trouble that it meets. Whoever has
// begun with it keeps it, however long it takes until it asks.
const arm = {
  name: 'provider_arm',
  text: `
    with due as materialized (
      select name, probe_last, (select batch_id from retoma.job j where j.id = probe_last) as last_batch from retoma.provider
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
            where held and state = 'paused' and reason ->> 'provider' = d.name
              and (select q.paused from retoma.queue q where q.name = batch.queue) is not true
            order by not exists (
                select from retoma.worker w
                where w.dead_at is null and w.beat_at > ${now} - make_interval(secs => ${defaultPolicy.orphanAfter / 1000})
                  and w.queues ? batch.queue and (batch.kind = any (w.kinds) or w.versions ? batch.kind)
              ), id <= coalesce(d.last_batch, 0), id
            limit ${some}
          ) b
            cross join lateral (
              select x.id from (${candidates}) x order by x.id is not distinct from d.probe_last, x.rank limit 1
            ) j
          limit 1
        ) c
    ), armed as (
      update retoma.provider p
      set probe_job = c.id, probe_last = c.id, probe_at = ${now} + make_interval(secs => ${probeEvery / 1000})
      from chosen c
      where p.name = c.name
    ), moved as (
      update retoma.job j
      set rank = rank & ~1, run_at = ${now}
      where j.id = any (array(select id from chosen)) and j.state = 'waiting'
    )
    select distinct queue from chosen`,
}

/** Gives a job of each provider that may be asked again the pass to do so; answers the queues they are in. */
export async function armProbes(db: Db, at: Date | null): Promise<string[]> {
  const rows = await db.run<{ queue: string }>(arm, [at], tickMs)
  return rows.map(row => row.queue)
}
