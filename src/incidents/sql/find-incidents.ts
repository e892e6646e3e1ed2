/**
 * Finds incidents in rows that the engine writes anyway. incident-changes.ts stores the incidents.
 *
 * Invariant: the row 'notify' of retoma.periodic_lease decides which process checks; a process without the turn writes nothing. If
 * a process wins a check and crashes, the next check covers the gap: each check starts 10 minutes before the last.
 */

import { batchSums } from '../../batches/sql/batch-counters.ts'
import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { inOpenLane } from '../../jobs/sql/job-floor.ts'
import type { Incident, IncidentEvent } from '../model/notice.ts'

const tickMs = 8000
const now = nowParameter(1)

/** Maximum number of new and of ended incidents per check; the next check continues. */
const mostAtOnce = 200
const someMessage = 300

export interface OpenIncident extends Incident {
  id: string
  /** The condition no longer holds. */
  over: boolean
  /** Milliseconds since a process noted the end of the condition; null: not noted. */
  goneMs: number | null
  /** The end gets no notice: the incident has no end, or its subject no longer exists. */
  quiet: boolean
}

export interface FoundIncidents {
  /** This process won the check. */
  won: boolean
  /** A process has checked before. */
  begun: boolean
  /** A notice has been ready for longer than `readyMs`: no worker claims notices. */
  ready: boolean
  found: Incident[]
  open: OpenIncident[]
  /** Number of notices per event in the last 10 minutes. */
  noticeCounts: Partial<Record<IncidentEvent, number>>
  stuck: number
  watchdogMs: number | null
}

const wants = (event: string) => `coalesce(b.policy -> 'notify' ? '${event}', true)`
const batchFacts = `jsonb_build_object('batch', b.id::text, 'name', b.name, 'kind', b.kind, 'total', b.total, 'succeeded', s.succeeded, 'failed', s.failed,
        'skipped', s.skipped, 'cancelled', s.cancelled, 'reason', b.reason) || jsonb_strip_nulls(jsonb_build_object('about', b.policy -> 'about'))`
const isPausedByItself = `b.state = 'paused' and b.reason ->> 'code' <> 'person'`
const isStuck = `j.state = 'stalled' and (select b.state from retoma.batch b where b.id = j.batch_id) is distinct from 'stalled'`

