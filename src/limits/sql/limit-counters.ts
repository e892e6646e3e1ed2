/**
 * Limit counters: a row for each queue and each group with a limit. The row holds its own counts, so a process with the
 * lock on the row reads the newest counts (docs/adr/0006-limits.md).
 *
 * Invariant: gate.running is the number of running limited jobs of the counter. A claim adds to the number and every
 * statement that ends a lease subtracts, each in the same statement. Counters are locked after jobs, in the order of
 * their keys. A claim locks counters before any job, and never waits for a job.
 */
import type { Db } from '../../database/db.ts'
import { groupHasConcurrency } from '../../jobs/sql/group-limits.ts'

const add = {
  name: 'limit_counter_add',
  text: `
    insert into retoma.limit_counter (queue, group_key, used_at)
    select $1, key, coalesce($3::timestamptz, now()) from unnest($2::text[]) as k (key) order by key
    on conflict do nothing`,
}

/**
 * Adds missing limit counters before a claim. An enqueue adds none: a caller's long transaction would block the whole
 * group.
 */
export async function addLimitCounters(
  db: Db,
  queue: string,
  keys: readonly string[],
  now: Date | null,
): Promise<void> {
  await db.run(add, [queue, keys, now])
}

// A claim and a settle change jobs and limit counters in one statement, so every difference within a snapshot is real.
// The difference stays the same while other processes claim and settle, so the update subtracts it from the counter's
// newest value.
const recount = {
  name: 'limit_counter_recount',
  text: `
    with counted as (
      select j.queue, k.key, count(*)::int as running
      from retoma.job j cross join lateral (select '' as key union all select j.limit_key where j.limit_key <> '') k
      where j.state = 'running' and j.limited
      group by 1, 2
    ), wrong as materialized (
      select g.queue, g.group_key, g.running - coalesce(c.running, 0) as surplus
      from retoma.limit_counter g
        join retoma.queue q on q.name = any (array[g.queue])
        left join counted c on c.queue = g.queue and c.key = g.group_key
      where g.running <> coalesce(c.running, 0)
        and case when g.group_key = '' then q.limits ? 'concurrency' else ${groupHasConcurrency('q.limits', 'g.group_key')} end
      order by 1, 2
      limit 1000
    ), locked as materialized (
      select w.*
      from wrong w cross join lateral (
        select from retoma.limit_counter where queue = w.queue and group_key = w.group_key for update
      ) g
    )
    update retoma.limit_counter g
    set running = greatest(g.running - l.surplus, 0)
    from locked l
    where g.queue = any (array[l.queue]) and g.group_key = any (array[l.group_key])
    returning g.queue, g.group_key as key`,
}

/** Corrects limit counters after a change of limits or a bug of the engine. Returns the corrected counters. */
export const recountLimits = (db: Db): Promise<{ queue: string; key: string }[]> => db.run(recount, [])
