/**
 * Stores the metrics of all workers, so that any process can report them. A value is a list of numbers that only grow: a
 * single number for a counter; for a histogram the count of each bucket, and the sum.
 *
 * Invariant: the sum over all rows never decreases and counts nothing twice. A worker writes totals, not differences, so
 * a write without an answer may be repeated. A worker writes only while its row in retoma.worker is alive; the write
 * locks this row, so a declaration of death comes before or after. The statement that deletes the rows of a dead worker
 * adds their values to the row with an empty process. Counts since the last write are lost if the worker crashes.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'

const writeMs = 1000
const tickMs = 8000
const now = nowParameter(1)

export interface Series {
  name: string
  labels: Readonly<Record<string, string>>
  value: readonly number[]
}

// An abandoned write that arrives after the next write changes nothing.
const write = {
  name: 'metric_write',
  text: `
    with home as materialized (
      select id from retoma.worker where id = $2 and dead_at is null for share
    )
    insert into retoma.metric as m (process, name, labels, value, at)
    select h.id, g.name, g.labels, g.value, ${now}
    from home h cross join unnest($3::text[], $4::jsonb[], $5::jsonb[]) as g (name, labels, value)
    on conflict (process, name, labels) do update set value = excluded.value, at = excluded.at where m.at <= excluded.at`,
}

const columns = (series: readonly Series[]) => [
  series.map(each => each.name),
  series.map(each => JSON.stringify(each.labels)),
  series.map(each => JSON.stringify(each.value)),
]

/** Writes all totals of the worker. Writes nothing for a worker declared dead. */
export async function writeMetrics(db: Db, worker: string, series: readonly Series[], now: Date | null): Promise<void> {
  await db.run(write, [now, worker, ...columns(series)], writeMs)
}

// Adds the lists element by element; an element missing in the shorter list counts as 0.
const sumOfBoth = `(
  select jsonb_agg(coalesce(a.n, '0')::numeric + coalesce(b.n, '0')::numeric order by place)
  from jsonb_array_elements_text(m.value) with ordinality as a (n, place)
    full join jsonb_array_elements_text(excluded.value) with ordinality as b (n, place) using (place)
)`
// Ordered by series, so that concurrent statements lock rows in the same order.
const addTo = (given: string) => `
  insert into retoma.metric as m (process, name, labels, value, at)
  select '', name, labels, value, ${now} from ${given} order by name, labels
  on conflict (process, name, labels) do update set at = excluded.at, value = ${sumOfBoth}`

const fold = {
  name: 'metric_fold',
  text: `
    with dead as materialized (
      select process, name, labels from retoma.metric m
      where process <> '' and not exists (select from retoma.worker w where w.id = m.process and w.dead_at is null)
      order by process, name, labels
      limit 5000
      for update skip locked
    ), gone as (
      delete from retoma.metric m
      using dead d
      where m.process = d.process and m.name = d.name and m.labels = d.labels
      returning m.name, m.labels, m.value
    ), part as (
      select g.name, g.labels, e.place, sum(e.n::numeric) as n
      from gone g cross join lateral jsonb_array_elements_text(g.value) with ordinality as e (n, place)
      group by 1, 2, 3
    ), left_behind as (
      select name, labels, jsonb_agg(n order by place) as value from part group by 1, 2
    )
    ${addTo('left_behind')}`,
}

/** Moves the values of dead workers to the row with an empty process. */
export async function foldMetrics(db: Db, now: Date | null): Promise<void> {
  await db.run(fold, [now], tickMs)
}

const add = {
  name: 'metric_add',
  text: `
    with given as (
      select g.name, g.labels, g.value from unnest($2::text[], $3::jsonb[], $4::jsonb[]) as g (name, labels, value)
    )
    ${addTo('given')}`,
}

/** Adds to series that belong to no worker. Must not be repeated: the values are differences. */
export async function addMetrics(db: Db, series: readonly Series[], now: Date | null): Promise<void> {
  if (series.length > 0) await db.run(add, [now, ...columns(series)], tickMs)
}
