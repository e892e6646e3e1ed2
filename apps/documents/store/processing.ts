/**
 * Writes the steps of an attempt into the document. A document belongs to one attempt of one job: a write that names another job, an
 * earlier attempt, or a document that is no longer PROCESSING, changes nothing.
 */
import type { Engine, JobTransaction } from 'retoma'
import { clockOf } from 'retoma/http'
import type { JobError } from '../job-reason.ts'
import type { Status } from '../status.ts'
import { firstBytes, folded, storable, userWord, wordsOf } from '../text.ts'

/** An attempt of a job at a document. */
export interface Run {
  document: string
  job: string
  attempt: number
}

export interface Begun {
  user: string
  filename: string
  file: string
}

const begin = `
  update documents.documents
  set status = 'PROCESSING', attempt = $3, updated_at = coalesce($4::timestamptz, now())
  where id = $1 and job_id = $2 and coalesce(attempt, 0) <= $3 and status in ('PENDING', 'PROCESSING') and deleted_at is null
  returning user_id as user, filename, file_id::text as file`

const statusOfRun = `
  select case when d.job_id = $2 then d.status end as status from documents.documents d where d.id = $1 and d.deleted_at is null`

/**
 * Gives the document to this attempt. Otherwise answers the status of a document that is over; null: the document is erased or belongs to
 * another job.
 */
export async function beginRun(home: Engine, run: Run): Promise<Begun | { over: Status | null }> {
  const { document, job, attempt } = run
  const { rows } = await home.query<Begun>(begin, [document, job, attempt, clockOf(home).instant()])
  if (rows[0] !== undefined) return rows[0]
  const found = await home.query<{ status: Status | null }>(statusOfRun, [document, job])
  return { over: found.rows[0]?.status ?? null }
}

const touch = `
  update documents.documents set updated_at = coalesce($4::timestamptz, now())
  where id = $1 and job_id = $2 and attempt = $3 and status = 'PROCESSING' and deleted_at is null
  returning id`

/** Notes progress. false: the document does not belong to this attempt any more. */
export async function touchRun(home: Engine, { document, job, attempt }: Run): Promise<boolean> {
  const { rows } = await home.query(touch, [document, job, attempt, clockOf(home).instant()])
  return rows.length > 0
}

export interface Processed {
  pages: number
  title: string
  language: 'pt' | 'en' | null
  text: string
  textComplete: boolean
  thumbnail: string | null
}

/** Bytes of text in the search index: a tsvector has at most 1 MB. */
const mostIndexed = 160 * 1024

const configurations = { pt: 'portuguese', en: 'english', other: 'simple' }

const finish = `
  update documents.documents
  set status = 'DONE', error_message = null, pages = $4, title = $5, language = $6, text = $7, text_complete = $8, thumbnail_id = $9,
    search = to_tsvector($10::regconfig, $11::text) || to_tsvector($10::regconfig, $12::text) || to_tsvector('simple', $13::text)
      || array_to_tsvector(array[$14::text]),
    updated_at = coalesce($15::timestamptz, now())
  where id = $1 and job_id = $2 and attempt = $3 and status = 'PROCESSING' and deleted_at is null
  returning id`

/** false: the document does not belong to this attempt any more, and nothing changed. */
export async function finishRun(
  home: Engine,
  tx: JobTransaction,
  { document, job, attempt }: Run,
  { user, filename }: Pick<Begun, 'user' | 'filename'>,
  done: Processed,
): Promise<boolean> {
  const { pages, title, language, text, textComplete, thumbnail } = done
  const indexed = firstBytes(storable(text), mostIndexed)
  const names = folded(`${wordsOf(filename)} ${wordsOf(title)}`)
  const { rows } = await tx.query(finish, [
    document,
    job,
    attempt,
    pages,
    storable(title),
    language,
    storable(text),
    textComplete,
    thumbnail,
    configurations[language ?? 'other'],
    indexed,
    folded(indexed),
    names,
    userWord(user),
    clockOf(home).instant(),
  ])
  return rows.length > 0
}

