/**
 * Opens, fades and closes incidents, and enqueues the jobs that send their notices.
 *
 * Invariant: an open incident has one row, and the row and its notice job are written in the same commit. So there is one
 * notice at the beginning and one at the end, even if several processes check, crash or lose an answer.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import type { JobState } from '../../jobs/model/state.ts'
import type { Incident, IncidentEvent } from '../model/notice.ts'

const tickMs = 8000
const now = nowParameter(1)

/** `notice`: JSON text of the notice; null: the incident gets no notice of its own. */
export interface IncidentNotice {
  incident: Incident
  severity: string
  notice: string | null
}

// The unique index decides between two processes with the same finding.
const open = {
  name: 'incident_open',
  text: `
    with given as materialized (
      select nextval('retoma.job_id_seq') as job, g.*
      from unnest($2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::jsonb[], $7::jsonb[])
        with ordinality as g (event, subject, severity, since, facts, notice, ord)
    ), made as (
      insert into retoma.incident (event, subject, severity, facts, since, found_at, opened_job)
      select event, subject, severity, facts, since, ${now}, case when notice is not null then job end from given
      order by event, subject
      on conflict (event, subject) where resolved_at is null do nothing
      returning id, event, subject, opened_job
    ), notices as (
      insert into retoma.job (id, queue, kind, ref, state, claim_rank, run_at, input, limited, limit_key, created_at)
      select m.opened_job, $8, $9, m.id::text, 'waiting', 9, ${now},
        jsonb_build_object('notice', jsonb_set(g.notice, '{facts,incident}', to_jsonb(m.id::text)), 'after', null),
        coalesce((select limited from retoma.queue where name = $8), false), '', ${now}
      from made m join given g on g.event = m.event and g.subject = m.subject
      where m.opened_job is not null
      order by g.ord
    )
    select event, subject from made`,
}

/** Returns the new incidents. Another process has already opened the others. */
export function openIncidents(
  db: Db,
  job: { queue: string; kind: string },
  tellings: readonly IncidentNotice[],
  at: Date | null,
): Promise<{ event: IncidentEvent; subject: string }[]> {
  const of = <T>(column: (each: IncidentNotice) => T) => tellings.map(column)
  const values = [
    at, of(each => each.incident.event), of(each => each.incident.subject), of(each => each.severity), of(each => each.incident.since),
    of(each => JSON.stringify(each.incident.facts)), of(each => each.notice), job.queue, job.kind,
  ] // biome-ignore format: the columns in their order
  return db.run(open, values, tickMs)
}

// The notice of the end waits for the notice of the beginning: `after`. The statement also deletes incidents closed for 30
// days.
const close = {
  name: 'incident_close',
  text: `
    with given as materialized (
      select * from unnest($2::bigint[], $3::jsonb[]) as g (id, notice)
    ), closed as (
      update retoma.incident i
      set resolved_at = ${now}, resolved_job = case when g.notice is not null then nextval('retoma.job_id_seq') end
      from given g
      where i.id = g.id and i.resolved_at is null
      returning i.id, i.event, i.subject, i.opened_job, i.resolved_job, g.notice
    ), notices as (
      insert into retoma.job (id, queue, kind, ref, state, claim_rank, run_at, input, limited, limit_key, created_at)
      select c.resolved_job, $4, $5, c.id::text, 'waiting', 9, ${now},
        jsonb_build_object('notice', jsonb_set(c.notice, '{facts,incident}', to_jsonb(c.id::text)), 'after', c.opened_job::text),
        coalesce((select limited from retoma.queue where name = $4), false), '', ${now}
      from closed c
      where c.resolved_job is not null
      order by c.id
    ), forgotten as (
      delete from retoma.incident
      where id = any (array(
        select id from retoma.incident where resolved_at < ${now} - interval '30 days' order by resolved_at limit 1000
      ))
    )
    select event, subject from closed`,
}

/** Closes incidents by id and returns the closed incidents; `notice` null: without a notice. */
export function closeIncidents(
  db: Db,
  job: { queue: string; kind: string },
  ends: readonly { id: string; notice: string | null }[],
  at: Date | null,
): Promise<{ event: IncidentEvent; subject: string }[]> {
  const values = [at, ends.map(each => each.id), ends.map(each => each.notice), job.queue, job.kind]
  return db.run(close, values, tickMs)
}

const fade = {
  name: 'incident_set_resolving',
  text: `
    update retoma.incident
    set resolving_since = case when id = any ($2::bigint[]) then ${now} end
    where resolved_at is null and (id = any ($2::bigint[]) and resolving_since is null or id = any ($3::bigint[]) and resolving_since is not null)`,
}

/** Marks incidents as apparently over (`gone`) or as present again (`back`). */
export async function fadeIncidents(
  db: Db,
  gone: readonly string[],
  back: readonly string[],
  at: Date | null,
): Promise<void> {
  await db.run(fade, [at, gone, back], tickMs)
}

const state = { name: 'incident_job_state', text: `select state from retoma.job where id = $1` }

/** State of a notice job; undefined: the job no longer exists. */
export async function noticeJobState(db: Db, job: string): Promise<JobState | undefined> {
  const [row] = await db.run<{ state: JobState }>(state, [job], tickMs)
  return row?.state
}
