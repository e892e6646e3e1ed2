/**
 * Events: what went wrong and what somebody pressed, told to whoever listens. `noteEvents` is the part of a statement that
 * writes them; the rest gives them their positions and takes them away again. read-event.ts reads them.
 *
 * Invariant: an event is inserted by the statement that makes its change, from what that returned: no change without its
 * event, no event without its change, and none a second time when the statement is sent again. Positions are given after
 * the commit, by one transaction at a time, so whoever sees one sees all before it (docs/adr/0013-events.md).
 */
import { lockKeys } from '../lib/lock-keys.ts'
import type { Db } from './db.ts'

interface Shape {
  /** The part of the `with` that returned what is told of; its rows are m in what follows. */
  of: string
  type: 'state' | 'action' | 'warning'
  /** SQL, as are the others; left out: it is of no job, of no batch, of every row. */
  job?: string
  batch?: string
  data: string
  where?: string
  /** What this part of the `with` is called, where there are two. */
  as?: string
}

/** Part of a `with`: one event for each row. */
export const noteEvents = (
  { of, type, job = 'null', batch = 'null', data, where, as = 'told' }: Shape,
  now: string,
) => `
  ${as} as (
    insert into retoma.event (at, type, job_id, batch_id, data)
    select ${now}, '${type}', ${job}, ${batch}, ${data}
    from ${of} m${where === undefined ? '' : ` where ${where}`}
  )`

/** The whole of it, and the stack, are in the job and its failures. */
const reason = `left(m.error ->> 'message', 1000)`

/**
 * Jobs that have come to a state worth telling: `of` returned id, batch_id, ref, attempt, failures, state and error. `from`: the
 * state they were in before. In a batch's own stream it is an `item`.
 */
export const noteJobStates = (
  of: string,
  now: string,
  { from = `'running'`, where }: { from?: string; where?: string } = {},
) =>
  noteEvents(
    {
      of,
      type: 'state',
      job: 'm.id',
      batch: 'm.batch_id',
      data: `jsonb_build_object('from', ${from}, 'to', m.state, 'ref', m.ref, 'attempt', m.attempt, 'failures', m.failures,
        'what', m.error ->> 'what', 'code', m.error ->> 'code', 'reason', ${reason})`,
      ...(where === undefined ? {} : { where }),
    },
    now,
  )

/** Somebody pressed `what`, and it moved these jobs: `of` returned id, batch_id, ref, attempt, was and state; `who`: SQL. */
export const noteJobActions = (what: string, of: string, now: string, who: string) =>
  noteEvents(
    {
      of,
      type: 'action',
      job: 'm.id',
      batch: 'm.batch_id',
      data: `jsonb_build_object('who', ${who}, 'what', '${what}', 'from', m.was, 'to', m.state, 'ref', m.ref, 'attempt', m.attempt)`,
    },
    now,
  )

/** Batches that the engine brought to another state: `of` returned id, was, state and reason. */
export const noteBatchStates = (of: string, now: string) =>
  noteEvents(
    {
      of,
      type: 'state',
      batch: 'm.id',
      data: `jsonb_build_object('from', m.was, 'to', m.state, 'reason', m.reason ->> 'code', 'facts', m.reason)`,
      where: 'm.was <> m.state',
      as: 'told_batch',
    },
    now,
  )

/** Somebody pressed `what`, and it moved these batches: `of` returned id, was and state; `who`: SQL. */
export const noteBatchActions = (what: string, of: string, now: string, who: string) =>
  noteEvents(
    {
      of,
      type: 'action',
      batch: 'm.id',
      data: `jsonb_build_object('who', ${who}, 'what', '${what}', 'from', m.was, 'to', m.state)`,
      as: 'told_batch',
    },
    now,
  )

// Known by what it says and the attempt it is of: a statement sent twice writes one.
const warn = {
  name: 'event_warn',
  text: `
    with held as materialized (
      select id, batch_id, ref, attempt from retoma.job where id = $1 and attempt = $2 and worker_id = $3
    ), ${noteEvents(
      {
        of: 'held',
        type: 'warning',
        job: 'm.id',
        batch: 'm.batch_id',
        data: `$5::jsonb || jsonb_build_object('what', $4::text, 'ref', m.ref, 'attempt', m.attempt)`,
        where: `(
          select true from retoma.event e
          where e.job_id = m.id and e.type = 'warning' and e.data @> jsonb_build_object('what', $4::text, 'attempt', m.attempt)
          limit 1
        ) is null`,
      },
      'coalesce($6::timestamptz, now())',
    )}
    select id from held`,
}

/** The engine has something to say about an attempt that goes on all the same. Nothing is written once its lease is lost. */
export async function warnOfAttempt(
  db: Db,
  { id, attempt, worker }: { id: string; attempt: number; worker: string },
  what: string,
  facts: Readonly<Record<string, unknown>>,
  now: Date | null,
): Promise<void> {
  await db.run(warn, [id, attempt, worker, what, JSON.stringify(facts), now])
}

// The lock is tried before anything is read. Who gets it may have a snapshot older than what the one before it did: a row
// lock takes the newest version of a row, and one that has its position by now is passed over. It is let go after the
// commit is seen, so a later position is never seen before an earlier one. Rows are found again by where they lie, which
// cannot change while they are locked; out of an array, so that no plan reads the table for them.
const place = {
  name: 'event_place',
  text: `
    with lock as materialized (
      select pg_try_advisory_xact_lock(${lockKeys.positions}) as ours
    ), free as materialized (
      select ctid as row, id from retoma.event
      where pos is null and (select ours from lock)
      order by id
      limit $1
      for update skip locked
    ), next as materialized (
      select r.row, nextval('retoma.event_pos_seq') as pos from unnest(array(select row from free order by id)) as r (row)
    ), placed as (
      update retoma.event e
      set pos = n.pos
      from next n
      where e.ctid = n.row
      returning e.id
    )
    select count(*)::int as placed from placed`,
}

const placeBite = 2000
const deadlineMs = 8000

/** Gives positions to at most 2,000; answers how many. None: there are none, or another process is at it. */
export async function placeEvents(db: Db): Promise<number> {
  const [row] = await db.run<{ placed: number }>(place, [placeBite], deadlineMs)
  return row!.placed
}

/** As long as there are any; whoever else places some meanwhile ends it. */
export async function placeAllEvents(db: Db): Promise<void> {
  while ((await placeEvents(db)) > 0);
}

// In the order of positions, up to the first that is too young: so what was removed is all that lies before one position.
const prune = {
  name: 'event_prune',
  text: `
    with first as materialized (
      select pos, at < coalesce($3::timestamptz, now()) - make_interval(secs => $1 / 1000.0) as old
      from retoma.event
      where pos > (select coalesce(max(pos), 0) from retoma.event_removed)
      order by pos
      limit $2
    ), gone as (
      delete from retoma.event
      where pos = any (array(
        select pos from first where old and pos < all (array(select pos from first where not old))
      ))
      returning pos
    ), noted as (
      update retoma.event_removed r
      set pos = greatest(r.pos, (select max(pos) from gone))
      where exists (select from gone)
    )
    select count(*)::int as gone from gone`,
}

/** Deletes at most `limit` that are older than that; answers how many. */
export async function pruneEvents(db: Db, olderThanMs: number, limit: number, now: Date | null): Promise<number> {
  const [row] = await db.run<{ gone: number }>(prune, [olderThanMs, limit, now], deadlineMs)
  return row!.gone
}
