/**
 * Reads and sets the stall clocks of batches: the facts for the verdict (batches/model/batch-stall-verdict.ts) and the start of each clock.
 *
 * Invariant: `stall_clock_started_at` is infinity while the stall clock of a batch is stopped. Only a change of the clock writes `stall_clock_started_at`, by the
 * first process to see the change; a second process finds the value written. An open batch without problems costs no write.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { defaultPolicy } from '../../jobs/model/policy.ts'
import { groupLimits } from '../../jobs/sql/group-limits.ts'
import { inLimitedLane, inOpenLane, leasedByWorker } from '../../jobs/sql/job-floor.ts'
import type { BatchPolicy } from '../model/batch.ts'
import type { BatchStallFacts } from '../model/batch-stall-verdict.ts'
import { batchSums } from './batch-counters.ts'

const tickMs = 8000
const now = nowParameter(1)
const us = (at: string) => `(extract(epoch from ${at}) * 1000000)::bigint::text`
const ms = (age: string) => `(extract(epoch from ${age}) * 1000)::float8`

export interface BatchClock extends BatchStallFacts {
  id: string
  policy: BatchPolicy
  /** End of the last attempt, or creation of the batch, as an exact instant. */
  quietSince: Date
  /** null: the clock is stopped. */
  fromUs: string | null
  progressUs: string | null
}

/**
 * Rows to search for a ready job: `last` rows at the end of the batch, where unstarted jobs are, and `depth` rows at the front of the
 * lanes.
 */
const last = 100
const depth = 1000

// For a job `j` of a batch `t`: other jobs of the group may use all of the group's limit.
const groupHasRoom = `(
  j.limit_key = '' or not exists (
    select from retoma.queue q join retoma.limit_counter g on g.queue = q.name and g.group_key = j.limit_key
    where q.name = t.queue and g.running >= (select l.concurrency from (${groupLimits('q.limits', 'j.limit_key')}) l)
  )
)`

