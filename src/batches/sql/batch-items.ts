/**
 * Reads the jobs of a batch in pages, and the failed jobs by error fingerprint. No page scans a million rows to find fifty, and no
 * statement scans all failures.
 */

import type { Db } from '../../database/db.ts'
import type { JobState } from '../../jobs/model/state.ts'
import { type JobView, jobColumns, listColumns, withValues } from '../../jobs/sql/job-view.ts'
import { type ListPage, pageOf } from '../../lib/values/page.ts'

// A page scans a limited number of `batch_chunk` ranges, so a page may be short although more jobs follow.
const walk = {
  name: 'view_items',
  text: `
    with chunk as materialized (
      select n, first_id, last_id from retoma.batch_chunk
      where batch_id = $1 and last_id > $2
      order by n
      limit $5
    )
    select ${listColumns('j')}, (select max(last_id)::text from chunk) as "walkedTo", (select count(*) from chunk) = $5 as more
    from (select 1) always
      left join (
        select found.*
        from chunk c
          cross join lateral (
            select ${jobColumns} from retoma.job
            where id between c.first_id and c.last_id and id > $2 and batch_id = $1 and ($3::text is null or state = $3)
              and ($6::text is null or starts_with(ref, $6))
            order by id
            limit $4
          ) found
        limit $4
      ) j on true`,
}

/** Running and stalled jobs are few and have an index of their own. */
const few = (state: 'running' | 'stalled') => ({
  name: `view_items_${state}`,
  text: `
    select ${listColumns('j')}
    from (
      select ${jobColumns} from retoma.job
      where state = '${state}' and batch_id = $1 and id + 0 > $2
      order by id + 0
      limit $3
    ) j
    order by j.id`,
})
const someRunning = few('running')
const someStalled = few('stalled')

const failed = {
  name: 'view_items_failed',
  text: `
    select ${listColumns('j')}
    from (
      select ${jobColumns} from retoma.job
      where batch_id = $1 and state = 'failed'
        and (coalesce(error ->> 'cause', ''), id) > ($2, $3::bigint) and coalesce(error ->> 'cause', '') <= coalesce($4, 'g')
      order by coalesce(error ->> 'cause', ''), id
      limit $5
    ) j
    order by coalesce(j.error ->> 'cause', ''), j.id`,
}

/** A page of items of a batch. */
export type ItemPage = ListPage<JobView>

const chunksPerPage = 20

// The first item of the list from a position on: the chunk by the numbers of items, then the item inside of the chunk.
const jump = {
  name: 'view_items_jump',
  text: `
    select j.id - 1 as after
    from (
      select c.first_id, c.last_id, $2::bigint - c.before as skipped
      from (
        select n, first_id, last_id, items, sum(items) over (order by n) - items as before from retoma.batch_chunk where batch_id = $1
      ) c
      where c.before <= $2::bigint
      order by c.n desc
      limit 1
    ) at
      cross join lateral (
        select id from retoma.job
        where batch_id = $1 and id between at.first_id and at.last_id
        order by id
        offset at.skipped
        limit 1
      ) j`,
}

/** The cursor before the item at a position of the list, from 0; undefined: the list is shorter. */
export async function jumpToItem(db: Db, batch: string, offset: number): Promise<string | undefined> {
  const [row] = await db.run<{ after: string }>(jump, [batch, offset])
  return row?.after
}

/** Selects items of a batch. */
export interface ItemFilter {
  /** Only items in this state. Default: any. */
  state?: JobState | undefined
  /** Only failed jobs with this error fingerprint. Default: any. */
  cause?: string | undefined
  /** Only items whose `ref` begins with this text; not with `cause`, nor with the states `failed`, `running` and `stalled`. Default: any. */
  ref?: string | undefined
}

/** Returns the jobs of a batch in the order of the ids; failed jobs in the order of the error fingerprint, then of the id. */
export async function viewItems(
  db: Db,
  batch: string,
  filter: ItemFilter,
  after: string | undefined,
  limit: number,
): Promise<ItemPage> {
  const page = await readItems(db, batch, filter, after, limit)
  return { ...page, items: page.items.map(withValues) }
}

async function readItems(
  db: Db,
  batch: string,
  { state, cause, ref }: ItemFilter,
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
    return pageOf(rows, limit)
  }
  const values = [batch, after ?? '0', state ?? null, limit + 1, chunksPerPage, ref ?? null]
  const rows = await db.run<JobView & { id: string | null; walkedTo: string | null; more: boolean }>(walk, values)
  const { walkedTo, more } = rows[0]!
  const found = rows.filter(row => row.id !== null).map(({ walkedTo: _, more: __, ...row }) => row)
  const page = pageOf(found, limit)
  return page.next === null && more ? { ...page, next: walkedTo } : page
}

/** Failed jobs of a batch with the same error fingerprint. */
export interface FailureGroup {
  cause: string
  /** Counted up to 10,000. */
  count: number
  more: boolean
  code: string | null
  /** Message of the newest failed job of the group. */
  message: string
  /** Refs of up to 5 jobs. */
  refs: string[]
  lastAt: Date
}

const mostCounted = 10_000
const mostGroups = 100

// Jumps from fingerprint to fingerprint through the index and does not scan all failures.
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

/** Returns at most 100 groups, the largest first. */
export const viewFailureGroups = (db: Db, batch: string): Promise<FailureGroup[]> =>
  db.run<FailureGroup>(groups, [batch])
