/**
 * What workers have counted, kept so that any process can tell it of all. A value is a list of numbers that only grow: one for
 * a counter; of a histogram how many fell into each bucket, and their sum.
 *
 * Invariant: a sum over all rows never goes back, and nothing is in it twice. A worker writes what it has counted in all, not
 * what came since, so a write whose answer was lost may be sent again; and only while its row says that it lives, which it
 * locks: whoever declares it dead comes before or after. What the dead have left is added to the row of nobody by the statement
 * that deletes it. What a worker had counted since its last write is lost when it dies.
 */
import type { Db } from './db.ts'

const writeMs = 1000
const tickMs = 8000
const now = 'coalesce($1::timestamptz, now())'

export interface Series {
  name: string
  labels: Readonly<Record<string, string>>
  value: readonly number[]
}

// One that was given up and lands after the next one changes nothing.
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

/** All that this worker has counted so far. Nothing is written for one that was declared dead. */
export async function writeMetrics(db: Db, worker: string, series: readonly Series[], now: Date | null): Promise<void> {
  await db.run(write, [now, worker, ...columns(series)], writeMs)
}

// Place by place; a list that has grown since counts from nothing in its new places.
const sumOfBoth = `(
  select jsonb_agg(coalesce(a.n, '0')::numeric + coalesce(b.n, '0')::numeric order by place)
  from jsonb_array_elements_text(m.value) with ordinality as a (n, place)
    full join jsonb_array_elements_text(excluded.value) with ordinality as b (n, place) using (place)
)`
// In the order of the series: two who add at the same time lock them alike.
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

/** What workers that are gone have left is nobody's from now on. */
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

/** So much more of each, which are not a worker's own. Not to be sent again. */
export async function addMetrics(db: Db, series: readonly Series[], now: Date | null): Promise<void> {
  if (series.length > 0) await db.run(add, [now, ...columns(series)], tickMs)
}
