/**
 * Stores quotes: created with the job, filled by the steps of the job, erased. The view quotes.quote_requests shows the status.
 *
 * Invariant: a quote exists together with its job, or with the job that submits its batch. A quote is removed only after its job.
 */
import type { Engine, JobTransaction } from 'retoma'
import { clockOf } from 'retoma/http'
import type { Analysis, JsonValue } from '../providers/types.ts'
import { storable, storableJson } from '../text.ts'

export interface NewQuote {
  description: string
  kind: 'vehicle' | 'product' | null
}

const insert = `
  insert into quotes.quote (description, kind, created_by, created_at, simulated)
  values ($1, $2, $3, coalesce($4::timestamptz, now()), $5)
  returning id::text as id`

/** Returns the id. */
export async function insertQuote(
  home: Engine,
  tx: JobTransaction,
  quote: NewQuote,
  { by, simulated }: { by: string; simulated: boolean },
): Promise<string> {
  const values = [quote.description, quote.kind, by, clockOf(home).instant(), simulated]
  return (await tx.query<{ id: string }>(insert, values)).rows[0]!.id
}

const noteJob = `update quotes.quote set job_id = $2 where id = $1`

export async function noteQuoteJob(tx: JobTransaction, id: string, job: string): Promise<void> {
  await tx.query(noteJob, [id, job])
}

/** What an attempt starts from. */
export interface QuoteInput {
  description: string
  kind: 'vehicle' | 'product' | null
  /** The start of this attempt. */
  startedAt: Date
  /** The last retry by a person; null: never. */
  retriedAt: Date | null
  /** An earlier run has left rows or answers. */
  hasTraces: boolean
}

const inputOf = `
  select q.description, q.kind, j.started_at as "startedAt", j.retried_at as "retriedAt",
    q.analysis is not null or q.result is not null or exists (select from quotes.reading r where r.quote_id = q.id) as "hasTraces"
  from quotes.quote q, retoma.job j
  where q.id = $1 and q.deleted_at is null and j.id = $2`

/** undefined: the quote is erased. */
export async function readQuoteInput(
  home: Pick<Engine, 'query'>,
  id: string,
  job: string,
): Promise<QuoteInput | undefined> {
  return (await home.query<QuoteInput>(inputOf, [id, job])).rows[0]
}

const clearReadings = `delete from quotes.reading where quote_id = $1`
const clearAnswers = `
  update quotes.quote
  set analysis = null, claude_payload_json = null, google_shopping_response_json = null, result = null, finalised_at = null,
    processing_seconds = null
  where id = $1`

/** Removes what an earlier run has written. The pages of that run go with the job. */
export async function clearQuote(tx: JobTransaction, id: string): Promise<void> {
  await tx.query(clearReadings, [id])
  await tx.query(clearAnswers, [id])
}

// The job of an item is noted here, too: an item may run before the submit of its batch has noted the jobs.
const saveAnalysisText = `
  update quotes.quote
  set analysis = $2::jsonb, claude_payload_json = $3::jsonb, kind = $4, simulated = $5, job_id = $6
  where id = $1`

export async function saveAnalysis(
  tx: JobTransaction,
  id: string,
  { analysis, payload, simulated, job }: { analysis: Analysis; payload: JsonValue; simulated: boolean; job: string },
): Promise<void> {
  await tx.query(saveAnalysisText, [id, storableJson(analysis), storableJson(payload), analysis.kind, simulated, job])
}

const saveSearchText = `update quotes.quote set google_shopping_response_json = $2::jsonb where id = $1`

export async function saveSearch(tx: JobTransaction, id: string, response: JsonValue): Promise<void> {
  await tx.query(saveSearchText, [id, storableJson(response)])
}

/** A price page as it was read. Money is a text; `file`: the page as evidence. */
export interface Reading {
  n: number
  product: string
  shop: string
  url: string
  title: string | null
  price: string | null
  currency: string
  source: string | null
  snippet: string | null
  reason: string | null
  seenAt: Date
  file: string | null
  screenshot: string | null
}

