/**
 * Stores schedules: the recurrence in force, the next occurrence, and the enqueue of an occurrence.
 *
 * Invariant: a conditional update on (name, next_at) wins an occurrence, and the same transaction inserts the jobs. So no
 * crash at any instant loses an occurrence or enqueues it twice. A process that loses writes nothing.
 *
 * Two versions of an app may have different recurrences for the same name. A new recurrence comes into force at once; a
 * replaced recurrence comes back only if no process with the recurrence in force has checked for 3 minutes. So the
 * schedule does not flap, and it never stops while any process has it.
 *
 * The row of a schedule that no code has any more is removed (`isForgotten`). A process that still has the schedule, of whatever version,
 * writes `seen_at` every minute, so no row of a living process is removed.
 */

import { type Db, type Run, runOn } from '../database/db.ts'
import { nowParameter } from '../database/now-parameter.ts'
import { enqueueJobs, type NewJob } from '../enqueue/enqueue.sql.ts'
import { type JobView, jobColumns, listColumns, withValues } from '../jobs/sql/job-view.ts'
import { noteEvents } from '../jobs/sql/transition.ts'
import type { CatchUp } from './model/catch-up.ts'
import type { Recurrence } from './model/recurrence.ts'

/** A scheduler without an answer checks again at its next tick; a process that ends waits at most this long. */
const tickMs = 8000

/** A schedule as the code defines it. */
export interface StoredSchedule {
  readonly name: string
  readonly kind: string
  readonly recurrence: Recurrence
  readonly catchUp: CatchUp
}

/**
 * A condition on the rows of retoma.schedule: no process had the schedule for 7 days. Time during which nothing ran does not count alone: the
 * watchdogs must have checked for an hour without a gap, in which a process with the schedule would have started. Otherwise a system that was
 * off for a week would lose the occurrences that `catchUp` promises.
 */
export const isForgotten = (now: string): string => `seen_at < ${now} - interval '7 days'
        and exists (select from retoma.periodic_lease where name = 'watchdog' and isfinite(since) and since <= ${now} - interval '1 hour')`

export interface ScheduleCheck {
  name: string
  /** The time of the database. */
  now: Date
  /** null: the schedule is not stored yet. */
  nextAt: Date | null
  due: boolean
  inForce: boolean
  /** Another recurrence is in force, and this recurrence may replace it. */
  mayTake: boolean
  /** The last check by a process with the recurrence in force. */
  seenAt: Date | null
  /** The occurrences pass without a job. */
  paused: boolean
}

// Writes once a minute, not at every check. Locks in order and skips locked rows: a concurrent check writes the same
// value.
const readDue = {
  name: 'schedule_due',
  text: `
    with mine as materialized (
      select m.name, m.recurrence from unnest($2::text[], $3::jsonb[]) as m (name, recurrence)
    ), seen as (
      update retoma.schedule
      set seen_at = coalesce($1::timestamptz, now())
      where name = any (array(
        select s.name
        from retoma.schedule s join mine m on m.name = s.name and m.recurrence = s.recurrence
        where s.seen_at < coalesce($1::timestamptz, now()) - interval '1 minute'
        order by s.name
        for update of s skip locked
      ))
    )
    select m.name, coalesce($1::timestamptz, now()) as now, s.next_at as "nextAt", s.seen_at as "seenAt",
      coalesce(s.next_at <= coalesce($1::timestamptz, now()), false) as due,
      coalesce(s.recurrence = m.recurrence, false) as "inForce", coalesce(s.paused, false) as paused,
      coalesce(s.recurrence <> m.recurrence and (m.recurrence <> all (s.retired) or s.seen_at < coalesce($1::timestamptz, now()) - interval '3 minutes'), false)
        as "mayTake"
    from mine m left join retoma.schedule s on s.name = m.name
    order by m.name`,
}

export function readSchedules(
  db: Db,
  schedules: readonly StoredSchedule[],
  now: Date | null,
): Promise<ScheduleCheck[]> {
  const names = schedules.map(each => each.name)
  const recurrences = schedules.map(each => JSON.stringify(each.recurrence))
  return db.run<ScheduleCheck>(readDue, [now, names, recurrences], tickMs)
}

