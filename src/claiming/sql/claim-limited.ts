/**
 * Claims the jobs of queues with limits or with fair turns (claim-unkeyed.ts is for queues without keys). A lane is a priority and a limit key: the group or the batch of the job, or ''.
 * The statement visits the lanes with waiting jobs, two index probes per lane: the lowest priority number first, and within a priority
 * the keys in turn, from the key where this worker stopped.
 *
 * Invariant: the claim counts each started job in every limit counter of the job, in the same statement, under the lock of the counter
 * and against the newest version of its row. Limit counters are locked in the order of the keys, the counter of the queue ('') first, and
 * the claim waits for no job. Claims and settles cannot deadlock. No job of a lane starts while a visited lane of a better priority has a
 * job that this worker may start (docs/adr/0046-fair-turns.md).
 */

import { claimShardOf, countStarted } from '../../batches/sql/batch-counters.ts'
import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import type { ClaimableKinds } from '../../jobs/model/kind-version.ts'
import { groupLimits } from '../../jobs/sql/group-limits.ts'
import { freesAt, hitsWithStarts, usedHits } from '../../limits/sql/rate-window-rows.ts'
import { type ClaimedJob, claimedColumns, isClaimable, isTaken, unpackClaimed } from './claim.ts'

/** A position among the lanes of a queue: the first key from `low` on comes next. */
export interface LanePosition {
  priority: number
  low: string
  /** The visit of this priority has passed the last key and continues with the first key. */
  wrapped: boolean
}

/** The position before every lane. */
export const beforeLanes: LanePosition = { priority: -1, low: '', wrapped: true }

/** The next turn within a priority: the first key from `key` on. If `key` itself has not used its whole turn, `left` jobs are left. */
export interface ClaimTurn {
  key: string
  left: number
}

export interface LimitedClaim {
  claimed: ClaimedJob[]
  /** The last visited lane; null: no lane is left. */
  last: LanePosition | null
  /** The lane of the last turn, and the number of jobs that the lane may still start in this turn. */
  turn: { priority: number; key: string; left: number } | null
  /** Keys without a limit counter. The claim took no job after the first of them. */
  missing: string[]
  /** Number of jobs the limit of the whole queue allowed. */
  allowed: number
  /** Milliseconds until a job is due or a rate limit allows the next start; null if nothing waits for an instant. */
  nextMs: number | null
  /** Milliseconds until a used-up rate allows the next start, of the queue or of a visited lane with a due job; null if no rate is used up. */
  rateMs: number | null
}

const now = nowParameter(4)
const used = (per: string) => usedHits('g', per, now)
const frees = (per: string) => freesAt('g', per, now)
const isFull = (of: string) =>
  `(coalesce(g.running >= ${of}.concurrency, false) or case when ${of}.rate is null then false else ${used(`${of}.per`)} >= ${of}.rate end)`

const waits = `j.queue = $1 and j.state = 'waiting' and j.limited`
const turnKey = (priority: string) => `coalesce(($8::text[])[${priority} + 1], '')`

// The next lane: the first key from `low` on; or, after the last key, the first of the keys before the key of the turn; or else the next
// priority, as a row without a key. The bound `high` is compared outside of the probe: inside, the probe would read on to the end of the
// lanes. `limit 1` outside: PostgreSQL tries a way only if the ways before gave no row. A key has two lanes in the index, because jobs
// that come back have a claim rank of their own.
const nextLane = `
  select * from (
    select w.priority, k.key, k.key || chr(1) as low, way.wrapped, k.run_at, k.due_at
    from (
        values (w.low, case when w.wrapped then ${turnKey('w.priority')} end, w.wrapped),
          ('', case when w.wrapped then '' else ${turnKey('w.priority')} end, true)
      ) as way (low, high, wrapped)
      cross join lateral (
        select head.limit_key as key, min(head.run_at) as run_at, min(head.run_at) filter (where head.run_at > ${now}) as due_at
        from (values (0), (1)) as r (fresh)
          cross join lateral (
            select j.limit_key, j.run_at from retoma.job j
            where ${waits} and j.claim_rank = (w.priority * 2 + r.fresh)::smallint and j.limit_key >= way.low
            order by j.limit_key, j.run_at, j.id
            limit 1
          ) head
        group by head.limit_key
        order by head.limit_key
        limit 1
      ) k
    where way.high is null or k.key < way.high
    union all
    select p.priority, null, ${turnKey('p.priority')}, false, null, null
    from (
        select (j.claim_rank / 2)::int as priority from retoma.job j
        where ${waits} and j.claim_rank >= ((w.priority + 1) * 2)::smallint
        order by j.claim_rank
        limit 1
      ) p
  ) way
  limit 1`