const insertReadings = `
  insert into quotes.reading
    (quote_id, n, product, shop, url, title, price, currency, source, snippet, reason, seen_at, file_id, screenshot_id)
  select $1, t.n, t.product, t.shop, t.url, t.title, t.price, t.currency, t.source, t.snippet, t.reason, t.seen_at, t.file_id,
    t.screenshot_id
  from unnest($2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::numeric[], $8::text[], $9::text[], $10::text[],
      $11::text[], $12::timestamptz[], $13::bigint[], $14::bigint[])
    as t (n, product, shop, url, title, price, currency, source, snippet, reason, seen_at, file_id, screenshot_id)`

export async function saveReadings(tx: JobTransaction, id: string, readings: readonly Reading[]): Promise<void> {
  // A saved reading is written again at each attempt: a text that PostgreSQL refuses would fail every attempt.
  const of = (name: keyof Reading) =>
    readings.map(each => (typeof each[name] === 'string' ? storable(each[name]) : each[name]))
  await tx.query(insertReadings, [
    id,
    of('n'),
    of('product'),
    of('shop'),
    of('url'),
    of('title'),
    of('price'),
    of('currency'),
    of('source'),
    of('snippet'),
    of('reason'),
    of('seenAt'),
    of('file'),
    of('screenshot'),
  ])
}

const readingsOf = `
  select n, product, shop, url, title, price::text as price, currency, source, snippet, reason, used, seen_at as "seenAt",
    file_id::text as file, screenshot_id::text as screenshot
  from quotes.reading where quote_id = $1 order by n`

export type StoredReading = Reading & { used: boolean | null }

export async function readReadings(home: Pick<Engine, 'query'>, id: string): Promise<StoredReading[]> {
  return (await home.query<StoredReading>(readingsOf, [id])).rows
}

const readingsOfSome = `
  select quote_id::text as quote, n, product, shop, url, title, price::text as price, currency, source, snippet, reason, used, seen_at as "seenAt",
    file_id::text as file, screenshot_id::text as screenshot
  from quotes.reading where quote_id = any ($1::bigint[]) order by quote_id, n`

/** The readings of several quotes, by the id of the quote. */
export async function readReadingsOf(
  home: Pick<Engine, 'query'>,
  ids: readonly string[],
): Promise<Map<string, StoredReading[]>> {
  const found = new Map(ids.map(id => [id, [] as StoredReading[]]))
  const { rows } = await home.query<StoredReading & { quote: string }>(readingsOfSome, [ids])
  for (const row of rows) found.get(row.quote)?.push(row)
  return found
}

const judgeReadings = `
  update quotes.reading r
  set used = t.used, reason = t.reason
  from unnest($2::int[], $3::boolean[], $4::text[]) as t (n, used, reason)
  where r.quote_id = $1 and r.n = t.n`

const finalise = `
  update quotes.quote
  set result = $2::jsonb, finalised_at = coalesce($3::timestamptz, now()),
    processing_seconds = round(extract(epoch from coalesce($3::timestamptz, now()) - $4::timestamptz)::numeric, 2)
  where id = $1`

export async function saveResult(
  tx: JobTransaction,
  id: string,
  {
    result,
    judged,
    startedAt,
    now,
  }: {
    result: object
    judged: readonly { n: number; used: boolean; reason: string | null }[]
    startedAt: Date
    now: Date | null
  },
): Promise<void> {
  const of = <K extends 'n' | 'used' | 'reason'>(name: K) => judged.map(each => each[name])
  if (judged.length > 0) await tx.query(judgeReadings, [id, of('n'), of('used'), of('reason')])
  await tx.query(finalise, [id, storableJson(result), now, startedAt])
}

/** A quote in the seed's words. */
export interface QuoteRow {
  id: string
  batch_id: string | null
  description: string
  kind: 'vehicle' | 'product' | null
  status: 'PENDING' | 'PROCESSING' | 'DONE' | 'ERROR' | 'CANCELLED'
  processing_checkpoint: string | null
  progress_percentage: number
  last_heartbeat: Date | null
  worker_id: string | null
  attempt_number: number
  resume_data: Record<string, JsonValue> | null
  started_at: Date | null
  completed_at: Date | null
  error_message: string | null
  analysis: JsonValue
  claude_payload_json: JsonValue
  google_shopping_response_json: JsonValue
  result: JsonValue
  simulated: boolean
  created_at: Date
  job_id: string | null
}

const base = `
  v.id::text as id, v.batch_id::text as batch_id, v.description, v.kind, v.status, v.processing_checkpoint, v.progress_percentage,
  v.last_heartbeat, v.worker_id, v.attempt_number, v.started_at, v.completed_at, v.error_message, v.result, v.simulated, v.created_at,
  v.job_id::text as job_id`

