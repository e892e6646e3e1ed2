/**
 * Claims the jobs of a queue that has limits for the queue as a whole, and neither limits per group nor fair turns: no job has a limit key, so
 * there is one lane per claim rank. claim-limited.ts can claim such queues too, but its larger plan costs 0.45 ms more per claim (docs/adr/0046-fair-turns.md).
 *
 * Invariant: as in claim-limited.ts, the claim counts each started job in the limit counter of the queue, in the same statement, under the
 * lock of the counter, and waits for no job. A queue whose jobs have keys gives no job.
 */

import { claimShardOf, countStarted } from '../../batches/sql/batch-counters.ts'
import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { freesAt, hitsWithStarts, usedHits } from '../../limits/sql/rate-window-rows.ts'
import { type ClaimedJob, claimedColumns, isClaimable, isTaken, unpackClaimed } from './claim.ts'
import type { LimitedClaim, LimitedClaimRequest } from './claim-limited.ts'

const now = nowParameter(4)
const used = usedHits('g', 'r.per', now)
const hits = hitsWithStarts({ counter: 'g', limits: 'r', starts: 's', now })
const waits = `queue = $1 and job.claim_rank = lane.claim_rank::smallint and limit_key = '' and state = 'waiting' and limited`

// Zero, and not null, for a queue that gives no job: PostgreSQL takes `limit null` for no limit.
const free = `coalesce((select free from whole), 0)`

const claim = {
  name: 'claim_unkeyed',
  text: `
    with rule as materialized (
      select (limits ->> 'concurrency')::int as concurrency,
        (limits #>> '{rate,limit}')::int as rate,
        make_interval(secs => (limits #>> '{rate,per}')::float8 / 1000) as per
      from retoma.queue
      where name = $1 and limited and limit_key_from is null and not paused
        and exists (select from retoma.worker where id = $3 and dead_at is null)
    ), whole as materialized (
      select greatest(least($2::bigint, r.concurrency - g.running, r.rate - ${used}), 0) as free, ${used} as used,
        ${freesAt('g', 'r.per', now)} as frees
      from rule r, retoma.limit_counter g
      where g.queue = $1 and g.group_key = ''
      for update of g
    ), taken as (
      update retoma.job j
      set state = 'running', attempt = attempt + 1, worker_id = $3, started_at = ${now}
      where j.id = any (array(
        select found.id
        from generate_series(0, 19) as lane (claim_rank)
          cross join lateral (
            select id from retoma.job
            where ${waits} and run_at <= ${now} and ${isTaken('$5', '$6')}
              and ${isClaimable}
            order by run_at, id
            limit ${free}
            for update skip locked
          ) found
        limit ${free}
      ))
      returning ${claimedColumns}
    ), ${countStarted('taken', '$7::smallint')}, started as materialized (
      select count(*)::int as n, (select coalesce($4::timestamptz, clock_timestamp())) as at from taken
    ), counted as (
      update retoma.limit_counter g
      set running = g.running + case when r.concurrency is null then 0 else s.n end,
        used_at = ${now},
        hit_at = case when r.rate is null then g.hit_at else (select array_agg(h.at order by h.at) from (${hits}) h) end,
        hit_n = case when r.rate is null then g.hit_n else (select array_agg(h.n order by h.at) from (${hits}) h) end
      from started s cross join rule r
      where g.queue = $1 and g.group_key = '' and s.n > 0
    ), answer as (
      select coalesce(w.free, 0)::int as allowed,
        case when s.n < w.free then (
          select min(later.run_at)
          from generate_series(0, 19) as lane (claim_rank)
            cross join lateral (
              select run_at from retoma.job where ${waits} and run_at > ${now} order by run_at limit 1
            ) later
        ) end as due_at,
        case when w.used + s.n >= r.rate then w.frees end as rate_at
      from started s left join whole w on true left join rule r on true
    )
    select a.allowed,
      extract(epoch from least(a.due_at, a.rate_at) - ${now})::float8 * 1000 as "nextMs",
      extract(epoch from a.rate_at - ${now})::float8 * 1000 as "rateMs", t.*
    from answer a left join taken t on true`,
}

/** A short claim has visited every lane. */
export async function claimUnkeyed(
  db: Db,
  given: Pick<LimitedClaimRequest, 'queue' | 'want' | 'worker' | 'kinds' | 'versions'>,
  now: Date | null,
): Promise<Pick<LimitedClaim, 'claimed' | 'allowed' | 'nextMs' | 'rateMs'>> {
  const { queue, want, worker, kinds, versions = '{}' } = given
  const rows = await db.run<Pick<LimitedClaim, 'allowed' | 'nextMs' | 'rateMs'> & ClaimedJob & { id: string | null }>(
    claim,
    [queue, want, worker, now, kinds, versions, claimShardOf(worker)],
  )
  const { allowed, nextMs, rateMs } = rows[0]!
  return { claimed: rows.filter(row => row.id !== null).map(unpackClaimed), allowed, nextMs, rateMs }
}
