/**
 * Reads and writes the rows of retoma.guard: the turns to sweep, the results of sweeps, and the list for people.
 *
 * Invariant: a process wins a sweep by a conditional update of ticked_at, so ten processes sweep once per `every`; a
 * process without the turn writes nothing and waits for no lock. The count of a chunk is written in the chunk's own
 * transaction, so the sum is exact.
 */

import type { Db, Run } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import type { LocalizedText } from '../../errors/errors.ts'
import { noteEvents } from '../../jobs/sql/transition.ts'
import type { Duration } from '../../lib/values/duration.ts'
import type { Guard } from '../model/guard.ts'
import { type GuardValue, isNow, valueText } from '../model/guard-value.ts'
import { shownTable } from '../model/table-name.ts'

const tickMs = 8000

/** The condition and the effect of a guard, for display. */
export interface GuardAbout {
  table: string
  status: { column: string; running: (string | null)[] }
  signal: readonly string[]
  /** Milliseconds. */
  after: Duration
  every: Duration
  /** `now()` stands for the instant of the sweep. */
  set: Record<string, string | null>
  /** Kind of the job enqueued for each row; null: none. */
  kind: string | null
  /** Over HTTP only admins see the keys of the rows. */
  private: boolean
}

export function aboutOf({ table, status, signal, after, every, set, enqueue, private: isPrivate }: Guard): GuardAbout {
  const text = (value: Guard['set'][string]) => (isNow(value) ? 'now()' : valueText(value as GuardValue))
  return {
    table: shownTable(table),
    status: { column: status.column, running: status.running.map(valueText) },
    signal,
    after,
    every,
    set: Object.fromEntries(Object.entries(set).map(([column, value]) => [column, text(value)])),
    kind: enqueue?.job.kind ?? null,
    private: isPrivate,
  }
}

// After a failover to a server with a slower clock, a `ticked_at` in the future would block the guard, so it counts as
// null.
const readDue = {
  name: 'guard_due',
  text: `
    with mine as materialized (
      select * from unnest($2::text[], $3::jsonb[]) as m (name, about)
    ), made as (
      insert into retoma.guard (name, about)
      select m.name, m.about from mine m
      where not exists (select from retoma.guard g where g.name = m.name)
      order by m.name
      on conflict (name) do nothing
    )
    select m.name,
      case
        when g.swept_at is null or g.swept_at > coalesce($1::timestamptz, now()) + interval '1 second' then 0
        else greatest((m.about->>'every')::float8 - extract(epoch from coalesce($1::timestamptz, now()) - g.swept_at) * 1000, 0)
      end::float8 as "waitMs"
    from mine m left join retoma.guard g on g.name = m.name`,
}

/** Returns the milliseconds until each guard is due. Inserts a row for each new guard. */
export function readGuards(
  db: Db,
  guards: readonly Guard[],
  now: Date | null,
): Promise<{ name: string; waitMs: number }[]> {
  const abouts = guards.map(each => JSON.stringify(aboutOf(each)))
  return db.run(readDue, [now, guards.map(each => each.name), abouts], tickMs)
}

const win = {
  name: 'guard_win_sweep',
  text: `
    update retoma.guard
    set swept_at = coalesce($1::timestamptz, now()), about = $3, last_marked = 0
    where name in (
      select name from retoma.guard
      where name = $2
        and (
          swept_at is null
          or swept_at <= coalesce($1::timestamptz, now()) - make_interval(secs => ($3::jsonb->>'every')::float8 / 1000)
          or swept_at > coalesce($1::timestamptz, now()) + interval '1 second'
        )
      for update skip locked
    )
    returning name`,
}

/** Returns false if another process sweeps now or has swept. */
export async function winTurn(db: Db, guard: Guard, now: Date | null): Promise<boolean> {
  const won = await db.run(win, [now, guard.name, JSON.stringify(aboutOf(guard))], tickMs)
  return won.length > 0
}