// Free slots come first, per queue: while all workers of a queue are busy, the statement checks nothing else for its batches. A worker
// without a heartbeat thread reports no free slots; its free slots are then all slots minus the running jobs. A queue with a rate limit
// counts as having no room, because the limit decides whether a job can start; while a worker lives, only running jobs keep the stall
// clock on. While the provider that deferred an item of the batch last waits, no job of the batch counts as ready: a started job would only
// be deferred. A wait of another provider of the same kind does not matter.
const clocks = {
  name: 'batch_stall_clock',
  text: `
    with live as materialized (
      select id, queues, kinds, versions, free_slots from retoma.worker
      where dead_at is null and heartbeat_at > ${now} - make_interval(secs => ${defaultPolicy.orphanAfter / 1000})
    ), watch as materialized (
      select case when isfinite(since) then since else ${now} end as since from retoma.periodic_lease where name = 'watchdog'
    ), open as materialized (
      select b.id, b.kind, b.queue, b.priority, b.policy, b.total, b.chunks, b.deferred_by, b.stall_clock_started_at, b.created_at
      from unnest((select $2::bigint[])) as g (id)
        cross join lateral (
          select * from retoma.batch
          where id = g.id and state in ('submitting', 'running') and cascade is null and policy ->> 'stallAfter' is not null
          offset 0
        ) b
    ), place as materialized (
      select o.queue, o.kind, coalesce((select q.paused from retoma.queue q where q.name = o.queue), false) as paused,
        not coalesce((select q.limited and q.limits::text like '%"rate"%' from retoma.queue q where q.name = o.queue), false)
        and exists (
          select from live w
          where w.queues ? o.queue and (o.kind = any (w.kinds) or w.versions ? o.kind)
            and case
              when w.free_slots <> '{}' then coalesce((w.free_slots ->> o.queue)::int, 0) > 0
              else (w.queues ->> o.queue)::int > (
                select count(*) from (select queue from retoma.job where ${leasedByWorker('w.id')}) j where j.queue = o.queue
              )
            end
        )
        and coalesce((
          select coalesce(g.running, 0) < (q.limits ->> 'concurrency')::int
          from retoma.queue q left join retoma.limit_counter g on g.queue = q.name and g.group_key = ''
          where q.name = o.queue and q.limits ? 'concurrency'
        ), true) as room
      from (select distinct queue, kind from open) o
    ), batch_facts as (
      select o.*, s.running, s.stalled, o.total - s.ended as left, p.room and not p.paused as room, p.paused, exists (select from live) as anybody,
        (select max(progress_at) from retoma.batch_count c where c.batch_id = o.id) as progress_at,
        exists (select from retoma.provider v where v.wait_until > ${now} and v.name = o.deferred_by) as waits
      from open o
        join place p on p.queue = o.queue and p.kind = o.kind
        cross join lateral (${batchSums('o.id')}) s
    )
    select t.id::text as id, t.policy, t.running, t.stalled, t.left, t.room, t.anybody,
      case
        when t.running > 0 or t.left <= t.stalled or t.paused or t.waits or t.anybody and not t.room then false
        else exists (
          select from (
            select j.state, j.run_at, j.limit_key
            from (select last_id from retoma.batch_chunk where batch_id = t.id order by n desc limit 1) c
              cross join lateral (
                select state, run_at, limit_key from retoma.job where id <= c.last_id and id > c.last_id - ${last} and batch_id = t.id
              ) j
          ) j where state = 'waiting' and run_at <= ${now} and ${groupHasRoom}
        ) or exists (
          select from (values (t.priority * 2), (t.priority * 2 + 1)) as r (claim_rank)
            cross join lateral (
              select batch_id from retoma.job
              where ${inOpenLane('t.queue', 'r.claim_rank::smallint')} and run_at <= ${now}
              order by run_at, id
              limit ${depth}
            ) j
          where j.batch_id = t.id
        ) or exists (
          select from (values (t.priority * 2), (t.priority * 2 + 1)) as r (claim_rank)
            cross join lateral (
              select batch_id, limit_key from retoma.job
              where ${inLimitedLane('t.queue', 'r.claim_rank::smallint')} and run_at <= ${now}
              order by run_at
              limit ${depth}
            ) j
          where j.batch_id = t.id and ${groupHasRoom}
        )
      end as ready,
      greatest(t.progress_at, t.created_at) as "quietSince",
      ${ms(`${now} - greatest(t.progress_at, t.created_at)`)} as "quietMs",
      case when t.stall_clock_started_at <> 'infinity' then ${ms(`${now} - t.stall_clock_started_at`)} end as "ranMs",
      case when t.stall_clock_started_at <> 'infinity' then ${us('t.stall_clock_started_at')} end as "fromUs",
      ${us('t.progress_at')} as "progressUs",
      (select ${ms(`${now} - since`)} from watch) as "watchedMs"
    from batch_facts t
    order by t.id`,
}

/** Reads the clocks of the batches in `ids` that are `submitting` or `running` and have a `stallAfter`. */
export const readBatchClocks = (db: Db, ids: readonly string[], now: Date | null): Promise<BatchClock[]> =>
  db.run<BatchClock>(clocks, [now, ids], tickMs)

const set = {
  name: 'batch_stall_clock_set',
  text: `
    update retoma.batch b
    set stall_clock_started_at = case when b.id = any ($2::bigint[]) then ${now} else 'infinity' end
    where b.id = any (array(
      select id from retoma.batch
      where id = any ($2::bigint[] || $3::bigint[])
        and case when id = any ($2::bigint[]) then stall_clock_started_at = 'infinity' and state in ('submitting', 'running') else stall_clock_started_at <> 'infinity' end
      order by id
      for update skip locked
    ))`,
}

/** Starts the clocks of the batches in `run` and stops the clocks of the batches in `stand`. */
export async function setBatchClocks(
  db: Db,
  run: readonly string[],
  stand: readonly string[],
  now: Date | null,
): Promise<void> {
  if (run.length + stand.length > 0) await db.run(set, [now, run, stand], tickMs)
}
