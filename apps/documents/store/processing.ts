/**
 * Writes the steps of an attempt into the document. A document belongs to one attempt of one job: a write that names another job, an
 * earlier attempt, or a document that is no longer PROCESSING, changes nothing.
 */
import type { Engine, JobTransaction } from 'retoma'
import { clockOf } from 'retoma/http'
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

// A job may end without its handler: cancelled by a person, failed by the watchdog of the engine, or for good after crashes.
const followJobs = `
  with open as materialized (
    select d.id, d.job_id from documents.documents d
    where d.status in ('PENDING', 'PROCESSING') and d.job_id > $3 order by d.job_id limit 1000
  ), looked as materialized (
    select o.id, o.job_id, j.id is null as is_gone, j.state, j.error ->> 'message' as message
    from open o left join lateral (select j.id, j.state, j.error from retoma.job j where j.id = any (array[o.job_id])) j on true
  ), over as materialized (
    select l.id, l.job_id, l.message from looked l where l.is_gone or l.state in ('failed', 'cancelled', 'skipped')
  ), ended as (
    update documents.documents d
    set status = 'FAILED', updated_at = coalesce($1::timestamptz, now()),
      error_message = coalesce((select o.message from over o where o.job_id = d.job_id), $2)
    where d.id = any (array(select o.id from over o)) and d.job_id = any (array(select o.job_id from over o))
      and d.status in ('PENDING', 'PROCESSING')
    returning d.id
  )
  select (select count(*)::integer from ended) as ended, (select max(o.job_id)::text from open o) as last`

interface Followed {
  ended: number
  /** Where the next look begins; null: no open document is left. */
  last: string | null
}

/** Marks the open documents FAILED whose job has ended otherwise than succeeded. Returns how many. */
export async function followEndedJobs(home: Engine, otherwise: string): Promise<number> {
  let marked = 0
  let last: string | null = '0'
  while (last !== null) {
    const values: unknown[] = [clockOf(home).instant(), otherwise, last]
    const followed: Followed = (await home.query<Followed>(followJobs, values)).rows[0]!
    marked += followed.ended
    last = followed.last
  }
  return marked
}
