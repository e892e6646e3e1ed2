/**
 * Reads the problems of this moment from rows that the engine writes anyway. Writes nothing. This is the only list of problems: the health
 * of `engine.metrics`, the dashboard and its window title read it.
 *
 * Invariant: `since` is the start of the problem itself, such as the instant a batch stalled, and not the last progress before it. A
 * problem appears once: a stalled job of a stalled batch belongs to the batch, and a queue without a worker belongs to `workers.none` if
 * no worker is alive at all.
 */

import { batchSums } from '../../batches/sql/batch-counters.ts'
import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { waitingJobs } from '../../jobs/sql/job-floor.ts'
import { providerState } from '../../providers/sql/provider-state.ts'
import type { IncidentFacts } from '../model/notice-sentences.ts'
import type { ProblemEvent } from '../model/problem.ts'

const readMs = 5000
const now = nowParameter(1)

/** A problem of this moment. */
export interface ProblemRow {
  event: ProblemEvent
  subject: string
  facts: IncidentFacts
  since: Date
}

const mostBatches = 50
const mostRows = 50
/** Jobs are counted up to this number. */
const mostJobs = 1000

/** The ready jobs of a queue, up to `mostJobs` of each claim rank: their number and the run_at of the oldest. */
const readyOf = (queue: string): string => `(
    select count(*) as jobs, min(run_at) as oldest
    from generate_series(0, 19) as r (claim_rank)
      cross join lateral (${waitingJobs(queue, 'run_at', `and run_at <= ${now} order by run_at limit ${mostJobs}`)}) ready
  )`

/** The queue has no kind that is left out: the number of its waiting jobs would count the jobs of the kind. */
const isShown = (queue: string): string =>
  `${queue} <> all (array(select k.queue from retoma.kind k where k.name = any ($3::text[])))`

// A worker that stopped cleanly has no row; a dead worker keeps its row for a while.
const nobodyWorks = `not exists (select from retoma.worker where dead_at is null)`

