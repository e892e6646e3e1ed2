/**
 * Stores files in pieces. A file has no hash until its last piece is stored, and until then cannot be opened or kept. A file of a single
 * piece is complete at once.
 *
 * Invariant: a file that can be opened is complete. A file may share the chunks of another file: each of the files has its own owner, and
 * the chunks stay until the last of the files is removed. If the batch or the job of a file is deleted, the file has no owner, and the janitor
 * removes the file (file-removal.ts).
 */

import type { Db, Run } from '../../database/db.ts'
import { isId } from '../../lib/values/id.ts'
import type { FileView } from '../model/file.ts'

/** Deadline for a piece: the write may wait for a busy disk. */
const pieceDeadlineMs = 60_000

const begin = {
  name: 'file_begin',
  text: `
    insert into retoma.file (name, type, size, created_at, job_id)
    values ($1, $2, 0, coalesce($3::timestamptz, now()), $4)
    returning id::text as id`,
}

/** What is known of a new file before its bytes. */
export interface NewFile {
  name: string
  type: string
  /** The owner; null: none. */
  job: string | null
}

export async function beginFile(db: Db, { name, type, job }: NewFile, now: Date | null): Promise<string> {
  const [row] = await db.run<{ id: string }>(begin, [name, type, now, job])
  return row!.id
}

const add = { name: 'file_add', text: `insert into retoma.file_chunk (file_id, n, bytes) values ($1, $2, $3)` }

/** Stores a piece. Throws if the file was removed in the meantime. */
export async function addPiece(db: Db, id: string, n: number, bytes: Uint8Array): Promise<void> {
  await db.run(add, [id, n, bytes], pieceDeadlineMs)
}

const view = `id::text as id, name, type, size::text as size, encode(sha256, 'hex') as sha256, created_at as "createdAt"`

interface Row extends Omit<FileView, 'size'> {
  size: string
}

const asView = (row: Row): FileView => ({ ...row, size: Number(row.size) })

const end = {
  name: 'file_end',
  text: `
    update retoma.file set size = $2, sha256 = $3
    where id = $1 and sha256 is null and created_at > '-infinity'
    returning ${view}`,
}

/** Completes a file. Returns undefined if the file was removed in the meantime. */
export async function endFile(
  db: Db,
  id: string,
  { size, sha256 }: { size: number; sha256: Uint8Array },
): Promise<FileView | undefined> {
  const [row] = await db.run<Row>(end, [id, size, sha256])
  return row && asView(row)
}

const whole = {
  name: 'file_whole',
  text: `
    with made as (
      insert into retoma.file (name, type, size, sha256, created_at, job_id)
      values ($1, $2, octet_length($4::bytea), $3, coalesce($5::timestamptz, now()), $6)
      returning id, name, type, size, sha256, created_at
    ), piece as (
      insert into retoma.file_chunk (file_id, n, bytes)
      select id, 0, $4::bytea from made where size > 0
    )
    select ${view} from made`,
}

/** Stores a file of a single piece: begins, fills and completes the file in one statement. */
export async function addWhole(
  db: Db,
  { name, type, job, sha256, bytes }: NewFile & { sha256: Uint8Array; bytes: Uint8Array },
  now: Date | null,
): Promise<FileView> {
  const [row] = await db.run<Row>(whole, [name, type, sha256, bytes, now, job], pieceDeadlineMs)
  return asView(row!)
}

const find = { name: 'file_find', text: `select ${view} from retoma.file where id = $1 and sha256 is not null` }

/** Returns undefined if there is no such file, also for a malformed id. */
export async function findFile(db: Db, id: string): Promise<FileView | undefined> {
  const [row] = isId(id) ? await db.run<Row>(find, [id]) : []
  return row && asView(row)
}

const piece = {
  name: 'file_piece',
  text: `
    select bytes from retoma.file_chunk
    where file_id = (select coalesce(content_id, id) from retoma.file where id = $1) and n = $2`,
}

/** Returns undefined if the file was removed in the meantime. */
export async function readPiece(db: Db, id: string, n: number): Promise<Uint8Array | undefined> {
  const [row] = await db.run<{ bytes: Uint8Array }>(piece, [id, n], pieceDeadlineMs)
  return row?.bytes
}

// Keeps all files or none, so no caller has to undo a part. In the transaction of a caller every value goes as text.
const keep = {
  name: 'file_keep',
  text: `
    with found as materialized (
      select id from retoma.file where id = any ($1::bigint[]) and sha256 is not null order by id for update
    ), kept as (
      update retoma.file
      set batch_id = $2::bigint, job_id = $3::bigint
      where id = any (array(select id from found)) and (select count(*) from found) = cardinality($1::bigint[])
    )
    select id::text as id from found`,
}

/** Keeps files for a batch or a job. Returns the complete files found; if fewer than `ids`, no file is kept. */
export async function keepFiles(
  run: Run,
  ids: readonly string[],
  home: { batch: string | null; job: string | null },
): Promise<Set<string>> {
  const rows = await run<{ id: string }>(keep, [ids, home.batch, home.job])
  return new Set(rows.map(row => row.id))
}

// Locks the given files first, so a concurrent removal waits and then finds the share. All files or none.
const share = {
  name: 'file_share',
  text: `
    with source as materialized (
      select id, name, type, size, sha256, coalesce(content_id, id) as content
      from retoma.file where id = any ($1::bigint[]) and sha256 is not null
      order by id for update
    ), whole as materialized (
      select * from source where (select count(*) from source) = cardinality($1::bigint[])
    ), held as (
      update retoma.file f set shares = f.shares + w.n
      from (select content, count(*)::int as n from whole group by content) w
      where f.id = any (array[w.content])
    ), made as (
      insert into retoma.file (name, type, size, sha256, content_id, created_at)
      select name, type, size, sha256, content, coalesce($2::timestamptz, now()) from whole order by id
      returning id
    ), numbered as (
      select id, row_number() over (order by id) as n from made
    )
    select source.id::text as "from", numbered.id::text as id
    from (select id, row_number() over (order by id) as n from source) source left join numbered using (n)`,
}

/** Makes a file with the same chunks for each of `ids`. Returns the new id by the given id; undefined: no such complete file, and none is made. */
export async function shareFiles(
  run: Run,
  ids: readonly string[],
  now: Date | null,
): Promise<Map<string, string | null>> {
  const rows = await run<{ from: string; id: string | null }>(share, [ids, now])
  return new Map(rows.map(row => [row.from, row.id]))
}
