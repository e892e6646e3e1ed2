/**
 * Removes files: a file a person removes, and files without a batch or a job. Files are removed in chunks of pieces, so no statement is
 * long, however large the file is.
 *
 * Invariant: from the first chunk on a file cannot be opened or kept, and the janitor takes the rest of the file first. The janitor
 * removes no file that is kept in the meantime. The chunks stay while another file shares the chunks: a statement that removes checks
 * `shares` on the row itself, so that a concurrent share is seen.
 */

import type { Db } from '../../database/db.ts'
import { days } from '../../lib/values/duration.ts'

const deadlineMs = 60_000
/** Number of pieces of 1 MB per chunk. */
const chunkSize = 64

/** For a statement that deletes a batch or a job: its files lose their owner, and the janitor removes the files at once. */
export const doomed = `sha256 = null, batch_id = null, job_id = null, created_at = '-infinity'`

/** $2: also remove a file that is kept. */
const mayGo = `id = $1 and ($2::boolean or batch_id is null and job_id is null)`

const whole = {
  name: 'file_remove',
  text: `
    with gone as (
      delete from retoma.file
      where ${mayGo} and shares = 0 and not exists (select from retoma.file_chunk where file_id = $1 and n >= ${chunkSize})
      returning id, content_id
    ), freed as (
      update retoma.file f set shares = f.shares - 1 from gone where f.id = any (array[gone.content_id])
    )
    select id from gone`,
}

const doom = {
  name: 'file_mark_removed',
  text: `update retoma.file set ${doomed} where ${mayGo} returning id, shares`,
}

const some = {
  name: 'file_remove_some',
  text: `
    delete from retoma.file_chunk
    where file_id = $1 and n = any (array(select n from retoma.file_chunk where file_id = $1 order by n desc limit ${chunkSize}))
    returning n`,
}

/** Returns true if the file existed. */
export const removeFile = (db: Db, id: string): Promise<boolean> => remove(db, id, true)

async function remove(db: Db, id: string, alsoKept: boolean): Promise<boolean> {
  const gone = () => db.run(whole, [id, alsoKept], deadlineMs).then(rows => rows.length > 0)
  if (await gone()) return true
  const [marked] = await db.run<{ shares: number }>(doom, [id, alsoKept], deadlineMs)
  if (marked === undefined) return false
  // The removal of the last file that shares the chunks leaves this file to the janitor.
  if (marked.shares > 0) return true
  while ((await db.run(some, [id], deadlineMs)).length === chunkSize);
  return gone()
}

/** A file may be without a batch and a job for this long, because its upload may be under way. */
export const unkeptMs = days(1)

// Uses the partial index of files without a batch and a job.
const nobodys = {
  name: 'file_without_owner',
  text: `
    select id::text as id from retoma.file
    where batch_id is null and job_id is null and shares = 0 and created_at < coalesce($1::timestamptz, now()) - make_interval(secs => ${unkeptMs / 1000})
    order by created_at
    limit $2`,
}

/** Removes at most `limit` files without a batch and a job for longer than `unkeptMs`. Returns the number found. */
export async function pruneFiles(db: Db, limit: number, now: Date | null): Promise<number> {
  const found = await db.run<{ id: string }>(nobodys, [now, limit])
  for (const { id } of found) await remove(db, id, false)
  return found.length
}

const dropped = {
  name: 'file_dropped',
  text: `
    select id::text as id from retoma.file
    where batch_id is null and job_id is null and shares = 0 and created_at = '-infinity'
    limit $1`,
}

/** Removes only files whose batch or job is deleted. Returns the number found. */
export async function removeDropped(db: Db, limit: number): Promise<number> {
  const found = await db.run<{ id: string }>(dropped, [limit])
  for (const { id } of found) await remove(db, id, false)
  return found.length
}
