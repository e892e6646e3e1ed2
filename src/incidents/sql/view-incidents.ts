/**
 * Reads incidents for people: the stored incidents, and the problems of this moment from rows that the engine writes anyway. Writes nothing.
 */

import { batchSums } from '../../batches/sql/batch-counters.ts'
import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import type { IncidentEvent, NoticeSeverity } from '../model/notice.ts'
import type { IncidentFacts } from '../model/notice-sentences.ts'

const readMs = 5000
const now = nowParameter(1)

/** A stored incident. */
export interface IncidentRow {
  id: string
  event: IncidentEvent
  subject: string
  severity: NoticeSeverity
  facts: IncidentFacts
  since: Date
  foundAt: Date
  /** null: the incident is open. */
  resolvedAt: Date | null
}

const list = {
  name: 'incident_list',
  text: `
    select i.id::text, i.event, i.subject, i.severity, i.facts, i.since, i.found_at as "foundAt", i.resolved_at as "resolvedAt"
    from retoma.incident i
    where i.id < $1 and (not $2 or i.resolved_at is null)
    order by i.id desc
    limit $3`,
}

const maxId = '9223372036854775807'

/** The newest first. */
export const viewIncidents = (
  db: Db,
  open: boolean,
  after: string | undefined,
  limit: number,
): Promise<IncidentRow[]> => db.run<IncidentRow>(list, [after ?? maxId, open, limit], readMs)

/** A problem of this moment. */
export interface ProblemRow {
  event: IncidentEvent
  subject: string
  facts: IncidentFacts
  since: Date
}

const mostBatches = 50

const problems = {
  name: 'incident_problems',
  text: `
    (
      select 'batch.' || b.state as event, 'batch:' || b.id as subject,
        coalesce((select max(c.progress_at) from retoma.batch_count c where c.batch_id = b.id), b.created_at) as since,
        jsonb_build_object('batch', b.id::text, 'name', b.name, 'total', b.total, 'succeeded', s.succeeded, 'failed', s.failed,
          'skipped', s.skipped, 'cancelled', s.cancelled, 'reason', b.reason) || jsonb_strip_nulls(jsonb_build_object('about', b.policy -> 'about')) as facts
      from (
          select * from retoma.batch
          where finished_at is null and (state = 'stalled' or state = 'paused' and reason ->> 'code' <> 'person')
          order by id
          limit ${mostBatches}
        ) b
        cross join lateral (${batchSums('b.id')}) s
    )
    union all
    (
      select 'queue.starved', 'queue:' || (f.facts ->> 'queue'), min(f.since), jsonb_build_object('queue', f.facts ->> 'queue',
        'kinds', jsonb_agg(distinct f.facts ->> 'kind'), 'jobs', sum((f.facts ->> 'jobs')::int),
        'no_worker', bool_and((f.facts ->> 'noWorker')::boolean))
      from retoma.finding f
      where f.verdict = 'starved'
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
      select 'jobs.stuck', 'jobs.stuck', min(k.since), jsonb_build_object('stuck', count(*))
      from (
        (select coalesce(j.progress_at, j.started_at, j.created_at) as since from retoma.job j where j.state = 'stalled' order by j.id limit 10000)
        union all
        select f.since from retoma.finding f where f.verdict = 'hung'
      ) k
      having count(*) > 0
    )`,
}

/** The problems of this moment, in no order. `lateMs`: the time without a check after which the watchdog is late. */
export const viewProblems = (db: Db, lateMs: number, at: Date | null): Promise<ProblemRow[]> =>
  db.run<ProblemRow>(problems, [at, lateMs], readMs)