const problems = {
  name: 'problem_list',
  text: `
    (
      select 'batch.' || b.state as event, 'batch:' || b.id as subject, coalesce(b.stopped_at, b.created_at) as since,
        jsonb_build_object('batch', b.id::text, 'name', b.name, 'kind', b.kind, 'total', b.total, 'succeeded', s.succeeded, 'failed', s.failed,
          'skipped', s.skipped, 'cancelled', s.cancelled, 'reason', b.reason) || jsonb_strip_nulls(jsonb_build_object('about', b.policy -> 'about')) as facts
      from (
          select * from retoma.batch
          where finished_at is null and state in ('stalled', 'paused')
          order by state = 'stalled' desc, id
          limit ${mostBatches}
        ) b
        cross join lateral (${batchSums('b.id')}) s
    )
    union all
    (
      select 'queue.paused', 'queue:' || q.name, coalesce(q.paused_at, r.oldest), jsonb_build_object('queue', q.name, 'jobs', r.jobs)
      from (select name, paused_at from retoma.queue where paused and ${isShown('name')} order by name limit ${mostRows}) q
        cross join lateral ${readyOf('q.name')} r
      where r.jobs > 0
    )
    union all
    (
      select 'workers.none', 'workers', greatest(min(r.oldest), (select max(dead_at) from retoma.worker)), jsonb_build_object('jobs', sum(r.jobs))
      from (select name from retoma.queue where not paused and ${nobodyWorks} and ${isShown('name')} order by name limit ${mostRows}) q
        cross join lateral ${readyOf('q.name')} r
      where r.jobs > 0
      having count(*) > 0
    )
    union all
    (
      select 'queue.starved', 'queue:' || (f.facts ->> 'queue'), min(f.since), jsonb_build_object('queue', f.facts ->> 'queue',
        'kinds', jsonb_agg(distinct f.facts ->> 'kind'), 'jobs', sum((f.facts ->> 'jobs')::int),
        'no_worker', bool_and((f.facts ->> 'noWorker')::boolean))
      from retoma.finding f
      where f.verdict = 'starved' and not (${nobodyWorks}) and f.facts ->> 'kind' <> all ($3::text[])
      group by f.facts ->> 'queue'
    )
    union all
    (
      select 'watchdog.late', 'watchdog.late', at, jsonb_build_object('seconds', round(extract(epoch from ${now} - at)))
      from retoma.periodic_lease
      where name = 'watchdog' and isfinite(at) and at < ${now} - make_interval(secs => $2 / 1000.0)
    )
    union all
    (
      select 'jobs.stalled', 'jobs.stalled', min(k.since), jsonb_build_object('jobs', count(*))
      from (
        select coalesce(
            (select f.at from retoma.failure f where f.job_id = j.id and f.attempt = j.attempt), j.progress_at, j.started_at, j.created_at
          ) as since
        from retoma.job j
        where j.state = 'stalled' and j.kind <> all ($3::text[]) and (select b.state from retoma.batch b where b.id = j.batch_id) is distinct from 'stalled'
        limit ${mostJobs}
      ) k
      having count(*) > 0
    )
    union all
    (
      select 'jobs.slow', case when count(*) = 1 then min(f.subject) else 'jobs.slow' end, min(f.since), jsonb_strip_nulls(jsonb_build_object('jobs', count(*),
        'job', case when count(*) = 1 then min(f.facts ->> 'job') end, 'kind', case when count(*) = 1 then min(f.facts ->> 'kind') end))
      from retoma.finding f
      where f.verdict = 'slow' and coalesce(f.facts ->> 'kind', '') <> all ($3::text[])
      having count(*) > 0
    )
    union all
    (
      select 'worker.blocked', 'worker:' || w.id, w.blocked_since, jsonb_strip_nulls(jsonb_build_object('host', w.host, 'pid', w.pid, 'job', w.blocked_job::text))
      from retoma.worker w
      where w.dead_at is null and w.blocked_since is not null
      order by w.blocked_since
      limit ${mostRows}
    )
    union all
    (
      select 'provider.' || p.state, 'provider:' || p.name, p.since, jsonb_strip_nulls(jsonb_build_object('provider', p.name, 'message', p.message, 'until', p.until))
      from (
        select p.name, ${providerState(now)} as state, left(p.message, 300) as message, coalesce(p.stopped_at, p.waits_since, p.at) as since,
          case when p.stopped_at is null and p.wait_until > ${now} then p.wait_until end as until
        from retoma.provider p
        where p.name not like 'batch %' and (p.stopped_at is not null or p.wait_until > ${now})
      ) p
      where p.state <> 'open'
      order by p.since
      limit ${mostRows}
    )
    union all
    (
      select case when g.failing_since is not null then 'guard.failing' else 'guard.late' end, 'guard:' || g.name,
        coalesce(g.failing_since, g.swept_at + g.every), jsonb_strip_nulls(jsonb_build_object('guard', g.name,
          'error', case when cardinality($3::text[]) = 0 or not coalesce((g.about ->> 'private')::boolean, false) then g.last_error end))
      from (select *, make_interval(secs => (about ->> 'every')::float8 / 1000) as every from retoma.guard) g
      where g.failing_since is not null
        or g.swept_at < ${now} - g.every - interval '1 minute' and g.swept_at >= ${now} - interval '7 days'
      order by g.name
      limit ${mostRows}
    )`,
}

/**
 * The problems of this moment, in no order. `lateMs`: the time without a check after which the watchdog is late. `except`: counts no jobs of
 * these kinds, leaves out waiting jobs of their queues, and does not show the errors of private guards, which may contain values of rows.
 */
export const viewProblems = (
  db: Db,
  { lateMs, except }: { lateMs: number; except: readonly string[] },
  at: Date | null,
): Promise<ProblemRow[]> => db.run<ProblemRow>(problems, [at, lateMs, except], readMs)
