/**
 * Stores batches of quotes.
 *
 * Invariant: a batch exists with all its quotes and with a job that submits the batch, or not at all. A batch is removed only after the
 * batch of the engine.
 */
import type { Engine, JobTransaction } from 'retoma'
import { clockOf } from 'retoma/http'
import type { NewQuote } from './quotes.ts'

const insert = `
  insert into quotes.batch (total, created_by, created_at)
  values ($1, $2, coalesce($3::timestamptz, now()))
  returning id::text as id`

const insertQuotes = `
  insert into quotes.quote (batch_id, n, description, kind, created_by, created_at, simulated)
  select $1, $2 + t.n, t.description, t.kind, $5, coalesce($6::timestamptz, now()), $7
  from unnest($3::text[], $4::text[]) with ordinality as t (description, kind, n)`

const chunk = 1000

/** Returns the id. */
export async function insertBatch(
  home: Engine,
  tx: JobTransaction,
  quotes: readonly NewQuote[],
  { by, simulated }: { by: string; simulated: boolean },
): Promise<string> {
  const now = clockOf(home).instant()
  const { id } = (await tx.query<{ id: string }>(insert, [quotes.length, by, now])).rows[0]!
  for (let from = 0; from < quotes.length; from += chunk) {
    const some = quotes.slice(from, from + chunk)
    const columns = [some.map(each => each.description), some.map(each => each.kind)]
    await tx.query(insertQuotes, [id, from, ...columns, by, now, simulated])
  }
  return id
}

const noteJob = `update quotes.batch set open_job = $2 where id = $1`

export async function noteOpenJob(tx: JobTransaction, id: string, job: string): Promise<void> {
  await tx.query(noteJob, [id, job])
}

const unsubmitted = `select from quotes.batch where id = $1 and batch_id is null and deleted_at is null`
const quotesOf = `select id::text as id from quotes.quote where batch_id = $1 order by n`

/** The ids of the quotes; undefined: the batch is submitted already, or erased. */
export async function readUnsubmitted(home: Pick<Engine, 'query'>, id: string): Promise<string[] | undefined> {
  if ((await home.query(unsubmitted, [id])).rows.length === 0) return undefined
  return (await home.query<{ id: string }>(quotesOf, [id])).rows.map(row => row.id)
}

const noteBatch = `update quotes.batch set batch_id = $2 where id = $1 and batch_id is null`

// No condition on job_id: PostgreSQL would look for each quote among all quotes without a job. Finds the jobs by id ranges, because the jobs of a batch have no index of their own. The ref of a job is the id of its quote.
const noteJobs = `
  with made as materialized (
    select j.id, j.ref::bigint as quote
    from retoma.batch_chunk c
      join retoma.job j on j.id between c.first_id and c.last_id and j.batch_id = c.batch_id
    where c.batch_id = $1
  )
  update quotes.quote q set job_id = m.id from made m where q.id = any (array[m.quote])`

/** Stores the batch of the engine and the job of each quote. */
export function noteSubmitted(home: Pick<Engine, 'transaction'>, id: string, batch: string): Promise<void> {
  return home.transaction(async tx => {
    if ((await tx.query(noteBatch, [id, batch])).rowCount === 0) return
    await tx.query(noteJobs, [batch])
  })
}

export interface BatchRow {
  id: string
  total: number
  batch: string | null
  created_at: Date
  simulated: boolean
}

const one = `
  select b.id::text as id, b.total, b.batch_id::text as batch, b.created_at,
    exists (select from quotes.quote q where q.batch_id = b.id and q.simulated) as simulated
  from quotes.batch b
  where b.id = $1 and b.deleted_at is null`

/** undefined: there is no such batch. */
export async function readBatch(home: Pick<Engine, 'query'>, id: string): Promise<BatchRow | undefined> {
  return (await home.query<BatchRow>(one, [id])).rows[0]
}

/** The counts and the checkpoints of a batch, read in one snapshot. */
export interface BatchCounts {
  processing: number
  done: number
  error: number
  cancelled: number
  by_checkpoint: Record<string, number>
  last_heartbeat: Date | null
}

// Running jobs are few, and have an index of their own.
const counts = `
  with processing as materialized (
    select coalesce(j.checkpoint_data ->> 'checkpoint', 'INIT') as checkpoint, greatest(j.progress_at, j.started_at) as beat_at
    from retoma.job j where j.state = 'running' and j.batch_id = $1
    union all
    select coalesce(j.checkpoint_data ->> 'checkpoint', 'INIT'), greatest(j.progress_at, j.started_at)
    from retoma.job j where j.state = 'stalled' and j.batch_id = $1
  ), counted as (
    select coalesce(sum(n.succeeded), 0)::int as done, coalesce(sum(n.failed), 0)::int as error,
      coalesce(sum(n.cancelled + n.skipped), 0)::int as cancelled, max(n.progress_at) as progress_at
    from retoma.batch_count n where n.batch_id = $1
  )
  select c.done, c.error, c.cancelled, (select count(*)::int from processing) as processing,
    (select coalesce(jsonb_object_agg(p.checkpoint, p.n), '{}')
     from (select checkpoint, count(*) as n from processing group by checkpoint) p) as by_checkpoint,
    coalesce((select max(beat_at) from processing), c.progress_at) as last_heartbeat
  from counted c`

