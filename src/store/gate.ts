/**
 * Gates: one row for each queue or group with a limit. What counts is kept in the row itself, so that whoever has locked
 * it reads its newest version (docs/adr/0006-limits.md).
 *
 * Invariant: gate.running is the number of gated jobs that run and count in it. A claim adds to it and every statement
 * that ends a lease takes away, each in the same statement; gates are locked after jobs, in the order of their keys, or
 * before any job by a claim, which never waits for a job.
 */
import type { Db } from './db.ts'

/**
 * Parts of a `with` that free the gates of those jobs that `moved` returned (queue, gated, gate_key), all of which ran.
 * Each gate is found by itself, through its key: a join could read them all.
 */
export const freeGates = (moved: string, now: string): string => `
  unleased as materialized (
    select f.queue, f.key, count(*)::int as n
    from (
      select m.queue, k.key
      from ${moved} m
        join retoma.queue q on q.name = any (array[m.queue])
        cross join lateral (
          select '' as key where q.limits ? 'concurrency'
          union all select m.gate_key where m.gate_key <> '' and q.limits -> 'perGroup' ? 'concurrency'
        ) k
      where m.gated
    ) f
    group by 1, 2
    order by 1, 2
  ), held_gate as materialized (
    select g.queue, g.group_key, u.n
    from unleased u cross join lateral (
      select queue, group_key from retoma.gate where queue = u.queue and group_key = u.key for update
    ) g
  ), freed_gate as (
    update retoma.gate g
    set running = greatest(g.running - h.n, 0), used_at = ${now}
    from held_gate h
    where g.queue = any (array[h.queue]) and g.group_key = any (array[h.group_key])
  )`

const add = {
  name: 'gate_add',
  text: `
    insert into retoma.gate (queue, group_key, used_at)
    select $1, key, coalesce($3::timestamptz, now()) from unnest($2::text[]) as k (key) order by key
    on conflict do nothing`,
}

/** A claim makes the gates it misses; enqueue does not, or a caller's long transaction would hold up its whole group. */
export async function addGates(db: Db, queue: string, keys: readonly string[], now: Date | null): Promise<void> {
  await db.run(add, [queue, keys, now])
}

// A claim and a settle change jobs and gates in one statement, so within one snapshot any difference is a real one, and it
// stays the same while others go on: it is taken off whatever the gate counts by then.
const recount = {
  name: 'gate_recount',
  text: `
    with counted as (
      select j.queue, k.key, count(*)::int as running
      from retoma.job j cross join lateral (select '' as key union all select j.gate_key where j.gate_key <> '') k
      where j.state = 'running' and j.gated
      group by 1, 2
    ), wrong as materialized (
      select g.queue, g.group_key, g.running - coalesce(c.running, 0) as surplus
      from retoma.gate g
        join retoma.queue q on q.name = any (array[g.queue])
        left join counted c on c.queue = g.queue and c.key = g.group_key
      where g.running <> coalesce(c.running, 0)
        and case when g.group_key = '' then q.limits else q.limits -> 'perGroup' end ? 'concurrency'
      order by 1, 2
      limit 1000
    ), locked as materialized (
      select w.*
      from wrong w cross join lateral (
        select from retoma.gate where queue = w.queue and group_key = w.group_key for update
      ) g
    )
    update retoma.gate g
    set running = greatest(g.running - l.surplus, 0)
    from locked l
    where g.queue = any (array[l.queue]) and g.group_key = any (array[l.group_key])
    returning g.queue, g.group_key as key`,
}

/** Puts right what a change of limits, or a mistake of ours, has left wrong; answers the gates it corrected. */
export const recountGates = (db: Db): Promise<{ queue: string; key: string }[]> => db.run(recount, [])
