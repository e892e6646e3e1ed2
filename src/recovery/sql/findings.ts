/**
 * Stores the findings of the watchdog: hung, slow, starved. A finding is a row while the problem lasts, with an event at the begin and an
 * event at the end.
 *
 * Invariant: each begin and each end writes one event, however many watchdogs check: the inserted or deleted row writes the event.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { noteEvents } from '../../jobs/sql/transition.ts'

const tickMs = 8000
const now = nowParameter(1)

export interface Finding {
  verdict: 'hung' | 'slow' | 'starved'
  /** Such as job:17, worker:w-…, queue:mail/kind:send. */
  subject: string
  since: Date
  /** The job and the batch of the event. */
  job: string | null
  batch: string | null
  facts: Readonly<Record<string, unknown>>
}

/** Inserts findings. A known finding is written again only if the facts changed or `seen_at` is more than 1 minute old. */
const report = {
  name: 'finding_report',
  text: `
    with given as materialized (
      select distinct on (g.verdict, g.subject) *
      from unnest((select $2::text[]), (select $3::text[]), (select $4::timestamptz[]), (select $5::bigint[]), (select $6::bigint[]), (select $7::jsonb[]))
        as g (verdict, subject, since, job_id, batch_id, facts)
      order by g.verdict, g.subject
    ), kept as (
      insert into retoma.finding as f (verdict, subject, since, seen_at, facts)
      select verdict, subject, since, ${now}, facts from given
      on conflict (verdict, subject) do update
        set seen_at = excluded.seen_at, facts = excluded.facts
        where f.facts <> excluded.facts or f.seen_at < excluded.seen_at - interval '1 minute'
      returning verdict, subject, xmax = 0 as fresh
    ), begun as (
      select g.* from kept k join given g on g.verdict = k.verdict and g.subject = k.subject where k.fresh
    ), ${noteEvents(
      {
        of: 'begun',
        type: 'warning',
        job: 'm.job_id',
        batch: 'm.batch_id',
        data: `m.facts || jsonb_build_object('what', m.verdict, 'subject', m.subject, 'since', m.since)`,
      },
      now,
    )}
    select verdict, subject from begun`,
}

/** Writes the findings. Returns the new findings. */
export async function reportFindings(
  db: Db,
  findings: readonly Finding[],
  now: Date | null,
): Promise<{ verdict: string; subject: string }[]> {
  if (findings.length === 0) return []
  const of = <T>(column: (each: Finding) => T) => findings.map(column)
  const values = [
    now, of(each => each.verdict), of(each => each.subject), of(each => each.since), of(each => each.job), of(each => each.batch),
    of(each => JSON.stringify(each.facts)),
  ] // biome-ignore format: the columns in their order
  return db.run(report, values, tickMs)
}

const findingEvents = noteEvents(
  {
    of: 'over',
    type: 'warning',
    job: `(m.facts ->> 'job')::bigint`,
    data: `m.facts || jsonb_build_object('what', m.verdict || ' over', 'subject', m.subject, 'since', m.since)`,
  },
  now,
)

// A `slow` finding ends with the attempt, a `hung` finding once the worker's loop is no longer blocked.
const clear = {
  name: 'finding_clear',
  text: `
    with over as (
      delete from retoma.finding f
      where f.verdict = 'slow' and (
          select true from retoma.job j
          where j.id = (f.facts ->> 'job')::bigint and j.attempt = (f.facts ->> 'attempt')::int and j.worker_id is not null
        ) is null
        or f.verdict = 'hung' and not exists (
          select from retoma.worker w
          where w.id = f.facts ->> 'worker' and w.dead_at is null and w.blocked_since is not null
        )
      returning f.*
    ), ${findingEvents}
    select verdict, subject from over`,
}

/** Deletes the `slow` and `hung` findings that are over. Returns the deleted findings. */
export const clearFindings = (db: Db, now: Date | null): Promise<{ verdict: string; subject: string }[]> =>
  db.run(clear, [now], tickMs)

const clearStarved = {
  name: 'finding_clear_starved',
  text: `
    with over as (
      delete from retoma.finding f
      where f.verdict = 'starved' and f.subject <> all ($2::text[])
      returning f.*
    ), ${findingEvents}
    select verdict, subject from over`,
}

/** Deletes all `starved` findings except `subjects`. Returns the deleted findings. */
export const clearStarvedBut = (
  db: Db,
  subjects: readonly string[],
  now: Date | null,
): Promise<{ verdict: string; subject: string }[]> => db.run(clearStarved, [now, subjects], tickMs)

export interface HungWorker {
  id: string
  host: string
  pid: number
  blockedSince: Date
  job: string | null
  attempt: number | null
  stack: string | null
  supervised: boolean
  batch: string | null
}

const hung = {
  name: 'finding_hung',
  text: `
    select w.id, w.host, w.pid, w.blocked_since as "blockedSince", w.blocked_job as job, w.blocked_attempt as attempt,
      w.blocked_stack as stack, w.supervised, (select j.batch_id from retoma.job j where j.id = w.blocked_job) as batch
    from retoma.worker w
    where w.dead_at is null and w.blocked_since is not null
    order by w.blocked_since
    limit 100`,
}

/** Returns the workers with a blocked loop, as reported by the heartbeat threads. */
export const hungWorkers = (db: Db): Promise<HungWorker[]> => db.run<HungWorker>(hung, [], tickMs)

/** A problem that the watchdog has found, for as long as the problem lasts. */
export interface FindingView {
  verdict: 'hung' | 'slow' | 'starved'
  subject: string
  since: Date
  seenAt: Date
  facts: Readonly<Record<string, unknown>>
}

const list = {
  name: 'finding_list',
  text: `
    select verdict, subject, since, seen_at as "seenAt", facts from retoma.finding
    order by since, verdict, subject
    limit 500`,
}

/** Returns the current findings, the oldest first; at most 500. */
export const viewFindings = (db: Db): Promise<FindingView[]> => db.run<FindingView>(list, [])
