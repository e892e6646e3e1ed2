/**
 * Reads and writes documents for the routes. Every statement takes the owner: null is an admin, who sees the documents of all users.
 */
import type { Engine, JobTransaction } from 'retoma'
import { clockOf } from 'retoma/http'
import type { Status } from '../status.ts'
import { folded, userWord, wordsOf } from '../text.ts'

type Home = Pick<Engine, 'query'>

export interface NewDocument {
  id: string
  user: string
  filename: string
  size: number
  /** Hexadecimal. */
  sha256: string
  file: string
  job: string
}

const insert = `
  insert into documents.documents
    (id, user_id, filename, size, sha256, file_id, status, job_id, search, created_at, updated_at)
  values ($1, $2, $3, $4, decode($5, 'hex'), $6, 'PENDING', $7,
    to_tsvector('simple', $8::text) || array_to_tsvector(array[$9::text]),
    coalesce($10::timestamptz, now()), coalesce($10::timestamptz, now()))`

const earliestSame = `
  select id from documents.documents
  where user_id = $1 and sha256 = decode($2, 'hex') and id <> $3 and deleted_at is null
  order by id limit 1`

/** Returns the id of the first document of this user with the same bytes; null: there is none. */
export async function insertDocument(home: Engine, tx: JobTransaction, given: NewDocument): Promise<string | null> {
  const { id, user, filename, size, sha256, file, job } = given
  const words = folded(wordsOf(filename))
  await tx.query(insert, [id, user, filename, size, sha256, file, job, words, userWord(user), clockOf(home).instant()])
  return (await tx.query<{ id: string }>(earliestSame, [user, sha256, id])).rows[0]?.id ?? null
}

export interface DocumentRow {
  id: string
  user: string
  filename: string
  size: number
  sha256: string
  status: Status
  error_message: string | null
  pages: number | null
  title: string | null
  language: string | null
  text_complete: boolean | null
  has_thumbnail: boolean
  duplicate_of: string | null
  created_at: Date
  updated_at: Date
}

const shown = `
  d.id, d.user_id as user, d.filename, d.size::float8 as size, encode(d.sha256, 'hex') as sha256, d.status, d.error_message, d.pages,
  d.title, d.language, d.text_complete, d.thumbnail_id is not null as has_thumbnail, d.created_at, d.updated_at,
  (select s.id from documents.documents s
    where s.user_id = d.user_id and s.sha256 = d.sha256 and s.id < d.id and s.deleted_at is null
    order by s.id limit 1) as duplicate_of`

const one = `
  select ${shown} from documents.documents d
  where d.id = $1 and ($2::text is null or d.user_id = $2) and d.deleted_at is null`

/** undefined: the owner has no such document. */
export async function readDocument(home: Home, id: string, owner: string | null): Promise<DocumentRow | undefined> {
  return (await home.query<DocumentRow>(one, [id, owner])).rows[0]
}

const textOf = `
  select text from documents.documents d
  where d.id = $1 and ($2::text is null or d.user_id = $2) and d.deleted_at is null`

/** undefined: the owner has no such document. null: no text was read. */
export async function readText(home: Home, id: string, owner: string | null): Promise<string | null | undefined> {
  return (await home.query<{ text: string | null }>(textOf, [id, owner])).rows[0]?.text
}

const filesOf = `
  select d.file_id::text as file, d.thumbnail_id::text as thumbnail from documents.documents d
  where d.id = $1 and ($2::text is null or d.user_id = $2) and d.deleted_at is null`

/** undefined: the owner has no such document. */
export async function readFiles(
  home: Home,
  id: string,
  owner: string | null,
): Promise<{ file: string; thumbnail: string | null } | undefined> {
  return (await home.query<{ file: string; thumbnail: string | null }>(filesOf, [id, owner])).rows[0]
}

const list = `
  select ${shown} from documents.documents d
  where d.id < $1 and ($2::text is null or d.status = $2) and d.deleted_at is null
  order by d.id desc limit $3`

const listOfUser = `
  select ${shown} from documents.documents d
  where d.user_id = $4 and d.id < $1 and ($2::text is null or d.status = $2) and d.deleted_at is null
  order by d.id desc limit $3`

// The words as they are, and without accents, in each language in which a document may be indexed.
const asked = `
  (websearch_to_tsquery('portuguese', $4) || websearch_to_tsquery('portuguese', $5) || websearch_to_tsquery('english', $4)
    || websearch_to_tsquery('english', $5) || websearch_to_tsquery('simple', $5))`

const search = `
  select ${shown} from documents.documents d
  where d.search @@ ${asked} and d.id < $1 and ($2::text is null or d.status = $2) and d.deleted_at is null
  order by d.id desc limit $3`

const searchOfUser = `
  select ${shown} from documents.documents d
  where d.search @@ to_tsquery('simple', $7) and d.search @@ ${asked} and d.user_id = $6 and d.id < $1
    and ($2::text is null or d.status = $2) and d.deleted_at is null
  order by d.id desc limit $3`

