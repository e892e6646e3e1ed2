/**
 * Lists jobs by filter, newest first, in pages. Reads only.
 *
 * Invariant: no page reads more than a fixed number of rows, for any filter and any number of finished jobs. So a page
 * may be short or empty although `next` is set. Every listed job matches the filter, and a job that matches from the
 * first page to the last is never missing.
 */

import type { Db, Statement } from '../../database/db.ts'
import type { ListPage } from '../../lib/values/page.ts'
import type { JobState } from '../model/state.ts'
import { type JobView, jobColumns, listColumns, withValues } from './job-view.ts'

/** Selects jobs of `engine.jobs.list`. */
export interface JobFilter {
  /** Only jobs in this state. Default: any. */
  state?: JobState | undefined
  /** Only jobs of this kind. Default: any. */
  kind?: string | undefined
  /** Only jobs of this queue. Default: any. */
  queue?: string | undefined
  /** Only jobs of this group. Default: any. */
  groupKey?: string | undefined
  /** Only jobs with this `ref`. Default: any. */
  ref?: string | undefined
  /** Finds the jobs with this unique key: at most one of each kind. Default: any. */
  key?: string | undefined
  /** Finds jobs created before this instant. Default: any. */
  createdBefore?: Date | undefined
  /** Finds jobs created at this instant or later. Default: any. */
  createdAfter?: Date | undefined
  /** Finds jobs whose last error has this text in its message or is of this code, in capitals or not. Default: any. */
  error?: string | undefined
  /** Finds the running jobs of this worker. Default: any. */
  worker?: string | undefined
  /** Leaves out jobs of these kinds. Default: none. */
  except?: readonly string[] | undefined
}

/** The columns to read from retoma.job, and the columns that a page shows. */
interface Columns {
  columns: string
  shown: (of: string) => string
}

/** `walked`: rows a page reads. `sorted`: rows of a state that a page sorts. */
const walked = 10_000
const sorted = 5000

const wanted = (state: string) => `
  ${state}
  and ($3::text is null or kind = $3)
  and ($4::text is null or queue = $4)
  and ($5::text is null or "groupKey" = $5)
  and ($6::text is null or ref = $6)
  and ($7::timestamptz is null or "createdAt" < $7)
  and ($9::timestamptz is null or "createdAt" >= $9)
  and ($10::text is null or error ->> 'code' = $10 or position(lower($10) in lower(error ->> 'message')) > 0)
  and kind <> all ($11::text[])`

// Both sides stop once the page is full. Only a page that is not full computes the end of the walk, in the same snapshot.
const walk = ({ columns, shown }: Columns, of: string, state: string) => `
    with page as materialized (
      select w.*
      from (select ${columns} from retoma.job where ${of} id < $1 order by id desc limit ${walked}) w
      where ${wanted(state)}
      limit $8
    )
    select ${shown('p')}, case when (select count(*) from page) < $8 then (
        select case when count(*) = ${walked} and ($9::timestamptz is null or max(created_at) >= $9) then min(id)::text end
        from (select id, created_at from retoma.job where ${of} id < $1 order by id desc limit ${walked}) w
      ) end as "walkedTo"
    from (select 1) always left join page p on true
    order by p.id desc`

// The index is not in the order of ids; up to `sorted` rows are sorted.
const sort = ({ columns, shown }: Columns, from: string, state: JobState) => `
    with few as materialized (
      select id, kind, queue, group_key as "groupKey", ref, created_at as "createdAt", error from (${from}) l
    ), found as materialized (
      select id from few
      where id < $1 and (select count(*) from few) <= ${sorted} and ${wanted(`'${state}' = coalesce($2, '${state}')`)}
      order by id desc
      limit $8
    )
    select ${shown('j')}, (select count(*) from few) > ${sorted} as many
    from (select 1) always
      left join (select ${columns} from retoma.job where id = any (array(select id from found))) j on true
    order by j.id desc`

const live = (state: string) =>
  `select id, kind, queue, group_key, ref, created_at, error from retoma.job where ${state} limit ${sorted + 1}`

