/**
 * Writes events about failures and actions. `noteEvents` is the part of a statement that inserts events; the rest of this file gives
 * events their positions and prunes events. read-events.ts reads events.
 *
 * Invariant: the statement that makes a change also inserts the event, from the rows it returned: no change without an event, no event
 * without a change, and no second event if the statement is sent again. Positions are given after the commit, by one transaction at a
 * time, so a reader who sees a position sees all earlier events (docs/adr/0013-events.md).
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { noteEvents } from '../../jobs/sql/transition.ts'
import { lockKeys } from '../../lib/lock-keys.ts'

// The warning is identified by `what` and the attempt: a statement sent twice writes a single event.
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
      nowParameter(6),
    )}
    select id from held`,
}

/** Writes a warning about an attempt that continues. Writes nothing once the lease is lost. */
export async function warnOfAttempt(
  db: Db,
  { id, attempt, worker }: { id: string; attempt: number; worker: string },
  what: string,
  facts: Readonly<Record<string, unknown>>,
  now: Date | null,
): Promise<void> {
  await db.run(warn, [id, attempt, worker, what, JSON.stringify(facts), now])
}

// The statement tries the lock before any read. The snapshot of the new owner may be older than the work of the previous owner: a row
// lock takes the newest version of a row, and rows with a position by now are skipped. The lock is released after the commit is visible,
// so a later position is never visible before an earlier position. Rows are found again by `ctid`, which cannot change while a row is
// locked; the array keeps every plan from scanning the table.
const place = {
  name: 'event_assign_seq',
  text: `
    with lock as materialized (
      select pg_try_advisory_xact_lock(${lockKeys.positions} # ('retoma.event'::regclass::oid::bigint << 33)) as ours
    ), free as materialized (
      select ctid as row, id from retoma.event
      where seq is null and (select ours from lock)
      order by id
      limit $1
      for update skip locked
    ), next as materialized (
      select r.row, nextval('retoma.event_seq_seq') as seq from unnest(array(select row from free order by id)) as r (row)
    ), placed as (
      update retoma.event e
      set seq = n.seq
      from next n
      where e.ctid = n.row
      returning e.id
    )
    select count(*)::int as placed from placed`,
}

const placeChunk = 2000
const deadlineMs = 8000

/**
 * Gives positions to at most 2,000 events and returns the number. 0: there are no events without a position, or another process is at
 * work.
 */
export async function placeEvents(db: Db): Promise<number> {
  const [row] = await db.run<{ placed: number }>(place, [placeChunk], deadlineMs)
  return row!.placed
}

/** Runs until no events without a position are left, or another process has the lock. */
export async function placeAllEvents(db: Db): Promise<void> {
  while ((await placeEvents(db)) > 0);
}

// In the order of the positions, up to the first young event. The deleted events are then all events before a position.
const prune = {
  name: 'event_prune',
  text: `
    with first as materialized (
      select seq, at < coalesce($3::timestamptz, now()) - make_interval(secs => $1 / 1000.0) as old
      from retoma.event
      where seq > (select coalesce(max(seq), 0) from retoma.event_pruned)
      order by seq
      limit $2
    ), gone as (
      delete from retoma.event
      where seq = any (array(
        select seq from first where old and seq < all (array(select seq from first where not old))
      ))
      returning seq
    ), noted as (
      update retoma.event_pruned r
      set seq = greatest(r.seq, (select max(seq) from gone))
      where exists (select from gone)
    )
    select count(*)::int as gone from gone`,
}

/** Deletes at most `limit` events older than `olderThanMs`. Returns the number. */
export async function pruneEvents(db: Db, olderThanMs: number, limit: number, now: Date | null): Promise<number> {
  const [row] = await db.run<{ gone: number }>(prune, [olderThanMs, limit, now], deadlineMs)
  return row!.gone
}
