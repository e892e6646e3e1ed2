/**
 * Claims limited jobs, key by key in turn: the statement visits the lanes (limit_key, rank) with waiting jobs, one index probe per lane,
 * and continues from the lane where this worker stopped.
 *
 * Invariant: the claim counts each started job in every limit counter of the job, in the same statement, under the lock of the counter
 * and against the newest version of its row. Limit counters are locked in the order of the keys, the counter of the queue ('') first, and
 * the claim waits for no job. Claims and settles cannot deadlock.
 */

import { claimShardOf, countStarted } from '../../batches/sql/batch-counters.ts'
import type { Db } from '../../database/db.ts'
import type { ClaimableKinds } from '../../jobs/model/kind-version.ts'
import { countedHits, notedAt } from '../../limits/sql/rate-window-rows.ts'
import { type ClaimedJob, claimedColumns, isClaimable, isTaken, unpackClaimed } from './claim.ts'

/** A position among the lanes; the lanes after this position come next. */
export interface ClaimTurn {
  key: string
  claim_rank: number
}

export interface LimitedClaim {
  claimed: ClaimedJob[]
  /** Number of visited lanes. If fewer than requested, no lane is left. */
  lanes: number
  /** The last visited lane. */
  last: ClaimTurn | null
  /** Keys without a limit counter. */
  missing: string[]
  /** Number of jobs the limit of the whole queue allowed. */
  allowed: number
  /** Milliseconds until a job is due or a rate limit allows the next start; null if nothing waits for an instant. */
  nextMs: number | null
}

export const firstTurn: ClaimTurn = { key: '', claim_rank: -1 }
/** Returns the position after every lane of a key. */
export const claimTurnAfter = (key: string): ClaimTurn => ({ key, claim_rank: 32_767 })

const now = `coalesce($8::timestamptz, now())`
/** Hits that a rate window still counts, and the instant at which the first of these hits expires. */
const counts = (per: string) => countedHits('g', per, now)
const used = (per: string) => `(select coalesce(sum(h.n), 0) from ${counts(per)})`
const frees = (per: string) => `coalesce((select min(h.at) from ${counts(per)}), ${now}) + ${per}`
const nextLane = (after: string) => `
  select j.limit_key, j.claim_rank, j.run_at
  from retoma.job j
  where j.queue = $1 and j.state = 'waiting' and j.limited and (j.limit_key, j.claim_rank) > ${after}
  order by j.limit_key, j.claim_rank, j.run_at, j.id
  limit 1`

// The new hits of a limit counter with a rate. The instant is read behind the lock, which the claim may have waited for, and never goes
// back.
const hits = `
  select u.at, sum(u.n)::int as n
  from (
    select h.at, h.n from ${counts('l.per')}
    union all
    select greatest(${notedAt('t.at', 'l.rate', 'l.per')},
        (select max(h.at) from ${counts('l.per')})
      ), s.n
    from (select s.at) t
  ) u
  group by u.at`

