/**
 * Finds ready jobs that no live worker claims. Reads only the oldest jobs of each lane, so the cost is small for any
 * number of waiting jobs: claimed jobs leave the lane, and unclaimed jobs end up at the front. If a known kind of a queue
 * has no worker, the statement reads further.
 */

import { claimsNotBlocked } from '../../claiming/sql/claim.ts'
import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { defaultPolicy } from '../../jobs/model/policy.ts'
import { takesVersion } from '../../jobs/sql/claimable-kinds.ts'
import { inLimitedLane, inOpenLane } from '../../jobs/sql/job-floor.ts'
import { seconds } from '../../lib/values/duration.ts'

/** A job without a capable worker for so long is starved. */
export const starvedAfter = seconds(30)
/** Rows read per lane: if all kinds of the queue have a worker (`few`), and if a kind has none (`many`). */
const few = 100
const many = 5000
const now = nowParameter(1)

export interface StarvedLane {
  queue: string
  kind: string
  version: number
  /** Counted among the rows read. */
  jobs: number
  noWorker: boolean
  readySince: Date
  readyMs: number
  watchedMs: number
}

// Reads lane by lane, from the first live index entry on; limited jobs by their claim rank, whatever their limit key.
const starved = {
  name: 'unclaimed_find',
  text: `
    with live as materialized (
      select queues, kinds, versions from retoma.worker
      where dead_at is null and heartbeat_at > ${now} - make_interval(secs => ${defaultPolicy.orphanAfter / 1000})
    ), open_queue as materialized (
      select q.name,
        case when exists (
          select from retoma.kind k
          where k.queue = q.name and not exists (select from live w where w.queues ? q.name and k.name = any (w.kinds))
        ) then ${many} else ${few} end as depth
      from retoma.queue q
      where not q.paused
    ), seen as (
      select j.*
      from open_queue q cross join generate_series(0, 19) as r (claim_rank)
        cross join lateral (
          select queue, kind, version, run_at, batch_id from retoma.job
          where ${inOpenLane('q.name', 'r.claim_rank::smallint')} and run_at <= ${now}
          order by run_at, id
          limit q.depth
        ) j
      union all
      select j.*
      from open_queue q cross join generate_series(0, 19) as r (claim_rank)
        cross join lateral (
          select queue, kind, version, run_at, batch_id from retoma.job
          where ${inLimitedLane('q.name', 'r.claim_rank::smallint')} and run_at <= ${now}
          order by run_at
          limit q.depth
        ) j
    ), lane as (
      select queue, kind, coalesce(version, 1) as version, count(*)::int as jobs, min(run_at) as run_at
      from seen
      where ${claimsNotBlocked}
      group by 1, 2, 3
    )
    select l.queue, l.kind, l.version, l.jobs, l.run_at as "readySince",
      not exists (select from live w where w.queues ? l.queue) as "noWorker",
      (extract(epoch from ${now} - l.run_at) * 1000)::float8 as "readyMs",
      coalesce((select (extract(epoch from ${now} - since) * 1000)::float8 from retoma.periodic_lease where name = 'watchdog' and isfinite(since)), 0) as "watchedMs"
    from lane l
    where l.run_at <= ${now} - make_interval(secs => ${starvedAfter / 1000})
      and not exists (
        select from live w
        where w.queues ? l.queue
          and ${takesVersion('w', 'l.kind', 'l.version')}
      )
    order by l.run_at
    limit 100`,
}

/** Returns the kinds and versions that no live worker claims, ready for long enough. */
export const starvedLanes = (db: Db, now: Date | null): Promise<StarvedLane[]> =>
  db.run<StarvedLane>(starved, [now], 8000)
