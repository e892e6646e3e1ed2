/**
 * Reads events for streams; writes and locks nothing. The event feed and its readers (src/events) call this file.
 *
 * Invariant: `pollEvents` reads events and the followed rows in a single snapshot, so a row is never ahead of the
 * events already emitted, except for events without a position: then `pending` is true.
 */

import { batchSums } from '../../batches/sql/batch-counters.ts'
import type { Db } from '../../database/db.ts'
import type { LogPosition } from '../../jobs/model/job-log.ts'
import type { Subject } from '../model/event.ts'
import type { FollowedBatch, FollowedJob } from '../model/followed-snapshot.ts'

export interface EventRow {
  seq: number
  /** ISO 8601. */
  at: string
  type: 'state' | 'action' | 'warning'
  jobId: string | null
  batchId: string | null
  data: Record<string, unknown>
}

const columns = `seq, at, type, job_id::text as "jobId", batch_id::text as "batchId", data`

const removed = `coalesce((select max(seq) from retoma.event_pruned), 0)`

/** Not by max(): for a table that looks empty to the planner, the planner would scan all rows. */
const lastPlace = `(select seq from retoma.event where seq is not null order by seq desc limit 1)`

const given = `greatest(pg_sequence_last_value('retoma.event_seq_seq'), ${removed})`

// A range of a single id, in the order of the intended index: with an equality the planner would walk all positions and
// filter, as soon as it expects many events for a job or batch.
const only = (column: string, id: string) => `${column} >= ${id} and ${column} <= ${id}`

/** True if the subject has events without a position: nulls are last in the index. */
const anyYet = (column: string, id: string) => `
  coalesce((select seq is null from retoma.event where ${only(column, id)} order by ${column} desc, seq desc limit 1), false)`

/** Seconds since an instant; an instant in the future (from a faster clock) counts as now. */
const since = (instant: string) => `
  greatest(extract(epoch from coalesce($5::timestamptz, now()) - ${instant}), 0)::float8`

// Without a place: the last attempt with lines. The lines themselves are read only if lines were added after the place.
const logsOf = (job: string) => `
  case when p.attempt is not null then (
    select json_agg(json_build_object('attempt', l.attempt, 'count', l.line_count, 'lines', l.lines) order by l.attempt)
    from (
      select attempt, line_count, lines from retoma.job_log
      where job_id = ${job} and attempt >= p.attempt
        and (attempt, line_count) > (p.attempt, p.n)
      order by attempt desc limit case when p.attempt = 0 then 1 else 10 end
    ) l
  ) end`

const readJobSnapshots = `
  select j.id::text, j.batch_id::text as "batchId", j.state, j.attempt, j.progress, j.checkpoint, j.error - 'stack' as error,
    (extract(epoch from j.progress_at) * 1000000)::bigint::text as "progressAt",
    ${since('coalesce(j.progress_at, j.started_at, j.created_at)')} as "idleSeconds",
    ${anyYet('job_id', 'j.id')} as pending, ${logsOf('j.id')} as logs
  from retoma.job j
    cross join lateral (select array_position($6::bigint[], j.id) as place) w
    cross join lateral (select ($7::int[])[w.place] as attempt, ($8::int[])[w.place] as n) p
  where j.id = any ($3::bigint[])`

const readBatchSnapshots = `
  select b.id::text, b.state, b.reason, b.cascade is not null as following, b.submitted_at is not null as submitted, b.total, c.*,
    coalesce((
      select json_agg(json_build_object(
        'ageSeconds', extract(epoch from coalesce($5::timestamptz, now()) - s.at), 'ended', s.done) order by s.at)
      from unnest(b.throughput_at, b.throughput_done) as s (at, done)
    ), '[]') as samples,
    ${since(`coalesce((select max(progress_at) from retoma.batch_count where batch_id = b.id), b.created_at)`)} as "idleSeconds",
    ${anyYet('batch_id', 'b.id')} as pending
  from retoma.batch b cross join lateral (${batchSums('b.id')}) c
  where b.id = any ($4::bigint[]) and b.cascade is distinct from 'prune'`

