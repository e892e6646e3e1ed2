/** What is said of a queue as a whole: its limits, and whether it is paused. Claims ask the row itself, so a change counts at once. */
import { isGated, isGrouped, type Limits, type Rate } from '../core/limits.ts'
import { asQueueSays } from './control.ts'
import type { Db } from './db.ts'
import { noteEvents } from './event.ts'
import { inOpenLane } from './floor.ts'

// The queue's own gate comes with it, so that a claim never has to make it.
const setLimits = {
  name: 'queue_set_limits',
  text: `
    with given as materialized (
      select * from unnest($1::text[], $2::jsonb[], $3::bool[], $4::bool[]) as g (name, limits, gated, grouped)
    ), gate as (
      insert into retoma.gate (queue, group_key, used_at)
      select name, '', coalesce($5::timestamptz, now()) from given where gated order by name
      on conflict do nothing
    )
    insert into retoma.queue (name, limits, gated, grouped)
    select name, limits, gated, grouped from given order by name
    on conflict (name) do update
      set limits = excluded.limits, gated = excluded.gated, grouped = excluded.grouped
      where (queue.limits, queue.gated, queue.grouped) is distinct from (excluded.limits, excluded.gated, excluded.grouped)
    returning name`,
}

/** Answers the queues whose limits are others than before. */
export async function saveLimits(db: Db, limits: Limits, now: Date | null): Promise<string[]> {
  const all = Object.entries(limits)
  const rows = await db.run<{ name: string }>(setLimits, [
    all.map(([name]) => name),
    all.map(([, of]) => JSON.stringify(of)),
    all.map(([, of]) => isGated(of)),
    all.map(([, of]) => isGrouped(of)),
    now,
  ])
  return rows.map(row => row.name)
}

// In an index that tells: of a gated queue nothing may be in the open one, of an open queue nothing in the gated one. What
// comes into the open index comes at the present, ahead of every claim's mark.
const regate = {
  name: 'queue_regate',
  text: `
    with wrong as materialized (
      select j.id
      from retoma.queue q
        cross join lateral (
          select id from retoma.job
          where queue = q.name and state = 'waiting' and gated and not q.gated
          limit $1 for update skip locked
        ) j
      union all
      select j.id
      from retoma.queue q
        cross join lateral (
          select id from retoma.job
          where queue = q.name and state = 'waiting' and not gated and q.gated
          limit $1 for update skip locked
        ) j
    )
    update retoma.job j
    set ${asQueueSays},
      run_at = case when j.gated then greatest(j.run_at, coalesce($2::timestamptz, now())) else j.run_at end
    where j.id = any (array(select id from wrong))
    returning j.queue`,
}

// Jobs under a key that their queue no longer has are found by it. Those without one that should have it are in no index,
// so they are looked for only when the queue's groups have just come.
const regroup = {
  name: 'queue_regroup',
  text: `
    with wrong as materialized (
      select j.id
      from retoma.queue q
        join retoma.job j on j.queue = q.name and j.state = 'waiting' and j.gated
          and j.gate_key <> case when q.grouped then coalesce(j.group_key, '') else '' end
      where q.gated and (q.name = any ($1::text[]) or not q.grouped and j.gate_key > '')
      limit $2
      for update of j skip locked
    )
    update retoma.job j set ${asQueueSays}
    where j.id = any (array(select id from wrong))
    returning j.queue`,
}

const bite = 5000

/** Puts waiting jobs where their queue's limits, as they are now, want them. */
export async function regateJobs(db: Db, changed: readonly string[], now: Date | null): Promise<void> {
  while ((await db.run(regate, [bite, now])).length >= bite);
  while ((await db.run(regroup, [changed, bite])).length >= bite);
}

const pressedQueue = `jsonb_build_object('who', $4::text, 'what', case when m.paused then 'pause queue' else 'unpause queue' end, 'queue', m.name)`

const pause = {
  name: 'queue_pause',
  text: `
    with known as (select name, paused from retoma.queue where name = $1),
    moved as (
      update retoma.queue set paused = $2, unheld = unheld + (not $2)::int
      where name = $1 and paused <> $2
      returning name, paused
    ),
    ${noteEvents({ of: 'moved', type: 'action', data: pressedQueue }, 'coalesce($3::timestamptz, now())')}
    select known.paused, exists (select from moved) as changed from known`,
}

/** undefined: there is no such queue. */
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
  name: 'queue_take_sweep_turn',
  text: `
    update retoma.queue
    set swept_at = coalesce($3::timestamptz, now())
    where name = any ($1::text[]) and swept_at <= coalesce($3::timestamptz, now()) - make_interval(secs => $2 / 1000.0)
    returning name`,
}

/** Those of the queues that nobody has swept for so long; they are now this caller's to sweep. */
export async function takeSweepTurns(
  db: Db,
  queues: readonly string[],
  everyMs: number,
  now: Date | null,
): Promise<string[]> {
  const rows = await db.run<{ name: string }>(turn, [queues, everyMs, now])
  return rows.map(row => row.name)
}

// Counted no further than it matters, by index alone, and not at all where any number may wait.
const depth = {
  name: 'queue_depth',
  text: `
    with q as materialized (
      select (limits ->> 'maxDepth')::int as most, limits #> '{perGroup,admit}' as admit from retoma.queue where name = $1
    )
    select (select most from q) as "maxDepth", (select admit from q) as admit, (
      select count(*)::int from (
        (
          select 1 from generate_series(0, 19) as r (rank)
            cross join lateral (select from retoma.job where ${inOpenLane('$1', 'r.rank::smallint')} offset 0) j
          limit (select coalesce(most, 0) from q)
        )
        union all
        (select 1 from retoma.job where queue = $1 and state = 'waiting' and gated limit (select coalesce(most, 0) from q))
      ) w
    ) as waiting`,
}

export interface Depth {
  /** null: any number may wait, and none were counted. */
  maxDepth: number | null
  /** How many wait, counted up to that or a little further. */
  waiting: number
  /** How many of one group may come in within a time; null: any number. */
  admit: Rate | null
}

export async function depthOf(db: Db, name: string): Promise<Depth> {
  const [row] = await db.run<Depth>(depth, [name])
  return row!
}