const take = {
  name: 'guard_sweep_now',
  text: `
    with swept as (
      insert into retoma.guard (name, about, swept_at) values ($2, $3, coalesce($1::timestamptz, now()))
      on conflict (name) do update set swept_at = excluded.swept_at, about = excluded.about, last_marked = 0
      returning name
    ), ${noteEvents(
      {
        of: 'swept',
        type: 'action',
        data: `jsonb_build_object('who', $4::text, 'what', 'run guard', 'guard', m.name)`,
      },
      nowParameter(1),
    )}
    select name from swept`,
}

/** Takes the turn even if the guard is not due, because a person asked for a run. */
export async function takeTurn(db: Db, guard: Guard, by: string | undefined, now: Date | null): Promise<void> {
  await db.run(take, [now, guard.name, JSON.stringify(aboutOf(guard)), by ?? null], tickMs)
}

const count = {
  name: 'guard_count_marked',
  text: `update retoma.guard set last_marked = last_marked + $2, total = total + $2 where name = $1`,
}

/** Runs in the transaction of the chunk. */
export async function countMarked(run: Run, name: string, marked: number): Promise<void> {
  await run(count, [name, marked])
}

/** The error of the last failed sweep. */
export interface GuardError extends LocalizedText {
  readonly code: string
}

const note = {
  name: 'guard_write_result',
  text: `
    with before as materialized (
      select name, last_error from retoma.guard where name = $2 for update
    )
    update retoma.guard g
    set last_error = $3, warnings = coalesce($4, g.warnings),
      failing_since = case when $3::jsonb is null then null else coalesce(g.failing_since, coalesce($1::timestamptz, now())) end
    from before b
    where g.name = b.name
    returning b.last_error as "lastError"`,
}

/** Writes the result of a sweep and returns the previous error, so that the same error is logged once. */
export async function noteTurn(
  db: Db,
  name: string,
  { error, warnings }: { error: GuardError | null; warnings: readonly LocalizedText[] | null },
  now: Date | null,
): Promise<GuardError | null> {
  const json = (value: unknown) => (value === null ? null : JSON.stringify(value))
  const rows = await db.run<{ lastError: GuardError | null }>(note, [now, name, json(error), json(warnings)], tickMs)
  return rows[0]?.lastError ?? null
}

/** A guard with its last sweep. */
export interface GuardView extends GuardAbout {
  name: string
  /** The last sweep by any process; null: never. */
  lastSweepAt: Date | null
  /** Rows marked in the last sweep, and in all sweeps. */
  lastMarked: number
  total: number
  lastError: GuardError | null
  failingSince: Date | null
  /** Such as a missing index. */
  warnings: LocalizedText[]
  /** The guard sweeps on time. false: no process has the guard in its code, or no such process runs. */
  active: boolean
  /**
   * The guard swept within the last 7 days and is overdue now. A guard without a sweep for longer counts as retired.
   */
  late: boolean
}

const view = {
  name: 'guard_view',
  text: `
    select g.about, g.name, g.swept_at as "lastSweepAt", g.last_marked as "lastMarked", g.total::float8 as total,
      g.last_error as "lastError", g.failing_since as "failingSince", g.warnings,
      coalesce(
        g.swept_at >= coalesce($1::timestamptz, now()) - make_interval(secs => (g.about->>'every')::float8 / 1000) - interval '1 minute',
        false
      ) as active,
      coalesce(g.swept_at >= coalesce($1::timestamptz, now()) - interval '7 days', false) as lately
    from retoma.guard g
    order by g.name`,
}

export async function viewGuards(db: Db, now: Date | null): Promise<GuardView[]> {
  type Row = Omit<GuardView, keyof GuardAbout | 'late'> & { about: GuardAbout; lately: boolean }
  const rows = await db.run<Row>(view, [now], tickMs)
  return rows.map(({ about, lately, ...row }) => ({ ...row, ...about, late: lately && !row.active }))
}