// If several processes bring the same recurrence, one process wins and the others find it in force. A recurrence in force
// stays if a process with it checked meanwhile.
const bring = {
  name: 'schedule_register',
  text: `
    insert into retoma.schedule (name, kind, recurrence, catch_up, next_at, seen_at)
    values ($2, $3, $4, $5, $6, coalesce($1::timestamptz, now()))
    on conflict (name) do update
      set kind = excluded.kind, recurrence = excluded.recurrence, catch_up = excluded.catch_up, next_at = excluded.next_at, seen_at = excluded.seen_at,
        retired = (array_prepend(schedule.recurrence, array_remove(schedule.retired, excluded.recurrence)))[1:10]
      where schedule.recurrence <> excluded.recurrence
        and (excluded.recurrence <> all (schedule.retired) or schedule.seen_at < coalesce($1::timestamptz, now()) - interval '3 minutes')`,
}

/**
 * Puts the recurrence into force with its first occurrence, unless another process did so or keeps its own recurrence.
 */
export async function bringIntoForce(db: Db, schedule: StoredSchedule, nextAt: Date, now: Date | null): Promise<void> {
  const { name, kind, recurrence, catchUp } = schedule
  await db.run(bring, [now, name, kind, JSON.stringify(recurrence), catchUp, nextAt], tickMs)
}

const win = {
  name: 'schedule_win_occurrence',
  text: `
    update retoma.schedule
    set next_at = $5, kind = $3, catch_up = $6, seen_at = coalesce($1::timestamptz, now()),
      last_occurrence = coalesce($7, last_occurrence),
      last_at = case when $7::timestamptz is null then last_at else coalesce($1::timestamptz, now()) end
    where name = $2 and next_at = $8 and next_at <= coalesce($1::timestamptz, now()) and recurrence = $4 and paused = $9
    returning name`,
}

const noteJob = {
  name: 'schedule_note_job',
  text: `
    update retoma.schedule
    set last_job = $3, last_at = coalesce($1::timestamptz, now())
    where name = $2`,
}

export interface Firing {
  /** The due occurrence, as read before. */
  nextAt: Date
  /** The first occurrence after the enqueued occurrences. */
  afterwards: Date
  /** The last enqueued occurrence; undefined: none is enqueued, and the schedule only advances. */
  occurrence: Date | undefined
  jobs: readonly NewJob[]
  /** As read before: a pause or a resume in between leaves the occurrence to the next check. */
  paused: boolean
}

/** Returns the ids of the jobs; undefined: another process won the occurrence. */
export function fireOccurrences(
  db: Db,
  schedule: StoredSchedule,
  { nextAt, afterwards, occurrence, jobs, paused }: Firing,
  now: Date | null,
): Promise<string[] | undefined> {
  const { name, kind, recurrence, catchUp } = schedule
  return db.transaction(async client => {
    const run = runOn(client)
    await client.query(`set local lock_timeout = '500ms'`) // another transaction may hold the unique key
    const won = await run(win, [
      now,
      name,
      kind,
      JSON.stringify(recurrence),
      afterwards,
      catchUp,
      occurrence ?? null,
      nextAt,
      paused,
    ])
    if (won.length === 0) return undefined
    const made = await enqueueJobs(run, jobs, now)
    const last = made.at(-1)
    if (last !== undefined) await run(noteJob, [now, name, last.id])
    return made.map(each => each.id)
  }, tickMs)
}

const noteRun = {
  name: 'schedule_note_run',
  text: `
    insert into retoma.event (at, type, job_id, data)
    values (coalesce($1::timestamptz, now()), 'action', $3,
      jsonb_build_object('who', $4::text, 'what', 'run schedule', 'schedule', $2::text))`,
}

/**
 * Enqueues a job beside the recurrence, in a transaction. If a job has the unique key, returns that job and writes
 * nothing.
 */