const poll = {
  name: 'event_poll',
  text: `
    select
      coalesce((select json_agg(e) from (select ${columns} from retoma.event where seq > $1 order by seq limit $2) e), '[]') as events,
      coalesce((select json_agg(j) from (${readJobSnapshots}) j), '[]') as jobs,
      coalesce((select json_agg(b) from (${readBatchSnapshots}) b), '[]') as batches,
      (select id from retoma.event where seq is null order by id limit 1) is not null as unplaced,
      ${removed}::float8 as removed,
      ${given}::float8 as given,
      coalesce($5::timestamptz, now()) as at`,
}

export interface EventPoll {
  events: EventRow[]
  jobs: FollowedJob[]
  batches: FollowedBatch[]
  /** Events without a position exist. */
  unplaced: boolean
  /** Events up to this position are pruned. */
  removed: number
  /** The last assigned position. A position beyond comes from another database, or from a time before a restore. */
  given: number
  at: Date
}

const deadlineMs = 8000

/**
 * Reads the next events after a position, and the rows of `jobs` and `batches` in the same snapshot. A missing row means
 * a deleted job or batch.
 */
export async function pollEvents(
  db: Db,
  given: {
    after: number
    limit: number
    jobs: readonly string[]
    batches: readonly string[]
    /** The jobs whose log lines are wanted, with the place after which; attempt 0: from the kept lines of the last attempt on. */
    logs?: ReadonlyMap<string, LogPosition>
  },
  now: Date | null,
): Promise<EventPoll> {
  const logs = [...(given.logs ?? [])]
  const places = [logs.map(([id]) => id), logs.map(([, { attempt }]) => attempt), logs.map(([, { n }]) => n)]
  const values = [given.after, given.limit, given.jobs, given.batches, now, ...places]
  const [found] = await db.run<EventPoll>(poll, values, deadlineMs)
  return found!
}

const page = (name: string, where: string, order = 'seq') => ({
  name,
  text: `
    select
      coalesce((select json_agg(e) from (select ${columns} from retoma.event where ${where} order by ${order} limit $2) e), '[]') as events,
      greatest(${lastPlace}, ${removed}, $1)::float8 as last,
      ${removed}::float8 as removed`,
})
const pageOfAll = page('event_page', 'seq > $1')
const pageOf = (column: string) =>
  page(`event_page_${column}`, `${only(column, '$3')} and (${column}, seq) > ($3, $1)`, `${column}, seq`)
const pageOfJob = pageOf('job_id')
const pageOfBatch = pageOf('batch_id')

interface Page {
  events: EventRow[]
  /** If the page is not full, no more events exist up to this position. */
  last: number
  removed: number
}

/** Reads the next events of a subject, for a reader that is behind. */
export async function readEvents(db: Db, of: Subject, after: number, limit: number): Promise<Page> {
  const values = [after, limit]
  const [found] =
    of.job !== undefined
      ? await db.run<Page>(pageOfJob, [...values, of.job], deadlineMs)
      : of.batch !== undefined
        ? await db.run<Page>(pageOfBatch, [...values, of.batch], deadlineMs)
        : await db.run<Page>(pageOfAll, values, deadlineMs)
  return found!
}

const bounds = {
  name: 'event_bounds',
  text: `
    select
      ($1::bigint is null or exists (select from retoma.job where id = $1))
        and ($2::bigint is null or exists (select from retoma.batch where id = $2)) as there,
      greatest(${lastPlace}, ${removed})::float8 as last`,
}

interface Bounds {
  /** The job or batch exists. */
  there: boolean
  /** The last readable position. */
  last: number
}

export async function boundsOfEvents(db: Db, of: Subject): Promise<Bounds> {
  const [found] = await db.run<Bounds>(bounds, [of.job ?? null, of.batch ?? null], deadlineMs)
  return found!
}
