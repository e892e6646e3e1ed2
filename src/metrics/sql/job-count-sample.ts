/**
 * Counts live jobs for all processes: /metrics, stats and other readers read retoma.job_count_sample and count nothing. Reads only
 * waiting, running and stalled rows, each by its own partial index, and no finished job.
 *
 * Invariant: only one process counts at a time, and counting takes at most 1/20 of the time over all processes: the row
 * of retoma.periodic_lease stores the next permitted count, computed from the cost. A single statement, so a crash keeps the
 * previous count.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { leasedByWorker, someRun, someWait, waitingJobs } from '../../jobs/sql/job-floor.ts'

/** A million waiting jobs take 0.5 s. A count that exceeds the deadline is repeated after 20 times the deadline. */
const sampleDeadlineMs = 30_000
/** Counting takes at most 1 / `sampleShare` of the time. */
export const sampleShare = 20

const now = nowParameter(1)
// A job of a paused, stalled or finished batch may not start, so it does not count as late.
const ripe = `case when run_at <= ${now} and (batch_id is null or batch_id <> all (array(select id from retoma.batch where claims_blocked))) then run_at end`
const waiting = `queue, kind, case when run_at <= ${now} then 'ready' else 'scheduled' end as state, ${ripe} as ripe_at`

const leftByTheDead = `exists (
  select from retoma.metric m
  where process <> '' and not exists (select from retoma.worker w where w.id = m.process and w.dead_at is null)
)`

/**
 * Part of every check of the watchdog (recovery/sql/dead-workers.ts; its $6 allows reads of all live rows): an idle system counts nothing
 * and sends no extra query.
 */
export const isToBeSampled = `(
        exists (select from retoma.periodic_lease where name = 'job_count_sample' and (since <= ${now} or at > ${now} + interval '1 second'))
        and (
          exists (select from retoma.job_count_sample)
          or ${leftByTheDead}
          or $6 and (
            ${someWait}
            or ${someRun}
            or exists (select from retoma.job where state = 'stalled')
          )
        )
      )`

// Writes only changed rows: an idle system writes only its row in retoma.periodic_lease. A last count in the future (after a
// failover to a slower clock) is ignored.
const take = {
  name: 'job_count_sample',
  text: `
    with won as materialized (
      select from retoma.periodic_lease
      where name = 'job_count_sample' and (since <= ${now} or at > ${now} + interval '1 second')
      for update skip locked
    ), counted as materialized (
      select queue, kind, state, count(*) as jobs, min(ripe_at) as oldest_at
      from (
      select j.*
      from retoma.queue q cross join generate_series(0, 19) as r (claim_rank)
        cross join lateral (${waitingJobs('q.name', waiting)}) j
      where (select true from won)
      union all
      select j.queue, j.kind, 'running', null
      from retoma.worker w cross join lateral (select queue, kind from retoma.job where ${leasedByWorker('w.id')} offset 0) j
      where (select true from won)
      union all
      select queue, kind, 'stalled', null from retoma.job where state = 'stalled' and (select true from won)
      ) live
      group by 1, 2, 3
    ), gone as (
      delete from retoma.job_count_sample s
      where (select true from won)
        and not exists (select from counted c where c.queue = s.queue and c.kind = s.kind and c.state = s.state)
    ), kept as (
      insert into retoma.job_count_sample as s (queue, kind, state, jobs, oldest_at)
      select queue, kind, state, jobs, oldest_at from counted
      on conflict (queue, kind, state) do update
        set jobs = excluded.jobs, oldest_at = excluded.oldest_at
        where s.jobs <> excluded.jobs or s.oldest_at is distinct from excluded.oldest_at
    ), noted as (
      update retoma.periodic_lease
      set at = ${now},
        since = ${now} + greatest(make_interval(secs => $2 / 1000.0), (clock_timestamp() - statement_timestamp()) * ${sampleShare})
      from won, (select count(*) as series from counted) c
      where name = 'job_count_sample' and c.series >= 0
    )
    select exists (select from won) as won, ${leftByTheDead} as left`,
}

export interface SampleTaken {
  /** This process won the count. */
  won: boolean
  /** Dead workers left metrics that must be folded (metric-counters.ts). */
  left: boolean
}

export async function takeSample(db: Db, apartMs: number, now: Date | null): Promise<SampleTaken> {
  const [row] = await db.run<SampleTaken>(take, [now, apartMs], sampleDeadlineMs)
  return row!
}