export async function fireByHand(
  run: Run,
  name: string,
  job: NewJob,
  by: string | undefined,
  now: Date | null,
): Promise<{ id: string; created: boolean }> {
  const [made] = await enqueueJobs(run, [job], now)
  const { id, created } = made!
  if (created) {
    await run(noteJob, [now, name, id])
    await run(noteRun, [now, name, id, by ?? null])
  }
  return { id, created }
}

/** A schedule with its last and its next occurrence. */
export interface ScheduleView {
  name: string
  kind: string
  /** The recurrence in force: `{ cron, timeZone }`, or `{ every }` in milliseconds. */
  recurrence: Recurrence
  catchUp: CatchUp
  nextAt: Date
  /** The last occurrence with a job. */
  lastOccurrence: Date | null
  /** The creation of the last job, by recurrence or by hand. */
  lastAt: Date | null
  lastJob: string | null
  /** A process has the schedule in its code and checks the schedule; otherwise the schedule enqueues nothing. */
  active: boolean
  /** A person has paused the schedule: its occurrences pass without a job. */
  paused: boolean
}

const view = {
  name: 'schedule_view',
  text: `
    select s.name, s.kind, s.recurrence, s.catch_up as "catchUp", s.next_at as "nextAt", s.last_occurrence as "lastOccurrence", s.last_at as "lastAt",
      s.last_job as "lastJob", s.paused, s.seen_at >= coalesce($1::timestamptz, now()) - interval '3 minutes' as active
    from retoma.schedule s
    order by s.name`,
}

export const viewSchedules = (db: Db, now: Date | null): Promise<ScheduleView[]> => db.run<ScheduleView>(view, [now])

/** A job of a schedule, as a list shows jobs. */
export type ScheduledJob = JobView

/** The number of listed runs. */
const shownRuns = 10

const byRef = (ref: string, order: string) => `
  select id from retoma.job where ref is not null and id > 0 and ${ref} order by ${order} limit ${shownRuns}`

// The ref of a run is `name@instant`, unless the options of the schedule have a ref: the index of refs has the runs in the order of their
// instants. No name has an '@', and 'A' is the character after '@'.
const runs = {
  name: 'schedule_runs',
  text: `
    select ${listColumns('j')}
    from (
      select ${jobColumns} from retoma.job
      where id = any (array(
        (${byRef(`ref >= $1 || '@' and ref < $1 || 'A'`, 'ref desc, id desc')})
        union (${byRef('ref = $2', 'id desc')})
        union select $3::bigint
      ))
    ) j
    order by j.id desc
    limit ${shownRuns}`,
}

/** Reads the last jobs of a schedule, the newest first. `ref`: from the options of the schedule. */
export async function viewScheduleRuns(
  db: Db,
  { name, ref, lastJob }: { name: string; ref: string | null; lastJob: string | null },
): Promise<ScheduledJob[]> {
  const rows = await db.run<JobView>(runs, [name, ref, lastJob])
  return rows.map(withValues)
}

const scheduleAction = `jsonb_build_object('who', $5::text, 'what', case when $3 then 'pause schedule' else 'resume schedule' end, 'schedule', m.name)`

// A resume goes on with the first occurrence from now on: what passed during the pause is not caught up.
const pause = {
  name: 'schedule_pause',
  text: `
    with known as (select name from retoma.schedule where name = $2),
    moved as (
      update retoma.schedule
      set paused = $3, next_at = case when not $3 and next_at <= coalesce($1::timestamptz, now()) then $4 else next_at end
      where name = $2 and paused <> $3
      returning name
    ),
    ${noteEvents({ of: 'moved', type: 'action', data: scheduleAction }, nowParameter(1))}
    select exists (select from moved) as changed from known`,
}

/** Pauses or resumes a schedule; undefined: no process has stored the schedule. `nextAt`: the first occurrence from now on. */
export async function pauseSchedule(
  db: Db,
  name: string,
  given: { paused: boolean; nextAt: Date; by: string | undefined },
  now: Date | null,
): Promise<{ changed: boolean } | undefined> {
  const [row] = await db.run<{ changed: boolean }>(pause, [now, name, given.paused, given.nextAt, given.by ?? null])
  return row
}