export async function readBatchCounts(home: Pick<Engine, 'query'>, batch: string): Promise<BatchCounts> {
  return (await home.query<BatchCounts>(counts, [batch])).rows[0]!
}

/** A row of the table for a spreadsheet. */
export interface BatchResult {
  n: number
  id: string
  description: string
  kind: string | null
  status: string
  result: Record<string, unknown> | null
  error_message: string | null
  completed_at: Date | null
  simulated: boolean
}

const results = `
  select v.n, v.id::text as id, v.description, v.kind, v.status, v.result, v.error_message, v.completed_at, v.simulated
  from quotes.quote_requests v
  where v.batch_id = $1 and v.n > $2
  order by v.n limit $3`

export async function readBatchResults(
  home: Pick<Engine, 'query'>,
  id: string,
  after: number,
  limit: number,
): Promise<BatchResult[]> {
  return (await home.query<BatchResult>(results, [id, after, limit])).rows
}

const hide = `
  update quotes.batch b set deleted_at = coalesce($2::timestamptz, now())
  from retoma.batch e
  where b.id = $1 and b.deleted_at is null and e.id = any (array[b.batch_id]) and e.state in ('succeeded', 'completed_with_failures', 'failed', 'cancelled')
  returning b.id::text as id, b.batch_id::text as batch, b.open_job::text as "openJob"`

const hideQuotes = `
  update quotes.quote set deleted_at = coalesce($2::timestamptz, now()) where batch_id = $1 and deleted_at is null`

export interface HiddenBatch {
  id: string
  batch: string
  openJob: string | null
}

/** Hides the batch and its quotes from all readers. undefined: the batch is not in a final state, or already hidden. */
export function hideBatch(home: Engine, id: string): Promise<HiddenBatch | undefined> {
  return home.transaction(async tx => {
    const now = clockOf(home).instant()
    const [found] = (await tx.query<HiddenBatch>(hide, [id, now])).rows
    if (found !== undefined) await tx.query(hideQuotes, [id, now])
    return found
  })
}

const hidden = `
  select id::text as id, batch_id::text as batch, open_job::text as "openJob"
  from quotes.batch b where deleted_at is not null and id > $1 order by b.id limit 100`

/** At most 100, with an id above `after`. */
export async function readHiddenBatches(home: Pick<Engine, 'query'>, after: string): Promise<HiddenBatch[]> {
  return (await home.query<HiddenBatch>(hidden, [after])).rows
}

const removeReadings = `
  delete from quotes.reading where quote_id = any (array(select id from quotes.quote where batch_id = $1))`
const removeQuotes = `delete from quotes.quote where batch_id = $1`
const removeBatch = `delete from quotes.batch where id = $1 and deleted_at is not null`

/** Removes the last rows of a batch, after the batch of the engine is gone. */
export function removeHiddenBatch(home: Pick<Engine, 'transaction'>, id: string): Promise<void> {
  return home.transaction(async tx => {
    await tx.query(removeReadings, [id])
    await tx.query(removeQuotes, [id])
    await tx.query(removeBatch, [id])
  })
}

// Follows the batch of the engine: the janitor prunes that batch after its retention. Every batch is looked at, by pages.
const hideOld = `
  with page as materialized (
    select id, batch_id from quotes.batch where deleted_at is null and id > $2 order by id limit 100
  ), gone as materialized (
    select o.id from page o
    where o.batch_id is not null
      and (select e.cascade is distinct from 'prune' from retoma.batch e where e.id = any (array[o.batch_id])) is not true
  ), hidden as (
    update quotes.quote q set deleted_at = coalesce($1::timestamptz, now())
    where q.batch_id = any (array(select id from gone)) and q.deleted_at is null
  ), hidden_batch as (
    update quotes.batch b set deleted_at = coalesce($1::timestamptz, now())
    where b.id = any (array(select id from gone)) and b.deleted_at is null
  )
  select id::text as last from page order by id desc limit 1`

/** Hides the batches of a page that the janitor has pruned. Returns the last id of the page; null: there is no batch after `after`. */
export async function hideOldBatches(home: Engine, after: string): Promise<string | null> {
  const { rows } = await home.query<{ last: string }>(hideOld, [clockOf(home).instant(), after])
  return rows[0]?.last ?? null
}
