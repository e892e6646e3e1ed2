/**
 * Stores the limits of queues and pauses queues. Claims read the row itself, so a change takes effect at once. The jobs that run count in new
 * limits in the same transaction, so that no claim sees a limit without the jobs that run.
 *
 * Invariant: the limits of the code replace the limits in force only if the code's own value has changed since the code set the value last. So
 * a restart of a process keeps the limits that an operator set.
 */

import { type Db, runOn } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { waitingJobs } from '../../jobs/sql/job-floor.ts'
import { limitKeyOf, limitsOfItsQueue, noteEvents } from '../../jobs/sql/transition.ts'
import { isLimited, type LimitsByQueue, type QueueLimits, type QueueRate, turnsOf } from '../model/queue-limits.ts'
import { countRunning } from './limit-counters.ts'

// The waiting jobs have another key from now on: `rekey` searches them.
const keysChangedAt = (now: string, from: string) =>
  `keys_changed_at = case when queue.limit_key_from is distinct from ${from} then ${now} else queue.keys_changed_at end`

// Inserts the limit counter of the queue too, so no claim has to add the counter.
const setLimits = {
  name: 'queue_set_limits',
  text: `
    with given as materialized (
      select * from unnest($1::text[], $2::jsonb[], $3::bool[], $4::text[]) as g (name, limits, limited, limit_key_from)
    ), gate as (
      insert into retoma.limit_counter (queue, group_key, used_at)
      select name, '', coalesce($5::timestamptz, now()) from given where limited order by name
      on conflict do nothing
    )
    insert into retoma.queue (name, limits, limited, limit_key_from, code_limits, keys_changed_at)
    select name, limits, limited, limit_key_from, limits, case when limit_key_from is not null then coalesce($5::timestamptz, now()) end
    from given
    order by name
    on conflict (name) do update
      set limits = excluded.limits, limited = excluded.limited, limit_key_from = excluded.limit_key_from, code_limits = excluded.code_limits,
        ${keysChangedAt('coalesce($5::timestamptz, now())', 'excluded.limit_key_from')}
      where queue.code_limits is distinct from excluded.code_limits
    returning name`,
}

/** Sets the limits that the code of an engine has; returns the queues whose code has other limits than before. */
export async function saveLimits(db: Db, limits: LimitsByQueue, now: Date | null): Promise<string[]> {
  const all = Object.entries(limits)
  const values = [
    all.map(([name]) => name),
    all.map(([, of]) => JSON.stringify(of)),
    all.map(([, of]) => isLimited(of)),
    all.map(([, of]) => turnsOf(of)),
    now,
  ]
  return db.transaction(async client => {
    const run = runOn(client)
    const rows = await run<{ name: string }>(setLimits, values)
    if (rows.length > 0) await countRunning(run, now)
    return rows.map(row => row.name)
  })
}

const changedLimits = `jsonb_build_object('who', $6::text, 'what', 'set limits', 'queue', m.name)`

const changeLimits = {
  name: 'queue_change_limits',
  text: `
    with known as (select name from retoma.queue where name = $1),
    gate as (
      insert into retoma.limit_counter (queue, group_key, used_at)
      select name, '', coalesce($5::timestamptz, now()) from known where $3::bool
      on conflict do nothing
    ), moved as (
      update retoma.queue
      set limits = $2::jsonb, limited = $3::bool, limit_key_from = $4::text,
        ${keysChangedAt('coalesce($5::timestamptz, now())', '$4::text')}
      where name = $1 and (limits, limited, limit_key_from) is distinct from ($2::jsonb, $3::bool, $4::text)
      returning name
    ),
    ${noteEvents({ of: 'moved', type: 'action', data: changedLimits }, nowParameter(5))}
    select exists (select from moved) as changed from known`,
}

/** Changes the limits of an existing queue for a person. Returns undefined if the queue does not exist. */
export async function changeQueueLimits(
  db: Db,
  name: string,
  limits: QueueLimits,
  now: Date | null,
  by?: string,
): Promise<{ changed: boolean } | undefined> {
  const values = [name, JSON.stringify(limits), isLimited(limits), turnsOf(limits), now, by ?? null]
  return db.transaction(async client => {
    const run = runOn(client)
    const [row] = await run<{ changed: boolean }>(changeLimits, values)
    if (row?.changed) await countRunning(run, now)
    return row
  })
}

// The index shows the wrong jobs: a limited queue must have no job in the open index, an open queue none in the limited
// index. A job that enters the open index gets a `run_at` of now, which lies after every claim cursor.
const relimit = {
  name: 'queue_update_limited',
  text: `
    with wrong as materialized (
      select j.id
      from retoma.queue q
        cross join lateral (
          select id from retoma.job
          where queue = q.name and state = 'waiting' and limited and not q.limited
          limit $1 for update skip locked
        ) j
      union all
      select j.id
      from retoma.queue q
        cross join lateral (
          select id from retoma.job
          where queue = q.name and state = 'waiting' and not limited and q.limited
          limit $1 for update skip locked
        ) j
    )
    update retoma.job j
    set ${limitsOfItsQueue},
      run_at = case when j.limited then greatest(j.run_at, coalesce($2::timestamptz, now())) else j.run_at end
    where j.id = any (array(select id from wrong))
    returning j.queue`,
}

