/**
 * Batches as people and programs read them. Nothing here writes or locks, and nothing counts a batch's jobs: what has
 * ended is the sum of at most sixteen rows, what runs is counted among all that runs, and what waits is the rest.
 */
import type { BatchPolicy } from '../core/batch.ts'
import type { BatchState } from '../core/batch-state.ts'
import { etaOf, rateOf } from '../core/rate.ts'
import type { State } from '../core/state.ts'
import { sumsOf } from './batch-count.ts'
import type { Db } from './db.ts'
import { type JobView, jobColumns } from './view.ts'

/** A batch as it is now. */
export interface BatchView {
  id: string
  name: string
  key: string | null
  kind: string
  queue: string
  state: BatchState
  /** Why it is paused, stalled or failed: a code, and its facts. */
  reason: ({ code: string } & Record<string, unknown>) | null
  priority: number
  total: number
  waiting: number
  running: number
  stalled: number
  succeeded: number
  failed: number
  skipped: number
  cancelled: number
  /** Of a hundred, how many are final; null: it has none. */
  percent: number | null
  /** Items a second lately, and seconds until it is over at that rate; null when unknown or when it stands. */
  rate: number | null
  etaSeconds: number | null
  /** When the last attempt of an item ended, and that item's ref. */
  progressAt: Date | null
  lastRef: string | null
  resumes: number
  maxResumes: number
  /** How far into its list the submit has come. */
  taken: number
  /** Jobs still follow what was pressed. */
  following: boolean
  /** The onComplete job of its last end. */
  completeJob: string | null
  createdAt: Date
  submittedAt: Date | null
  finishedAt: Date | null
}

type Row = Omit<BatchView, 'waiting' | 'percent' | 'rate' | 'etaSeconds' | 'maxResumes'> & {
  policy: BatchPolicy
  ended: number
  sampleAges: number[]
  sampleDone: number[]
}

const now = `coalesce($1::timestamptz, now())`
const columns = `
  b.id::text as id, b.name, b.key, b.kind, b.queue, b.reason, b.priority, b.total, b.taken, b.resumes, b.policy,
  case when b.state = 'running' and p.progress_at is null and s.running = 0 then 'waiting' else b.state end as state,
  s.running, s.stalled, s.succeeded, s.failed, s.skipped, s.cancelled, s.ended,
  p.progress_at as "progressAt", p.last_ref as "lastRef", b.todo is not null as following,
  b.complete_job::text as "completeJob", b.created_at as "createdAt", b.submitted_at as "submittedAt", b.finished_at as "finishedAt",
  array(select extract(epoch from ${now} - at)::float8 from unnest(b.sample_at) with ordinality as t (at, n) order by n) as "sampleAges",
  b.sample_done as "sampleDone"`
const joined = `
  cross join lateral (${sumsOf('b.id')}) s
  left join lateral (
    select progress_at, last_ref from retoma.batch_count c
    where c.batch_id = b.id and progress_at is not null
    order by progress_at desc
    limit 1
  ) p on true`

const one = {
  name: 'view_batch',
  text: `
    select ${columns}
    from retoma.batch b ${joined}
    where b.id = $2 and b.todo is distinct from 'prune'`,
}

export async function viewBatch(db: Db, id: string, now: Date | null): Promise<BatchView | undefined> {
  const [row] = await db.run<Row>(one, [now, id])
  return row && toView(row)
}

const list = {
  name: 'view_batches',
  text: `
    select * from (
      select ${columns}
      from retoma.batch b ${joined}
      where b.id < $2 and b.todo is distinct from 'prune' and ($3::text is null or b.name = $3)
        and ($4::text is null or b.state = case when $4 = 'waiting' then 'running' else $4 end)
      order by b.id desc
    ) v
    where $4::text is null or v.state = $4
    limit $5`,
}

const maxId = '9223372036854775807'

/** The newest first. */
export async function viewBatches(
  db: Db,
  filter: { name?: string | undefined; state?: BatchState | undefined },
  after: string | undefined,
  limit: number,
  now: Date | null,
): Promise<BatchView[]> {
  const values = [now, after ?? maxId, filter.name ?? null, filter.state ?? null, limit]
  return (await db.run<Row>(list, values)).map(toView)
}

function toView({ policy, ended, sampleAges, sampleDone, ...row }: Row): BatchView {
  const stands = !['submitting', 'running'].includes(row.state)
  const samples = sampleAges.map((ageSeconds, i) => ({ ageSeconds, ended: sampleDone[i]! }))
  const rate = stands ? null : rateOf(samples, ended)
  return {
    ...row,
    waiting: row.total - ended - row.stalled - row.running,
    percent: row.total === 0 ? null : Math.floor((ended * 1000) / row.total) / 10,
    rate,
    etaSeconds: row.submittedAt === null ? null : etaOf(rate, row.total - ended),
    maxResumes: policy.maxResumes,
  }
}