/** The statements for a page; the filter decides which statement runs. */
const ways = (name: string, columns: Columns) => ({
  all: { name: `list_${name}`, text: walk(columns, '', '($2::text is null or state = $2)') },
  // Usually few rows, with a partial index of their own. The text must match the predicate of the index.
  failed: {
    name: `list_${name}_failed`,
    text: walk(columns, `state = 'failed' and id > 0 and`, `state = coalesce($2, state)`),
  },
  stalled: {
    name: `list_${name}_stalled`,
    text: walk(columns, `state = 'stalled' and`, `state = coalesce($2, state)`),
  },
  running: { name: `list_${name}_running`, text: sort(columns, live(`state = 'running'`), 'running') },
  waiting: {
    name: `list_${name}_waiting`,
    text: sort(
      columns,
      `(${live(`state = 'waiting' and not limited`)}) union all (${live(`state = 'waiting' and limited`)})`,
      'waiting',
    ),
  },
  // Uses the index of unique keys, for each known kind.
  keyed: {
    name: `list_${name}_key`,
    text: `
    select ${columns.shown('w')}
    from (select name as known from retoma.kind) k
      cross join lateral (
        select ${columns.columns} from retoma.job where kind = k.known and key = $12 and unique_until is not null and id + 0 < $1 offset 0
      ) w
    where ${wanted('($2::text is null or state = $2)')}
    order by id desc
    limit $8`,
  },
  // Uses the index of refs, in the order of the ids of a ref.
  referred: {
    name: `list_${name}_ref`,
    text: `
    select ${columns.shown('w')}
    from (
      select ${columns.columns} from retoma.job where ref = $6 and id > 0 and id < $1 order by ref desc, id desc limit ${walked}
    ) w
    where ${wanted('($2::text is null or state = $2)')}
    order by id desc
    limit $8`,
  },
  // Uses the index of running jobs, of the worker alone.
  leased: {
    name: `list_${name}_worker`,
    text: `
    select ${columns.shown('w')}
    from (
      select ${columns.columns} from retoma.job where state = 'running' and worker_id = $12 order by worker_id, started_at limit ${sorted}
    ) w
    where id + 0 < $1 and ${wanted('($2::text is null or state = $2)')}
    order by id desc
    limit $8`,
  },
})

const whole = ways('jobs', { columns: jobColumns, shown: listColumns })
const idsOnly = ways('ids', {
  columns: 'id, state, kind, queue, group_key as "groupKey", ref, created_at as "createdAt", error',
  shown: of => `${of}.*`,
})

const knownKind = { name: 'list_jobs_kind', text: `select 1 from retoma.kind where name = $1` }
const top = {
  name: 'list_top',
  text: `select (coalesce((select id from retoma.job order by id desc limit 1), 0) + 1)::text as id`,
}

/** Returns an id above every existing job. A list that starts here excludes later jobs. */
export async function topOfList(db: Db): Promise<string> {
  const [row] = await db.run<{ id: string }>(top, [])
  return row!.id
}

const inState = {
  name: 'list_ids_in',
  text: `select j.id::text from retoma.job j where j.id = any ($1::bigint[]) and j.state = $2 and j.kind <> all ($3::text[]) order by j.id`,
}

/** The jobs among `ids` that are in a state, without jobs of `except`. */
export async function idsIn(
  db: Db,
  ids: readonly string[],
  state: JobState,
  except: readonly string[] = [],
): Promise<string[]> {
  return (await db.run<{ id: string }>(inState, [ids, state, except])).map(row => row.id)
}

const maxId = '9223372036854775807'

type Row<T> = T & { walkedTo?: string | null; many?: boolean }

/** `after`: the `next` of the previous page. */
export const listJobs = (
  db: Db,
  filter: JobFilter,
  after: string | undefined,
  limit: number,
): Promise<ListPage<JobView>> =>
  list<JobView>(db, whole, filter, after, limit).then(page => ({ ...page, items: page.items.map(withValues) }))

/** Lists ids only, because inputs and results may be large. */
export const listIds = (
  db: Db,
  filter: JobFilter,
  after: string | undefined,
  limit: number,
): Promise<ListPage<{ id: string }>> => list<{ id: string }>(db, idsOnly, filter, after, limit)

async function list<T extends { id: string }>(
  db: Db,
  way: typeof whole,
  filter: JobFilter,
  after: string | undefined,
  limit: number,
): Promise<ListPage<T>> {
  const { state, kind, queue, groupKey, ref, createdBefore, createdAfter, error, key, worker, except } = filter
  // Reads an extra row to know whether a next page exists.
  const values = [
    ...[after ?? maxId, state ?? null, kind ?? null, queue ?? null],
    ...[groupKey ?? null, ref ?? null, createdBefore ?? null, limit + 1, createdAfter ?? null, error ?? null],
    except ?? [],
  ]
  const ask = (statement: Statement, more: unknown[] = []) => db.run<Row<T>>(statement, [...values, ...more])
  /** Returns undefined if the rows are too many to sort. */
  const few = async (statement: Statement) => {
    const rows = await ask(statement)
    return rows[0]?.many ? undefined : page<T>(rows, limit)
  }
  if (key !== undefined) return page(await ask(way.keyed, [key]), limit)
  if (worker !== undefined) return page(await ask(way.leased, [worker]), limit)
  if (ref !== undefined) return page(await ask(way.referred), limit)
  // An unknown kind has no jobs, so the walk is not necessary.
  if (kind !== undefined && (await db.run(knownKind, [kind])).length === 0) return { items: [], next: null }
  if (state === 'failed' || state === 'stalled') return page(await ask(way[state]), limit)
  if (state === 'running') return (await few(way.running)) ?? page(await ask(way.all), limit)
  const found = page<T>(await ask(way.all), limit)
  if (state !== 'waiting' || found.items.length === limit || found.next === null) return found
  return (await few(way.waiting)) ?? found
}

function page<T extends { id: string }>(rows: readonly Row<T>[], limit: number): ListPage<T> {
  const found = rows.filter(row => row.id !== null)
  const items = found.slice(0, limit).map(({ walkedTo: _, many: __, ...job }) => job as unknown as T)
  return { items, next: found.length > limit ? items.at(-1)!.id : (rows[0]?.walkedTo ?? null) }
}
