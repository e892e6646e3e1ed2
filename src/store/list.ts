/**
 * Jobs by filter, newest first, a page at a time. Reads only.
 *
 * Invariant: no page looks at more than so many rows, whatever the filter and however many are finished: it may be short,
 * or empty, though there is a `next`. What is found is right; nothing that was there from the first page to the last is
 * left out.
 */
import type { Page } from '../core/page.ts'
import type { State } from '../core/state.ts'
import type { Db } from './db.ts'
import { type JobView, jobColumns } from './view.ts'

export interface JobFilter {
  state?: State | undefined
  kind?: string | undefined
  queue?: string | undefined
  groupKey?: string | undefined
  ref?: string | undefined
  /** The job that holds it: at most one of each kind. */
  key?: string | undefined
  /** Those that came in before. */
  createdBefore?: Date | undefined
}

/** So many rows a page looks at, and so many of a state it sorts. */
const walked = 20_000
const sorted = 5000

const wanted = (state: string) => `
  ${state}
  and ($3::text is null or kind = $3)
  and ($4::text is null or queue = $4)
  and ($5::text is null or "groupKey" = $5)
  and ($6::text is null or ref = $6)
  and ($7::timestamptz is null or "createdAt" < $7)`

// Both sides stop where the page is full. Where the walk ended is asked only when it is not, and by the same snapshot.
const walk = (name: string, of: string, state: string) => ({
  name,
  text: `
    with page as materialized (
      select w.*
      from (select ${jobColumns} from retoma.job where ${of} id < $1 order by id desc limit ${walked}) w
      where ${wanted(state)}
      limit $8
    )
    select p.*, case when (select count(*) from page) < $8 then (
        select case when count(*) = ${walked} then min(id)::text end
        from (select id from retoma.job where ${of} id < $1 order by id desc limit ${walked}) w
      ) end as "walkedTo"
    from (select 1) always left join page p on true
    order by p.id desc`,
})

const all = walk('list_jobs', '', '($2::text is null or state = $2)')
// Few as a rule, and in an index of their own.
const failed = walk('list_jobs_failed', `state = 'failed' and`, `state = coalesce($2, state)`)
const stalled = walk('list_jobs_stalled', `state = 'stalled' and`, `state = coalesce($2, state)`)

// Not in the order of ids; while they are not many they are sorted.
const sort = (name: string, from: string, state: State) => ({
  name,
  text: `
    with some as materialized (
      select id, kind, queue, group_key as "groupKey", ref, created_at as "createdAt" from (${from}) live
    ), found as materialized (
      select id from some
      where id < $1 and (select count(*) from some) <= ${sorted} and ${wanted(`'${state}' = coalesce($2, '${state}')`)}
      order by id desc
      limit $8
    )
    select j.*, (select count(*) from some) > ${sorted} as many
    from (select 1) always
      left join (select ${jobColumns} from retoma.job where id = any (array(select id from found))) j on true
    order by j.id desc`,
})

const columns = 'id, kind, queue, group_key, ref, created_at'
const running = sort(
  'list_jobs_running',
  `select ${columns} from retoma.job where state = 'running' limit ${sorted + 1}`,
  'running',
)
const waiting = sort(
  'list_jobs_waiting',
  `(select ${columns} from retoma.job where state = 'waiting' and not gated limit ${sorted + 1})
      union all
      (select ${columns} from retoma.job where state = 'waiting' and gated limit ${sorted + 1})`,
  'waiting',
)

// By the index of held keys, for each kind there is.
const keyed = {
  name: 'list_jobs_key',
  text: `
    select w.*
    from retoma.kind k
      cross join lateral (
        select ${jobColumns} from retoma.job where kind = k.name and key = $9 and key_hold is not null and id < $1
      ) w
    where ${wanted('($2::text is null or state = $2)')}
    order by id desc
    limit $8`,
}

const knownKind = { name: 'list_jobs_kind', text: `select 1 from retoma.kind where name = $1` }
const maxId = '9223372036854775807'

type Row = JobView & { walkedTo?: string | null; many?: boolean }

/** `after`: the `next` of the page before. */
export async function listJobs(
  db: Db,
  filter: JobFilter,
  after: string | undefined,
  limit: number,
): Promise<Page<JobView>> {
  const { state, kind, queue, groupKey, ref, createdBefore, key } = filter
  // One row more than the page has, so that it is known whether there is one.
  const values = [
    ...[after ?? maxId, state ?? null, kind ?? null, queue ?? null],
    ...[groupKey ?? null, ref ?? null, createdBefore ?? null, limit + 1],
  ]
  if (key !== undefined) return page(await db.run<Row>(keyed, [...values, key]), limit)
  // A kind that nobody ever brought has no job, however far one looks.
  if (kind !== undefined && (await db.run(knownKind, [kind])).length === 0) return { items: [], next: null }
  if (state === 'failed') return page(await db.run<Row>(failed, values), limit)
  if (state === 'stalled') return page(await db.run<Row>(stalled, values), limit)
  if (state === 'running')
    return (await fewOf(db, running, values, limit)) ?? page(await db.run<Row>(all, values), limit)
  const found = page(await db.run<Row>(all, values), limit)
  if (state !== 'waiting' || found.items.length === limit || found.next === null) return found
  return (await fewOf(db, waiting, values, limit)) ?? found
}

/** undefined: they are too many to be sorted. */
async function fewOf(
  db: Db,
  statement: typeof waiting,
  values: unknown[],
  limit: number,
): Promise<Page<JobView> | undefined> {
  const rows = await db.run<Row>(statement, values)
  return rows[0]?.many ? undefined : page(rows, limit)
}

function page(rows: readonly Row[], limit: number): Page<JobView> {
  const found = rows.filter(row => row.id !== null)
  const items = found.slice(0, limit).map(({ walkedTo: _, many: __, ...job }) => job)
  return { items, next: found.length > limit ? items.at(-1)!.id : (rows[0]?.walkedTo ?? null) }
}