// While jobs move to the keys of their groups, a job under its earlier key waits: under this key the limit of its group does not hold.
const hasItsKey = `((select not moving from rule) or limit_key = coalesce(group_key, ''))`

/** The jobs of the lane `s` that may start now, in order: first the jobs that come back. */
const startable = (columns: string, lock: string, limit: string) => `
  select found.* from (values (0), (1)) as r (fresh)
    cross join lateral (
      select ${columns} from retoma.job
      where queue = $1 and limit_key = s.key and claim_rank = (s.priority * 2 + r.fresh)::smallint and state = 'waiting' and limited
        and run_at <= ${now} and ${isTaken('$9', '$10')}
        and ${isClaimable} and ${hasItsKey}
      order by run_at, id
      limit ${limit}
      ${lock}
    ) found`

const hits = hitsWithStarts({ counter: 'g', limits: 'l', starts: 's', now })

// A lane takes part if its first job is due, its limit counter is not full, and its batch is not blocked: about as many lanes as jobs are
// wanted, because the claim locks their limit counters.
//
// In the first pass the lanes of a priority share the places in rounds: in a round each lane starts as many jobs as its weight. A lane that
// has not used its whole turn of the last claim starts the rest first, and is the last lane of each round. `left_over` is the rest of a turn
// in which the places end. The second pass gives the places that short lanes left unused; the next claim then begins after the last lane
// that took such places. If a limited key takes part with two priorities, the jobs of the better priority count first.
//
// A lane without a limit counter ends the claim: the caller adds the counter and claims again, so that no job behind this lane starts
// first. Limit counters are looked up one by one: a join would read all counters while the planner takes the table for small.
const taking = `greatest((select n from allowed), $11::int / 4)`
const claim = {
  name: 'claim_limited',
  text: `
    with recursive rule as materialized (
      select (limits ->> 'concurrency')::int as concurrency,
        (limits #>> '{rate,limit}')::int as rate,
        make_interval(secs => (limits #>> '{rate,per}')::float8 / 1000) as per,
        limits, limits ->> 'fair' = 'batch' as by_batch,
        keys_changed_at is not null and limit_key_from is not distinct from 'group' and limits ? 'perGroup' as moving
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
      select $5::int as priority, null::text collate "C" as key, $6::text collate "C" as low, $7::bool as wrapped,
        null::timestamptz as run_at, null::timestamptz as due_at, 0 as n
      where (select n from allowed) > 0
      union all
      select lane.*, w.n + (lane.key is not null)::int from walk w cross join lateral (${nextLane}) lane where w.n < $11::int
    ), lane as materialized (
      select w.*, l.concurrency, l.rate, l.per
      from walk w
        cross join rule r
        cross join lateral (${groupLimits('r.limits', 'w.key')}) l
      where w.key is not null
    ), ripe as materialized (
      select l.*, coalesce(l.concurrency, l.rate) is not null as limited,
        coalesce(l.concurrency, l.rate) is not null and g.is_full is null as uncounted
      from lane l
        cross join rule r
        left join lateral (
          select ${isFull('l')} as is_full from retoma.limit_counter g
          where g.queue = $1 and g.group_key = l.key and coalesce(l.concurrency, l.rate) is not null
        ) g on true
      where l.run_at <= ${now}
        and (
          not coalesce(r.by_batch, false) or l.key <> all (array(select id::text from retoma.batch where claims_blocked))
          or l.key = any (array(
            select (select batch_id::text from retoma.job where id = p.probe_job) from retoma.provider p where p.probe_job is not null
          ))
        )
        and not coalesce(g.is_full, false)
      order by l.n
      limit ${taking}
    ), limited_key as materialized (
      select distinct key, concurrency, rate, per from ripe where limited and not uncounted order by key
    ), counter as materialized (
      select k.key, g.free
      from limited_key k
        cross join lateral (
          select least(k.concurrency - g.running, case when k.rate is not null then k.rate - ${used('k.per')} end) as free
          from retoma.limit_counter g
          where g.queue = $1 and g.group_key = k.key and not (${isFull('k')})
          for update of g
        ) g
    ), weighted as materialized (
      select l.n, l.priority, l.key, l.limited,
        coalesce(case when r.by_batch then (
            select coalesce((b.policy ->> 'weight')::int, (r.limits #>> array['weights', b.name])::int)
            from retoma.batch b where b.id = case when l.key ~ '^[0-9]{1,18}$' then l.key::bigint end
          ) else (r.limits #>> array['weights', l.key])::int end, 1) as weight
      from ripe l cross join rule r
      where l.n < all (array(select n from ripe where uncounted))
    ), round as materialized (
      select s.n, s.priority, s.key, s.limited, s.weight, u.unused, a.n as places,
        sum(s.weight) over p as weights,
        sum(s.weight) over (p order by u.unused > 0, s.n) - s.weight as before,
        greatest(a.n - max(u.unused) over p, 0) as fresh
      from weighted s
        cross join allowed a
        cross join lateral (
          select case when s.key = ${turnKey('s.priority')} then coalesce(($12::int[])[s.priority + 1], 0) else 0 end as unused
        ) u
      window p as (partition by s.priority)
    ), share as materialized (
      select s.n, s.priority, s.key, s.limited,
        (least(s.unused, s.places) + s.weight * (s.fresh / s.weights) + least(greatest(r.cut - s.before, 0), s.weight))::int as turn,
        case when s.unused > s.places then s.unused - s.places
          when r.cut > s.before and r.cut < s.before + s.weight then s.before + s.weight - r.cut else 0 end as left_over,
        case when r.cut = 0 then s.before + s.weight = s.weights else r.cut > s.before and r.cut <= s.before + s.weight end as is_last
      from round s cross join lateral (select s.fresh % s.weights as cut) r
    ), pass as materialized (
      select s.n, s.priority, s.key, f.free, p.n as pass,
        case p.n when 1 then 0 else s.turn end as skip,
        greatest(case p.n when 1 then least(s.turn, f.free) else f.free - s.turn end, 0) as most
      from share s
        cross join lateral (
          select c.free - case when exists (select from share e where e.key = s.key and e.n < s.n) then (
              select count(*) from share e cross join lateral (
                select from (select e.priority, e.key) s cross join lateral (${startable('id', '', 'c.free')} limit c.free) j
              ) x
              where e.key = s.key and e.n < s.n
            ) else 0 end as free
          from counter c where s.limited and c.key = s.key
          union all
          select (select n from allowed) where not s.limited
        ) f
        cross join (values (1), (2)) as p (n)
      where p.n = 1 or s.turn < least(f.free, (select n from allowed))
      order by s.priority, p.n, s.n
    ), picked as materialized (
      select job.id
      from pass s
        cross join lateral (
          ${startable('id', 'for update skip locked', 's.skip + s.most')}
          offset s.skip
          limit s.most
        ) job
      limit (select n from allowed)
    ), taken as (
      update retoma.job j
      set state = 'running', attempt = attempt + 1, worker_id = $3, started_at = ${now}
      where j.id = any (array(select id from picked))
      returning ${claimedColumns}
    ), ${countStarted('taken', '$13::smallint')}, started as materialized (
      select $1::text as queue, key, n, (select coalesce($4::timestamptz, clock_timestamp())) as at
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
          select r.concurrency, r.rate, r.per where s.key = ''
          union all
          select e.* from (${groupLimits('r.limits', 's.key')}) e where s.key <> ''
        ) l
      where coalesce(l.concurrency, l.rate) is not null and g.queue = any (array[s.queue]) and g.group_key = any (array[s.key])
    ), walked as (
      select (
          select jsonb_build_object('priority', l.priority, 'low', l.low, 'wrapped', l.wrapped)
          from (select count(*) >= ${taking} as cut, max(n) as n from ripe) t
            join lane l on l.n = case when t.cut then t.n else $11::int end
        ) as last,
        (
          select jsonb_build_object('priority', s.priority, 'key', s.key,
            'left', case when s.started > s.turn then 0 when s.whole then s.left_over else greatest(s.turn - s.started, 0) end)
          from (
            select s.*, t.n as started, bool_and(t.n = s.turn) over (partition by s.priority) as whole
            from share s
              cross join lateral (
                select count(*)::int as n from taken t where t.limit_key = s.key and t.claim_rank / 2 = s.priority
              ) t
          ) s
          where case when s.whole then s.is_last else s.started > 0 end
          order by s.started > s.turn desc, s.n desc
          limit 1
        ) as turn,
        (select coalesce(array_agg(distinct key), '{}') from ripe where uncounted) as missing,
        coalesce((select n from allowed), 0)::int as allowed,
        min(l.due_at) as due_at,
        least(
          (select w.frees from whole w, rule r where w.used + (select count(*) from taken) >= r.rate),
          min((
              select ${frees('l.per')} from retoma.limit_counter g
              where g.queue = $1 and g.group_key = l.key
                and ${used('l.per')} + coalesce((select s.n from started s where s.key = l.key), 0) >= l.rate
            )) filter (where l.run_at <= ${now} and l.rate is not null and l.key <> '')
        ) as rate_at
      from lane l
    )
    select w.last, w.turn, w.missing, w.allowed,
      extract(epoch from least(w.due_at, w.rate_at) - ${now})::float8 * 1000 as "nextMs",
      extract(epoch from w.rate_at - ${now})::float8 * 1000 as "rateMs", t.*
    from walked w left join taken t on true`,
}