// Jobs under a key that the queue no longer has are found by the key. Jobs that miss a key, or have a key of another kind, are in no
// index: the statement reads every limited job of the queue, and only after a change of the source of the keys. A job that a transaction
// enqueued before the change may be committed later, so the search ends with a search without a find one minute after the change.
const rekey = {
  name: 'queue_update_limit_keys',
  text: `
    with wrong as materialized (
      select w.id
      from retoma.queue q
        cross join lateral (
          select id from retoma.job
          where queue = q.name and state = 'waiting' and limited and limit_key <> ${limitKeyOf('q', 'group_key', 'batch_id')}
          limit $1
          for update skip locked
        ) w
      where q.limited and q.keys_changed_at is not null
      union all
      select w.id
      from retoma.queue q cross join generate_series(0, 19) as r (claim_rank)
        cross join lateral (
          select id from retoma.job
          where queue = q.name and claim_rank = r.claim_rank::smallint and state = 'waiting' and limited and limit_key > ''
          limit $1
          for update skip locked
        ) w
      where q.limited and q.limit_key_from is null
    ), done as (
      update retoma.queue set keys_changed_at = null
      where keys_changed_at <= coalesce($2::timestamptz, now()) - interval '1 minute' and not exists (select from wrong)
    )
    update retoma.job j set ${limitsOfItsQueue}
    where j.id = any (array(select id from wrong))
    returning j.queue`,
}

const chunkSize = 5000

/** Updates waiting jobs to the current limits of their queues, in chunks; calls `moved` after each chunk with jobs. */
export async function relimitJobs(db: Db, now: Date | null, moved: () => void = () => {}): Promise<void> {
  for (const [statement, values] of [
    [relimit, [chunkSize, now]],
    [rekey, [chunkSize, now]],
  ] as const) {
    let jobs: number
    do {
      jobs = (await db.run(statement, [...values])).length
      if (jobs > 0) moved()
    } while (jobs >= chunkSize)
  }
}

const queueAction = `jsonb_build_object('who', $4::text, 'what', case when m.paused then 'pause queue' else 'resume queue' end, 'queue', m.name)`

const pause = {
  name: 'queue_pause',
  text: `
    with known as (select name, paused from retoma.queue where name = $1),
    moved as (
      update retoma.queue set paused = $2, unblock_seq = unblock_seq + (not $2)::int,
        paused_at = case when $2 then ${nowParameter(3)} else paused_at end,
        resumed_at = case when $2 then resumed_at else ${nowParameter(3)} end
      where name = $1 and paused <> $2
      returning name, paused
    ),
    ${noteEvents({ of: 'moved', type: 'action', data: queueAction }, nowParameter(3))}
    select known.paused, exists (select from moved) as changed from known`,
}

/** Returns undefined if the queue does not exist. */
export async function pauseQueue(
  db: Db,
  name: string,
  paused: boolean,
  now: Date | null,
  by?: string,
): Promise<{ changed: boolean } | undefined> {
  const [row] = await db.run<{ changed: boolean }>(pause, [name, paused, now, by ?? null])
  return row && { changed: row.changed }
}

const turn = {
  name: 'queue_win_full_scan',
  text: `
    update retoma.queue
    set full_scan_at = coalesce($3::timestamptz, now())
    where name = any ($1::text[]) and full_scan_at <= coalesce($3::timestamptz, now()) - make_interval(secs => $2 / 1000.0)
    returning name`,
}

/** Takes the turn of a full scan for the queues without a full scan for `everyMs`; returns these queues. */
export async function takeFullScanTurns(
  db: Db,
  queues: readonly string[],
  everyMs: number,
  now: Date | null,
): Promise<string[]> {
  const rows = await db.run<{ name: string }>(turn, [queues, everyMs, now])
  return rows.map(row => row.name)
}

const readTurns = { name: 'queue_read_turns', text: `select turn_keys as keys from retoma.queue where name = $1` }

const saveTurns = {
  name: 'queue_save_turns',
  text: `update retoma.queue set turn_keys = $2::text[] where name = $1 and limit_key_from is not null`,
}

/** Returns the keys whose turn is next, by priority, as the last worker that shared the queue's turns saved the keys. */
export async function readTurnKeys(db: Db, name: string): Promise<string[]> {
  const [row] = await db.run<{ keys: string[] }>(readTurns, [name])
  return row?.keys ?? []
}

/** Saves the keys whose turn is next: a new worker begins there, and not at the first key as all others did. */
export async function saveTurnKeys(db: Db, name: string, keys: readonly string[]): Promise<void> {
  await db.run(saveTurns, [name, keys])
}

// Counts no further than `maxDepth`, by index only; counts nothing if the queue has no `maxDepth`.
const depth = {
  name: 'queue_depth',
  text: `
    with q as materialized (
      select (limits ->> 'maxDepth')::int as most, limits #> '{perGroup,admit}' as admit from retoma.queue where name = $1
    )
    select (select most from q) as "maxDepth", (select admit from q) as admit, (
      select count(*)::int from (
        select 1 from generate_series(0, 19) as r (claim_rank) cross join lateral (${waitingJobs('$1', '')}) j
        limit (select coalesce(most, 0) from q)
      ) w
    ) as waiting`,
}

export interface Depth {
  /** null: no bound, and `waiting` is not counted. */
  maxDepth: number | null
  /** Number of waiting jobs, counted up to `maxDepth`. */
  waiting: number
  /** The rate at which a group may enqueue; null: no bound. */
  admit: QueueRate | null
}

export async function depthOf(db: Db, name: string): Promise<Depth> {
  const [row] = await db.run<Depth>(depth, [name])
  return row!
}