// The queue of notices is excluded: an undeliverable notice would cause another notice. A single statement, so an idle
// check costs one statement and about six index probes. The check finds ended batches and jobs since 10 minutes before
// the last check, because commits may come late and a process may crash after winning a check. The first check ignores
// the past. An incident that is stored only for some time (succeeded, many) closes without a notice once no check could
// find the event again.
const find = {
  name: 'incident_find',
  text: `
    with mine as materialized (
      select at from retoma.periodic_lease
      where name = 'notify' and (at <= ${now} - make_interval(secs => $2 / 1000.0) or at > ${now} + interval '1 second')
      for update skip locked
    ), noted as (
      update retoma.periodic_lease t set at = ${now} from mine where t.name = 'notify'
    ), since as materialized (
      select case
          when isfinite(at) then greatest(least(at, ${now}) - interval '10 minutes', ${now} - interval '7 days')
          else ${now}
        end as from
      from mine
    ), so as materialized (
      (
        select 'batch.' || b.state as event, 'batch:' || b.id as subject, ${now} as since, ${batchFacts} as facts
        from since
          cross join lateral (
            select * from retoma.batch b
            where b.finished_at is null
              and (b.state = 'stalled' and ${wants('stalled')} or ${isPausedByItself} and ${wants('paused')})
              and not exists (
                select from retoma.incident i
                where i.resolved_at is null and i.event = 'batch.' || b.state and i.subject = 'batch:' || b.id
              )
            order by b.id
            limit ${mostAtOnce}
          ) b
          cross join lateral (${batchSums('b.id')}) s
      )
      union all
      (
        select 'batch.' || b.state, b.subject, b.finished_at, ${batchFacts}
        from since
          cross join lateral (
            select b.*, case when b.state = 'failed' then 'batch:' || b.id else 'batch:' || b.id || '/end:' || b.completions end as subject
            from retoma.batch b
            where b.finished_at > since.from and b.cascade is distinct from 'prune'
              and (b.state = 'failed' and ${wants('failed')} or b.state = 'succeeded' and ${wants('succeeded')}
                or b.state = 'completed_with_failures' and ${wants('completed_with_failures')})
              and not exists (
                select from retoma.incident i
                where i.resolved_at is null and i.event = 'batch.' || b.state
                  and i.subject = case when b.state = 'failed' then 'batch:' || b.id else 'batch:' || b.id || '/end:' || b.completions end
              )
            order by b.finished_at, b.id
            limit ${mostAtOnce}
          ) b
          cross join lateral (${batchSums('b.id')}) s
      )
      union all
      (
        select 'job.poison', 'job:' || j.id, j.finished_at, jsonb_build_object('job', j.id::text, 'kind', j.kind, 'queue', j.queue,
          'attempt', j.attempt, 'message', left(j.error ->> 'message', ${someMessage}))
        from since
          cross join lateral (
            select * from retoma.job j
            where j.state = 'failed' and j.error ->> 'code' = 'poison' and j.finished_at > since.from and j.queue <> $3
              and (select b.cascade from retoma.batch b where b.id = j.batch_id) is distinct from 'prune'
              and not exists (
                select from retoma.incident i
                where i.resolved_at is null and i.event = 'job.poison' and i.subject = 'job:' || j.id
              )
            order by j.finished_at
            limit ${mostAtOnce}
          ) j
      )
      union all
      (
        select 'queue.starved', 'queue:' || (f.facts ->> 'queue'), min(f.since), jsonb_build_object('queue', f.facts ->> 'queue',
          'kinds', jsonb_agg(distinct f.facts ->> 'kind'), 'jobs', sum((f.facts ->> 'jobs')::int),
          'no_worker', bool_and((f.facts ->> 'noWorker')::boolean))
        from mine cross join retoma.finding f
        where f.verdict = 'starved' and f.facts ->> 'queue' <> $3
          and not exists (
            select from retoma.incident i
            where i.resolved_at is null and i.event = 'queue.starved' and i.subject = 'queue:' || (f.facts ->> 'queue')
          )
        group by f.facts ->> 'queue'
        limit ${mostAtOnce}
      )
    ), judged as materialized (
      select i.id, i.event, i.subject, i.since, i.facts, i.resolving_since,
        case
          when i.subject = 'more' then i.found_at < ${now} - interval '10 minutes'
          when i.event = 'batch.succeeded' then i.since < (select since.from from since)
          when i.since < ${now} - interval '7 days' and i.event in ('batch.failed', 'job.poison') then true
          when i.event = 'batch.stalled' then b.state is distinct from 'stalled'
          when i.event = 'batch.paused' then b.state is distinct from 'paused'
          when i.event = 'batch.failed' then b.state is distinct from 'failed'
          when i.event = 'job.poison' then j.state is distinct from 'failed'
          when i.event = 'queue.starved' then not exists (
            select from retoma.finding f where f.verdict = 'starved' and f.facts ->> 'queue' = i.facts ->> 'queue'
          )
        end as over,
        i.opened_job is null or i.subject = 'more' or i.event = 'batch.succeeded' or b.id is null and i.event like 'batch.%'
          or j.id is null and i.event = 'job.poison'
          or i.since < ${now} - interval '7 days' and i.event in ('batch.failed', 'job.poison') as quiet
      from mine cross join retoma.incident i
        left join retoma.batch b on b.id = any (array[(i.facts ->> 'batch')::bigint])
        left join retoma.job j on j.id = any (array[(i.facts ->> 'job')::bigint])
      where i.resolved_at is null
    )
    select exists (select from mine) as won,
      exists (select from retoma.periodic_lease where name = 'notify') as begun,
      exists (
        select from generate_series(0, 19) as r (claim_rank) cross join lateral (
          select from retoma.job
          where ${inOpenLane('$3', 'r.claim_rank::smallint')} and run_at <= ${now} - make_interval(secs => $4 / 1000.0)
          limit 1
        ) w
      ) as ready,
      coalesce((select jsonb_agg(to_jsonb(so)) from so), '[]') as found,
      coalesce((
        select jsonb_agg(jsonb_build_object('id', id::text, 'event', event, 'subject', subject, 'since', since, 'facts', facts,
          'over', over, 'quiet', quiet, 'goneMs', extract(epoch from ${now} - resolving_since)::float8 * 1000))
        from (select * from judged where over is null or over or resolving_since is not null order by id limit ${mostAtOnce}) o
      ), '[]') as open,
      coalesce((
        select jsonb_object_agg(event, n)
        from (
          select event, count(*) as n from mine cross join retoma.incident
          where found_at > ${now} - interval '10 minutes' and opened_job is not null
          group by event
        ) t
      ), '{}') as "noticeCounts",
      (
        select count(*) from (select from mine cross join retoma.job j where ${isStuck} limit 10000) s
      )::int + (select count(*) from mine cross join retoma.finding where verdict = 'hung')::int as stuck,
      (
        select extract(epoch from ${now} - at)::float8 * 1000 from retoma.periodic_lease where name = 'watchdog' and isfinite(at)
      ) as "watchdogMs"`,
}

const begin = {
  name: 'incident_first_check',
  text: `insert into retoma.periodic_lease (name, at) values ('notify', '-infinity') on conflict do nothing`,
}

/**
 * `apartMs`: the minimum time between two checks; an earlier check does nothing. `readyMs`: the time a notice may wait in
 * the queue before `ready` becomes true.
 */
export async function findIncidents(
  db: Db,
  rule: { queue: string; apartMs: number; readyMs: number },
  at: Date | null,
): Promise<FoundIncidents> {
  const once = async (): Promise<FoundIncidents> => {
    const [row] = await db.run<FoundIncidents>(find, [at, rule.apartMs, rule.queue, rule.readyMs], tickMs)
    const { found, open, ...seen } = row!
    return { ...seen, found: found.map(withInstant), open: open.map(withInstant) }
  }
  const seen = await once()
  if (seen.begun) return seen
  await db.run(begin, [], tickMs)
  return once()
}

/** Writes the instant in UTC, as everywhere else. */
const withInstant = <T extends Incident>(incident: T): T => ({
  ...incident,
  since: new Date(incident.since).toISOString(),
})