export interface LimitedClaimRequest extends ClaimableKinds {
  queue: string
  want: number
  worker: string
  /** The visit continues here; default: before the first lane. */
  after?: LanePosition
  /** The next turn of each priority; default: the first key. */
  turns?: readonly ClaimTurn[]
  /** Number of lanes to visit at most. */
  lanes: number
}

export async function claimLimited(db: Db, given: LimitedClaimRequest, now: Date | null): Promise<LimitedClaim> {
  const { queue, want, worker, kinds, versions = '{}', after = beforeLanes, turns = [], lanes } = given
  const rows = await db.run<Omit<LimitedClaim, 'claimed'> & ClaimedJob & { id: string | null }>(claim, [
    queue,
    want,
    worker,
    now,
    after.priority,
    after.low,
    after.wrapped,
    turns.map(turn => turn.key),
    kinds,
    versions,
    lanes,
    turns.map(turn => turn.left),
    claimShardOf(worker),
  ])
  const { last, turn, missing, allowed, nextMs, rateMs } = rows[0]!
  return {
    claimed: rows.filter(row => row.id !== null).map(unpackClaimed),
    last,
    turn,
    missing,
    allowed,
    nextMs,
    rateMs,
  }
}

// The claim visits no lane while the rate of the queue is used up, so its answer does not say whether a job is ready. `id > 0` selects the
// index by time.
const ready = {
  name: 'claim_limited_ready',
  text: `
    select exists (
      select from generate_series(0, 19) as r (claim_rank)
        cross join lateral (
          select from retoma.job
          where queue = $1 and job.claim_rank = r.claim_rank::smallint and state = 'waiting' and limited and id > 0
            and run_at <= ${nowParameter(2)} and ${isTaken('$3', '$4')}
            and ${isClaimable}
          limit 1
        ) j
    ) as ready`,
}

/** True if a job of the queue is ready for this worker's code, whatever the limits allow. */
export async function hasReadyLimited(
  db: Db,
  queue: string,
  takes: ClaimableKinds,
  now: Date | null,
): Promise<boolean> {
  const { kinds, versions = '{}' } = takes
  const [row] = await db.run<{ ready: boolean }>(ready, [queue, now, kinds, versions])
  return row!.ready
}