// Limit counters are looked up one by one: a join would read all counters while the planner takes the table for small.
const claim = {
  name: 'claim_limited',
  text: `
    with recursive rule as materialized (
      select (limits ->> 'concurrency')::int as concurrency,
        (limits #>> '{rate,limit}')::int as rate,
        make_interval(secs => (limits #>> '{rate,per}')::float8 / 1000) as per,
        (limits #>> '{perGroup,concurrency}')::int as group_concurrency,
        (limits #>> '{perGroup,rate,limit}')::int as group_rate,
        make_interval(secs => (limits #>> '{perGroup,rate,per}')::float8 / 1000) as group_per
      from retoma.queue
      where name = $1 and limited and not paused
        and exists (select from retoma.worker where id = $3 and dead_at is null)
    ), whole as materialized (
      select least($2::bigint, r.concurrency - g.running, r.rate - ${used('r.per')}) as free, ${used('r.per')} as used, ${frees('r.per')} as frees
      from rule r, retoma.limit_counter g
      where g.queue = $1 and g.group_key = '' and coalesce(r.concurrency, r.rate) is not null
      for update of g
    ), allowed as materialized (
      select greatest(case when coalesce(r.concurrency, r.rate) is null then $2::bigint else coalesce((select free from whole), 0) end, 0) as n
      from rule r
    ), walk as (
      select lane.*, 1 as n from (${nextLane('($4::text, $5::smallint)')}) lane where (select n from allowed) > 0
      union all
      select lane.*, w.n + 1 from walk w cross join lateral (${nextLane('(w.limit_key, w.claim_rank)')}) lane where w.n < $6
    ), ripe as materialized (
      select limit_key, array_agg(claim_rank order by claim_rank) as ranks from walk where run_at <= ${now} group by 1 order by 1
    ), picked as materialized (
      select job.id
      from ripe k
        cross join rule r
        cross join lateral (
          select s.free from (
            select least(r.group_concurrency - g.running, r.group_rate - ${used('r.group_per')}) as free
            from retoma.limit_counter g
            where g.queue = $1 and g.group_key = k.limit_key and k.limit_key <> '' and coalesce(r.group_concurrency, r.group_rate) is not null
              and coalesce(g.running < r.group_concurrency, true) and coalesce(${used('r.group_per')} < r.group_rate, true)
            for update of g
          ) s
          union all select $2::bigint where k.limit_key = '' or coalesce(r.group_concurrency, r.group_rate) is null
        ) gate
        cross join lateral (
          select found.id
          from unnest(k.ranks) as lane (claim_rank)
            cross join lateral (
              select id from retoma.job
              where queue = $1 and limit_key = k.limit_key and claim_rank = lane.claim_rank and state = 'waiting' and limited
                and run_at <= ${now} and ${isTaken('$7', '$9')}
                and ${isClaimable}
              order by run_at, id
              limit greatest(gate.free, 0)
              for update skip locked
            ) found
          limit greatest(gate.free, 0)
        ) job
      limit (select n from allowed)
    ), taken as (
      update retoma.job j
      set state = 'running', attempt = attempt + 1, worker_id = $3, started_at = ${now}
      where j.id = any (array(select id from picked))
      returning ${claimedColumns}
    ), ${countStarted('taken', '$10::smallint')}, started as materialized (
      select $1::text as queue, key, n, (select coalesce($8::timestamptz, clock_timestamp())) as at
      from (
        select limit_key as key, count(*)::int as n from taken where limit_key <> '' group by 1
        union all
        select '', count(*)::int from taken having count(*) > 0
      ) k
    ), counted as (
      update retoma.limit_counter g
      set running = g.running + case when l.concurrency is null then 0 else s.n end,
        used_at = ${now},
        hit_at = case when l.rate is null then g.hit_at else (select array_agg(h.at order by h.at) from (${hits}) h) end,
        hit_n = case when l.rate is null then g.hit_n else (select array_agg(h.n order by h.at) from (${hits}) h) end
      from started s
        cross join rule r
        cross join lateral (
          select r.concurrency, r.rate, r.per where s.key = '' and coalesce(r.concurrency, r.rate) is not null
          union all
          select r.group_concurrency, r.group_rate, r.group_per where s.key <> '' and coalesce(r.group_concurrency, r.group_rate) is not null
        ) l
      where g.queue = any (array[s.queue]) and g.group_key = any (array[s.key])
    ), walked as (
      select count(*)::int as lanes,
        (select to_jsonb(w) from (select limit_key as key, claim_rank from walk order by n desc limit 1) w) as last,
        (select coalesce(array_agg(k.limit_key), '{}') from ripe k, rule r
          where k.limit_key <> '' and coalesce(r.group_concurrency, r.group_rate) is not null
            and (select true from retoma.limit_counter g where g.queue = $1 and g.group_key = k.limit_key) is null) as missing,
        coalesce((select n from allowed), 0)::int as allowed,
        extract(epoch from least(
          min(run_at) filter (where run_at > ${now}),
          (select w.frees from whole w, rule r where w.used + (select count(*) from taken) >= r.rate),
          (select min((
              select ${frees('r.group_per')} from retoma.limit_counter g
              where g.queue = $1 and g.group_key = k.limit_key
                and ${used('r.group_per')} + coalesce((select s.n from started s where s.key = k.limit_key), 0) >= r.group_rate
            ))
            from rule r, ripe k where r.group_rate is not null and k.limit_key <> '')
        ) - ${now})::float8 * 1000 as "nextMs"
      from walk
    )
    select w.lanes, w.last, w.missing, w.allowed, w."nextMs", t.* from walked w left join taken t on true`,
}

export async function claimLimited(
  db: Db,
  given: { queue: string; want: number; worker: string; from: ClaimTurn; lanes: number } & ClaimableKinds,
  now: Date | null,
): Promise<LimitedClaim> {
  const { queue, want, worker, kinds, versions = '{}', from, lanes } = given
  const values = [queue, want, worker, from.key, from.claim_rank, lanes, kinds, now, versions, claimShardOf(worker)]
  const rows = await db.run<Omit<LimitedClaim, 'claimed'> & ClaimedJob & { id: string | null }>(claim, values)
  const { lanes: seen, last, missing, allowed, nextMs } = rows[0]!
  return {
    claimed: rows.filter(row => row.id !== null).map(unpackClaimed),
    lanes: seen,
    last,
    missing,
    allowed,
    nextMs,
  }
}