const fail = `
  update documents.documents
  set status = case when $4::text is null then 'PENDING' else 'FAILED' end, error_message = $4,
    updated_at = coalesce($5::timestamptz, now())
  where id = $1 and job_id = $2 and attempt = $3 and status = 'PROCESSING' and deleted_at is null
  returning id`

/** Ends the attempt without a result: FAILED with the reason, or PENDING for another attempt (null). */
export async function failRun(
  home: Engine,
  tx: Pick<JobTransaction, 'query'>,
  { document, job, attempt }: Run,
  reason: string | null,
): Promise<boolean> {
  const message = reason === null ? null : storable(reason)
  const { rows } = await tx.query(fail, [document, job, attempt, message, clockOf(home).instant()])
  return rows.length > 0
}

const openDocuments = `
  select d.id, d.job_id::text as job, d.attempt, d.status, j.state, j.error ->> 'type' as type, j.error ->> 'code' as code,
    j.error ->> 'message' as message
  from documents.documents d
    left join lateral (select j.state, j.error from retoma.job j where j.id = any (array[d.job_id])) j on true
  where d.status in ('PENDING', 'PROCESSING') and d.job_id > $1
  order by d.job_id limit 1000`

// The documents are locked first, each by its id, so that no belief about the table makes PostgreSQL compare each with each.
const markEnded = `
  with given as materialized (
    select * from unnest($2::uuid[], $3::bigint[], $4::text[]) as g (id, job, reason)
  ), open as materialized (
    select g.id, g.reason
    from given g
      cross join lateral (
        select from documents.documents d
        where d.id = g.id and d.job_id = g.job and d.status in ('PENDING', 'PROCESSING') for update
      ) d
  )
  update documents.documents d set status = 'FAILED', error_message = o.reason, updated_at = coalesce($1::timestamptz, now())
  from open o
  where d.id = any (array[o.id])`

const markWaiting = `
  with given as materialized (
    select * from unnest($2::uuid[], $3::bigint[], $4::int[]) as g (id, job, attempt)
  ), left_open as materialized (
    select g.id
    from given g
      cross join lateral (
        select from documents.documents d
        where d.id = g.id and d.job_id = g.job and d.attempt is not distinct from g.attempt and d.status = 'PROCESSING' for update
      ) d
  )
  update documents.documents d set status = 'PENDING', updated_at = coalesce($1::timestamptz, now())
  from left_open o
  where d.id = any (array[o.id])`

interface OpenDocument extends JobError {
  id: string
  job: string
  attempt: number | null
  status: Status
  /** null: the job is gone. */
  state: string | null
}

const endedStates: readonly (string | null)[] = ['failed', 'cancelled', 'skipped', null]

/**
 * Marks the open documents FAILED whose job has ended without its handler: cancelled by a person, failed by the watchdog of the engine, or
 * for good after crashes. Marks a document PENDING that a dead process left in PROCESSING, and whose job waits for its next attempt.
 * Returns the number of documents that are FAILED now.
 */
export async function followJobStates(home: Engine, reasonOf: (error: JobError) => string): Promise<number> {
  let marked = 0
  for (let last: string | undefined = '0'; last !== undefined; ) {
    const rows: OpenDocument[] = (await home.query<OpenDocument>(openDocuments, [last])).rows
    const now = clockOf(home).instant()
    const over = rows.filter(({ state }) => endedStates.includes(state))
    const ended = [over.map(({ id }) => id), over.map(({ job }) => job), over.map(row => storable(reasonOf(row)))]
    if (over.length > 0) marked += (await home.query(markEnded, [now, ...ended])).rowCount ?? 0
    const left = rows.filter(({ status, state }) => status === 'PROCESSING' && state === 'waiting')
    const waiting = [left.map(({ id }) => id), left.map(({ job }) => job), left.map(({ attempt }) => attempt)]
    if (left.length > 0) await home.query(markWaiting, [now, ...waiting])
    last = rows.at(-1)?.job
  }
  return marked
}