/** Bytes of a JSON value in a list. */
const mostListed = 2000

// Checks the stored size first: a value that is stored out of line or compressed need not be read to be left out.
const isShort = (column: string) =>
  `case when pg_column_size(${column}) > ${mostListed} then false else octet_length(${column}::text) <= ${mostListed} end`
export const jsonColumns = ['resume_data', 'analysis', 'claude_payload_json', 'google_shopping_response_json'] as const
const shortColumn = (name: string) => `case when ${isShort(`v.${name}`)} then v.${name} end as ${name}`
const sizeColumn = (name: string) =>
  `'${name}', case when not ${isShort(`v.${name}`)} then pg_column_size(v.${name}) end`

/** The columns of a list: a large JSON value does not leave the database, and `omitted` has its size. */
export const listed = `${base},
  ${jsonColumns.map(shortColumn).join(', ')},
  nullif(jsonb_strip_nulls(jsonb_build_object(${jsonColumns.map(sizeColumn).join(', ')})), '{}') as omitted`

const one = `
  select ${base}, v.resume_data, v.analysis, v.claude_payload_json, v.google_shopping_response_json
  from quotes.quote_requests v where v.id = $1`

/** undefined: there is no such quote. */
export async function readQuote(home: Pick<Engine, 'query'>, id: string): Promise<QuoteRow | undefined> {
  return (await home.query<QuoteRow>(one, [id])).rows[0]
}

/** A large JSON value is null, and `omitted` has its size in bytes. */
export type ListedQuote = QuoteRow & { omitted: Record<string, number> | null }

const list = `
  select ${listed} from quotes.quote_requests v where v.id < $1 order by v.id desc limit $2`

const listOfBatch = `
  select ${listed} from quotes.quote_requests v
  where v.batch_id = $4 and v.id < $1 and ($2::text is null or v.status = $2)
  order by v.n desc limit $3`

/** Rows that a page of a status reads. The status is in the table of jobs, so no index finds the few quotes of a rare status. */
const walked = 10_000

const reach = `
  select min(w.id)::text as id, count(*)::int as n
  from (select q.id from quotes.quote q where q.id < $1 order by q.id desc limit ${walked}) w`

const walk = `
  select ${listed} from quotes.quote_requests v
  where v.id < $1 and v.id >= $4 and v.status = $2
  order by v.id desc limit $3`

// Running, stalled and failed jobs have indexes of their own. One branch for each partial index.
const processing = `
  with few as materialized (
    select j.ref::bigint as quote from retoma.job j where j.state = 'running' and j.kind = 'quote'
    union all
    select j.ref::bigint from retoma.job j where j.state = 'stalled' and j.kind = 'quote'
  )
  select ${listed} from few f join quotes.quote_requests v on v.id = any (array[f.quote])
  where v.id < $1 and v.status = $2
  order by v.id desc limit $3`

const mostFailed = 5000

const countFailed = `
  select count(*)::int as n
  from (select from retoma.job j where j.state = 'failed' and j.id > 0 order by j.id limit ${mostFailed + 1}) j`

const failed = `
  with few as materialized (
    select j.ref::bigint as quote
    from (select id, ref, kind from retoma.job where state = 'failed' and id > 0 order by id limit ${mostFailed + 1}) j
    where j.kind = 'quote'
  )
  select ${listed} from few f join quotes.quote_requests v on v.id = any (array[f.quote])
  where v.id < $1 and v.status = $2
  order by v.id desc limit $3`

export interface QuotePage {
  rows: ListedQuote[]
  /** The last quote that was read; null: all were read. A page may have fewer quotes than its limit although this is set. */
  readTo: string | null
}

/** The newest first. */
export async function listQuotes(
  home: Pick<Engine, 'query'>,
  { after, status, batch, limit }: { after: string; status: string | null; batch: string | null; limit: number },
): Promise<QuotePage> {
  const read = async (text: string, values: unknown[], readTo: string | null = null): Promise<QuotePage> => ({
    rows: (await home.query<ListedQuote>(text, values)).rows,
    readTo,
  })
  if (batch !== null) return read(listOfBatch, [after, status, limit, batch])
  if (status === null) return read(list, [after, limit])
  if (status === 'PROCESSING') return read(processing, [after, status, limit])
  if (status === 'ERROR') {
    const { n } = (await home.query<{ n: number }>(countFailed)).rows[0]!
    if (n <= mostFailed) return read(failed, [after, status, limit])
  }
  const { id, n } = (await home.query<{ id: string | null; n: number }>(reach, [after])).rows[0]!
  return read(walk, [after, status, limit, id ?? '0'], n < walked ? null : id)
}

