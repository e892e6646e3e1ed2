/**
 * Limit counters: a row for each queue and each group with a limit. The row holds its own counts, so a process with the
 * lock on the row reads the newest counts (docs/adr/0006-limits.md).
 *
 * Invariant: `running` is the number of running limited jobs of the counter. A claim adds to the number and every
 * statement that ends a lease subtracts, each in the same statement. Counters are locked after jobs, in the order of
 * their keys. A claim locks counters before any job, and never waits for a job.
 */
import { type Db, type Run, runOn } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { groupHasConcurrency } from '../../jobs/sql/group-limits.ts'
import { limitKeyOf, limitsOfItsQueue } from '../../jobs/sql/transition.ts'

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

// Running jobs that started under other limits get the limits and the key of their queue. With SKIP LOCKED the statement waits for no job: a
// handler may hold the row of its job for long (`ctx.transaction`), and a settle ends its jobs at this moment.
const relimitRunning = {
  name: 'limit_counter_relimit_running',
  text: `
    with wrong as materialized (
      select j.id
      from retoma.job j join retoma.queue q on q.name = j.queue
      where j.state = 'running' and (j.limited <> q.limited or j.limit_key <> ${limitKeyOf('q', 'j.group_key', 'j.batch_id')})
      for no key update of j skip locked
    ), moved as (
      update retoma.job j set ${limitsOfItsQueue}
      where j.id = any (array(select id from wrong))
      returning j.queue, j.limit_key
    )
    insert into retoma.limit_counter (queue, group_key, used_at)
    select distinct m.queue, m.limit_key, ${nowParameter(1)}
    from moved m join retoma.queue q on q.name = any (array[m.queue])
    where m.limit_key <> '' and ${groupHasConcurrency('q.limits', 'm.limit_key')}
    order by 1, 2
    on conflict do nothing`,
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
      limit $1
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

export interface CorrectedCounter {
  queue: string
  key: string
}

const chunkSize = 1000

/**
 * Counts the running jobs by the current limits of their queues. `run` is a transaction: no settle may subtract a job from a counter
 * between the two statements, before the job is added.
 */
export async function countRunning(run: Run, now: Date | null): Promise<CorrectedCounter[]> {
  await run(relimitRunning, [now])
  const all: CorrectedCounter[] = []
  for (;;) {
    const corrected = await run<CorrectedCounter>(recount, [chunkSize])
    all.push(...corrected)
    if (corrected.length < chunkSize) return all
  }
}

const anyLimits = {
  name: 'limit_counter_any',
  text: `select exists (select from retoma.limit_counter) or exists (select from retoma.queue where limited) as found`,
}

/**
 * Corrects limit counters after a change of limits or a bug of the engine. Returns the corrected counters. A database without limits costs one
 * statement.
 */
export async function recountLimits(db: Db, now: Date | null): Promise<CorrectedCounter[]> {
  const [any] = await db.run<{ found: boolean }>(anyLimits, [])
  return any!.found ? db.transaction(client => countRunning(runOn(client), now)) : []
}