/** A minus before a word would exclude the word in one language alone. */
const withoutMinus = (words: string): string => words.replaceAll(/(^|[\s"])-+/g, '$1')

/** The newest first. */
export async function listDocuments(
  home: Home,
  given: { owner: string | null; after: string; status: Status | null; words: string | null; limit: number },
): Promise<DocumentRow[]> {
  const { owner, after, status, words, limit } = given
  const values = [after, status, limit]
  if (words === null)
    return owner === null
      ? (await home.query<DocumentRow>(list, values)).rows
      : (await home.query<DocumentRow>(listOfUser, [...values, owner])).rows
  const plain = withoutMinus(words)
  const both = [...values, plain, folded(plain)]
  return owner === null
    ? (await home.query<DocumentRow>(search, both)).rows
    : (await home.query<DocumentRow>(searchOfUser, [...both, owner, userWord(owner)])).rows
}

const lock = `
  select d.status, d.job_id::text as job, d.file_id::text as file, d.thumbnail_id::text as thumbnail, d.user_id as user
  from documents.documents d
  where d.id = $1 and ($2::text is null or d.user_id = $2) and d.deleted_at is null
  for update`

const again = `
  update documents.documents
  set status = 'PENDING', error_message = null, job_id = $2, attempt = null, updated_at = coalesce($3::timestamptz, now())
  where id = $1`

export interface LockedDocument {
  status: Status
  job: string
  file: string
  thumbnail: string | null
  user: string
}

/** Locks the document until the end of the transaction. undefined: the owner has no such document. */
export async function lockDocument(
  tx: JobTransaction,
  id: string,
  owner: string | null,
): Promise<LockedDocument | undefined> {
  return (await tx.query<LockedDocument>(lock, [id, owner])).rows[0]
}

/** Gives a locked document to another job. */
export async function giveToJob(home: Engine, tx: JobTransaction, id: string, job: string): Promise<void> {
  await tx.query(again, [id, job, clockOf(home).instant()])
}

const replacedBy = `
  select e.id::text as id
  from retoma.job j
    cross join lateral jsonb_path_query(j.input, '$.replaces[*]') as r (id)
    cross join lateral (select e.id from retoma.job e where e.id = any (array[(r.id #>> '{}')::bigint]) limit 1) e
  where j.id = any (array[$1::bigint])
  order by e.id`

/** The jobs that a job replaces and that still exist. */
export async function readReplaced(home: Pick<JobTransaction, 'query'>, job: string): Promise<string[]> {
  return (await home.query<{ id: string }>(replacedBy, [job])).rows.map(({ id }) => id)
}

const hide = `
  update documents.documents set deleted_at = coalesce($3::timestamptz, now())
  where id = $1 and ($2::text is null or user_id = $2) and deleted_at is null
  returning job_id::text as job`

/** Hides the document from all readers. undefined: the owner has no such document. */
export async function hideDocument(
  home: Engine,
  id: string,
  owner: string | null,
): Promise<{ job: string } | undefined> {
  return (await home.query<{ job: string }>(hide, [id, owner, clockOf(home).instant()])).rows[0]
}

const hidden = `
  select d.id, d.job_id::text as job from documents.documents d where d.deleted_at is not null and d.id > $1
  order by d.id limit 100`

/** A page of the hidden documents after the id `after`. */
export async function readHidden(home: Home, after: string): Promise<{ id: string; job: string }[]> {
  return (await home.query<{ id: string; job: string }>(hidden, [after])).rows
}

const remove = `delete from documents.documents where id = $1 and deleted_at is not null`

/** Removes the row, after the job and the files are gone. */
export async function removeHidden(home: Home, id: string): Promise<void> {
  await home.query(remove, [id])
}

// Follows the job: the janitor removes the job and its files after the retention. Every document is looked at, by pages: a reprocessed
// document has a young job, and says nothing about the documents after it.
const hideOld = `
  with page as materialized (
    select d.id, d.job_id from documents.documents d where d.deleted_at is null and d.id > $2 order by d.id limit 1000
  ), gone as materialized (
    select o.id, o.job_id from page o where (select j.id from retoma.job j where j.id = any (array[o.job_id])) is null
  ), hidden as (
    update documents.documents d set deleted_at = coalesce($1::timestamptz, now())
    from gone g
    where d.id = any (array[g.id]) and d.job_id = g.job_id and d.deleted_at is null
  )
  select id as last from page order by id desc limit 1`

/** Hides the documents of a page whose job is gone. Returns the last id of the page; null: there is no document after `after`. */
export async function hideOldDocuments(home: Engine, after: string): Promise<string | null> {
  const { rows } = await home.query<{ last: string }>(hideOld, [clockOf(home).instant(), after])
  return rows[0]?.last ?? null
}

const openJob = `select from retoma.job j where j.id = $1 and j.state in ('waiting', 'running', 'stalled')`

/** false: the job has ended, or is gone. */
export async function isJobOpen(tx: JobTransaction, job: string): Promise<boolean> {
  return ((await tx.query(openJob, [job])).rowCount ?? 0) > 0
}