const fileOf = `
  select r.file_id::text as page, r.screenshot_id::text as screenshot
  from quotes.reading r join quotes.quote q on q.id = r.quote_id and q.deleted_at is null
  where r.quote_id = $1 and r.n = $2`

/** The files of a reading; undefined: no such reading. */
export async function readEvidence(
  home: Pick<Engine, 'query'>,
  id: string,
  n: number,
): Promise<{ page: string | null; screenshot: string | null } | undefined> {
  return (await home.query<{ page: string | null; screenshot: string | null }>(fileOf, [id, n])).rows[0]
}

// The rows of a batch are its list of items until the batch is submitted: an item that is erased before keeps its row, without its text.
const isSubmitted = `(q.batch_id is null or (select b.batch_id from quotes.batch b where b.id = q.batch_id) is not null)`

const hide = `
  update quotes.quote q set deleted_at = coalesce($2::timestamptz, now()), description = ''
  where q.id = $1 and q.deleted_at is null
  returning q.id::text as id, q.job_id::text as job, ${isSubmitted} as "isSubmitted"`

export interface HiddenQuote {
  id: string
  job: string | null
  /** False: the row must stay until the batch is submitted. */
  isSubmitted: boolean
}

/** Hides the quote from all readers. undefined: there is no such quote. */
export async function hideQuote(home: Engine, id: string): Promise<HiddenQuote | undefined> {
  return (await home.query<HiddenQuote>(hide, [id, clockOf(home).instant()])).rows[0]
}

const hidden = `
  select q.id::text as id, q.job_id::text as job, ${isSubmitted} as "isSubmitted"
  from quotes.quote q where q.deleted_at is not null and q.id > $1 order by q.id limit 100`

/** At most 100, with an id above `after`. */
export async function readHiddenQuotes(home: Pick<Engine, 'query'>, after: string): Promise<HiddenQuote[]> {
  return (await home.query<HiddenQuote>(hidden, [after])).rows
}

const hiddenOfBatch = `
  select q.id::text as id, q.job_id::text as job, true as "isSubmitted"
  from quotes.quote q where q.batch_id = $1 and q.deleted_at is not null`

/** The hidden quotes of a submitted batch. */
export async function readHiddenOfBatch(home: Pick<Engine, 'query'>, batch: string): Promise<HiddenQuote[]> {
  return (await home.query<HiddenQuote>(hiddenOfBatch, [batch])).rows
}

const removeReadings = `delete from quotes.reading where quote_id = $1`
const removeQuoteText = `delete from quotes.quote where id = $1 and deleted_at is not null`

/** Removes the last rows of a quote, after the job is gone. */
export function removeHiddenQuote(home: Pick<Engine, 'transaction'>, id: string): Promise<void> {
  return home.transaction(async tx => {
    await tx.query(removeReadings, [id])
    await tx.query(removeQuoteText, [id])
  })
}

// Follows the job: the janitor removes the job after its retention. Every quote is looked at, by pages: an open quote, such as one of a
// paused batch, says nothing about the quotes after it.
const hideOld = `
  with page as materialized (
    select id, job_id from quotes.quote where deleted_at is null and id > $2 order by id limit 1000
  ), gone as materialized (
    select o.id from page o
    where o.job_id is not null and (select j.id from retoma.job j where j.id = any (array[o.job_id])) is null
  ), hidden as (
    update quotes.quote q set deleted_at = coalesce($1::timestamptz, now())
    where q.id = any (array(select id from gone)) and q.deleted_at is null
  )
  select id::text as last from page order by id desc limit 1`

/** Hides the quotes of a page whose job is gone. Returns the last id of the page; null: there is no quote after `after`. */
export async function hideOldQuotes(home: Engine, after: string): Promise<string | null> {
  const { rows } = await home.query<{ last: string }>(hideOld, [clockOf(home).instant(), after])
  return rows[0]?.last ?? null
}