// A page walks some of the id ranges of the batch's chunks and no further: it may be short though there is more.
const walk = {
  name: 'view_items',
  text: `
    with chunk as materialized (
      select n, first_id, last_id from retoma.batch_chunk
      where batch_id = $1 and last_id > $2
      order by n
      limit $5
    )
    select j.*, (select max(last_id)::text from chunk) as "walkedTo", (select count(*) from chunk) = $5 as more
    from (select 1) always
      left join (
        select found.*
        from chunk c
          cross join lateral (
            select ${jobColumns} from retoma.job
            where id between c.first_id and c.last_id and id > $2 and batch_id = $1 and ($3::text is null or state = $3)
            order by id
            limit $4
          ) found
        limit $4
      ) j on true`,
}

/** What runs or is stalled is little, and has an index of its own. */
const few = (state: 'running' | 'stalled') => ({
  name: `view_items_${state}`,
  text: `
    select ${jobColumns} from retoma.job
    where state = '${state}' and batch_id = $1 and id > $2
    order by id
    limit $3`,
})
const someRunning = few('running')
const someStalled = few('stalled')

const failed = {
  name: 'view_items_failed',
  text: `
    select ${jobColumns} from retoma.job
    where batch_id = $1 and state = 'failed'
      and (coalesce(error ->> 'cause', ''), id) > ($2, $3::bigint) and coalesce(error ->> 'cause', '') <= coalesce($4, 'g')
    order by coalesce(error ->> 'cause', ''), id
    limit $5`,
}

export interface ItemPage {
  items: JobView[]
  next: string | null
}

const chunksPerPage = 20

export interface ItemFilter {
  state?: State | undefined
  /** Failed ones of this cause alone. */
  cause?: string | undefined
}

/** Jobs of a batch in the order of their ids; failed ones by cause, and then so. */
export async function viewItems(
  db: Db,
  batch: string,
  { state, cause }: ItemFilter,
  after: string | undefined,
  limit: number,
): Promise<ItemPage> {
  if (state === 'failed') {
    const [place, id] = after === undefined ? [cause ?? '', '0'] : (after.split('.') as [string, string])
    const rows = await db.run<JobView>(failed, [batch, place, id, cause ?? null, limit + 1])
    return pageOf(rows, limit, last => `${last.error?.cause ?? ''}.${last.id}`)
  }
  if (state === 'running' || state === 'stalled') {
    const rows = await db.run<JobView>(state === 'running' ? someRunning : someStalled, [
      batch,
      after ?? '0',
      limit + 1,
    ])
    return pageOf(rows, limit, last => last.id)
  }
  const values = [batch, after ?? '0', state ?? null, limit + 1, chunksPerPage]
  const rows = await db.run<JobView & { id: string | null; walkedTo: string | null; more: boolean }>(walk, values)
  const { walkedTo, more } = rows[0]!
  const found = rows.filter(row => row.id !== null).map(({ walkedTo: _, more: __, ...row }) => row)
  const page = pageOf(found, limit, last => last.id)
  return page.next === null && more ? { ...page, next: walkedTo } : page
}

function pageOf(rows: JobView[], limit: number, cursor: (last: JobView) => string): ItemPage {
  const items = rows.slice(0, limit)
  return { items, next: rows.length > limit ? cursor(items.at(-1)!) : null }
}

/** Failed jobs of a batch that are the same trouble. */
export interface FailureGroup {
  cause: string
  /** Counted up to 10,000. */
  count: number
  more: boolean
  code: string | null
  /** Of one of them. */
  message: string
  /** Of some of them. */
  refs: string[]
  lastAt: Date
}

const mostCounted = 10_000
const mostGroups = 100

// From cause to cause through the index, not over all failures.
const groups = {
  name: 'view_failure_groups',
  text: `
    with recursive walk (cause, n) as (
      (select coalesce(error ->> 'cause', ''), 1 from retoma.job
       where batch_id = $1 and state = 'failed'
       order by coalesce(error ->> 'cause', '')
       limit 1)
      union all
      select next.cause, w.n + 1
      from walk w
        cross join lateral (
          select coalesce(error ->> 'cause', '') as cause from retoma.job
          where batch_id = $1 and state = 'failed' and coalesce(error ->> 'cause', '') > w.cause
          order by coalesce(error ->> 'cause', '')
          limit 1
        ) next
      where w.n < ${mostGroups}
    )
    select w.cause, least(c.n, ${mostCounted}) as count, c.n > ${mostCounted} as more,
      last.error ->> 'code' as code, last.error ->> 'message' as message, last.finished_at as "lastAt", r.refs
    from walk w
      cross join lateral (
        select count(*)::int as n from (
          select 1 from retoma.job
          where batch_id = $1 and state = 'failed' and coalesce(error ->> 'cause', '') = w.cause
          limit ${mostCounted + 1}
        ) few
      ) c
      cross join lateral (
        select error, finished_at from retoma.job
        where batch_id = $1 and state = 'failed' and coalesce(error ->> 'cause', '') = w.cause
        order by id desc
        limit 1
      ) last
      cross join lateral (
        select coalesce(array_agg(ref) filter (where ref is not null), '{}') as refs from (
          select ref from retoma.job
          where batch_id = $1 and state = 'failed' and coalesce(error ->> 'cause', '') = w.cause
          order by id
          limit 5
        ) few
      ) r
    order by count desc, w.cause`,
}

/** The most first; at most a hundred. */
export const viewFailureGroups = (db: Db, batch: string): Promise<FailureGroup[]> =>
  db.run<FailureGroup>(groups, [batch])
