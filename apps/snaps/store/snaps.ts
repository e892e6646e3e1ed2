/**
 * Stores snaps: created with the job, filled by the job, erased. The view snaps.snap_processing_job shows the status.
 *
 * Invariant: a snap exists together with its job and its file, and is removed only after its job. Duplicates are not stored but looked up
 * at each read, by the hashes: a stored note would miss a snap that another request creates at the same time.
 */
import type { Engine, JobTransaction } from 'retoma'
import { clockOf } from 'retoma/http'
import type { ImageFacts } from '../image/analyse.ts'
import type { Status } from '../status.ts'

export interface NewSnap {
  file: string
  name: string
  type: string
  size: number
  /** Hex. */
  sha256: string
}

const insert = `
  insert into snaps.snap (file_id, name, content_type, size, sha256, created_by, created_at)
  values ($1, $2, $3, $4, decode($5, 'hex'), $6, coalesce($7::timestamptz, now()))
  returning id::text as id`

/** Returns the id. */
export async function insertSnap(home: Engine, tx: JobTransaction, snap: NewSnap, by: string): Promise<string> {
  const values = [snap.file, snap.name, snap.type, snap.size, snap.sha256, by, clockOf(home).instant()]
  return (await tx.query<{ id: string }>(insert, values)).rows[0]!.id
}

const noteJob = `update snaps.snap set job_id = $2 where id = $1`

export async function noteSnapJob(tx: JobTransaction, id: string, job: string): Promise<void> {
  await tx.query(noteJob, [id, job])
}

const fileOf = `select file_id::text as file from snaps.snap where id = $1 and deleted_at is null`

/** The file of the image; undefined: the snap is erased. */
export async function readSnapFile(home: Pick<Engine, 'query'>, id: string): Promise<string | undefined> {
  return (await home.query<{ file: string }>(fileOf, [id])).rows[0]?.file
}

const saveFactsText = `
  update snaps.snap
  set format = $2, width = $3, height = $4, perceptual_hash = ('x' || $5::text)::bit(64), luminance_histogram = $6::int[],
    blur_score = $7, dominant_colors = $8::jsonb, taken_at = $9::timestamptz, taken_at_offset = $10
  where id = $1`

export async function saveFacts(tx: JobTransaction, id: string, facts: ImageFacts): Promise<void> {
  await tx.query(saveFactsText, [
    id,
    facts.format,
    facts.width,
    facts.height,
    facts.perceptualHash,
    facts.luminanceHistogram,
    facts.blurScore,
    JSON.stringify(facts.dominantColours),
    facts.takenAt?.at ?? null,
    facts.takenAt?.offset ?? null,
  ])
}

/** A snap in the seed's words. */
export interface SnapRow {
  id: string
  status: Status
  attempt_count: number
  next_retry_at: Date | null
  last_error: string | null
  claimed_by: string | null
  locked_at: Date | null
  created_at: Date
  completed_at: Date | null
  name: string
  content_type: string
  size: number
  sha256: string
  duplicate_of: string | null
  similar_to: string | null
  format: string | null
  width: number | null
  height: number | null
  perceptual_hash: string | null
  luminance_histogram: number[] | null
  blur_score: number | null
  dominant_colors: { hex: string; share: number }[] | null
  taken_at: Date | null
  taken_at_offset: string | null
}

/** Without the histogram. */
export type ListedSnap = Omit<SnapRow, 'luminance_histogram'>

// Each lookup reads the first entry of an index, however many snaps have the same hash. An image without any structure has the same
// perceptual hash as every other such image, which says nothing.
const listed = `
  v.id::text as id, v.status, v.attempt_count, v.next_retry_at, v.last_error, v.claimed_by, v.locked_at, v.created_at, v.completed_at,
  s.name, s.content_type, s.size, encode(s.sha256, 'hex') as sha256,
  (select o.id from snaps.snap o where o.sha256 = s.sha256 and o.id < s.id and o.deleted_at is null order by o.id limit 1)::text
    as duplicate_of,
  case when s.perceptual_hash <> B'0'::bit(64) then (
    select o.id from snaps.snap o
    where o.perceptual_hash = s.perceptual_hash and o.id < s.id and o.deleted_at is null
    order by o.id limit 1
  ) end::text as similar_to,
  s.format, s.width, s.height, lpad(to_hex(s.perceptual_hash::bigint), 16, '0') as perceptual_hash, s.blur_score, s.dominant_colors,
  s.taken_at, s.taken_at_offset`

const joined = `snaps.snap_processing_job v join snaps.snap s on s.id = v.id`

const one = `select ${listed}, s.luminance_histogram from ${joined} where v.id = $1`

/** undefined: there is no such snap. */
export async function readSnap(home: Pick<Engine, 'query'>, id: string): Promise<SnapRow | undefined> {
  return (await home.query<SnapRow>(one, [id])).rows[0]
}

const oldestFirst = `
  select ${listed} from ${joined}
  where v.id > $1 and ($2::text is null or v.status = $2)
  order by v.id limit $3`

const newestFirst = `
  select ${listed} from ${joined}
  where v.id < $1 and ($2::text is null or v.status = $2)
  order by v.id desc limit $3`

export interface ListOptions {
  order: 'oldest' | 'newest'
  after: string
  status: string | null
  limit: number
}

export async function listSnaps(
  home: Pick<Engine, 'query'>,
  { order, after, status, limit }: ListOptions,
): Promise<ListedSnap[]> {
  const values = [after, status, limit]
  const found =
    order === 'oldest' ? home.query<ListedSnap>(oldestFirst, values) : home.query<ListedSnap>(newestFirst, values)
  return (await found).rows
}

const hide = `
  update snaps.snap set deleted_at = coalesce($2::timestamptz, now())
  where id = $1 and deleted_at is null
  returning job_id::text as job`

/** Hides the snap from all readers. undefined: there is no such snap. */
export async function hideSnap(home: Engine, id: string): Promise<{ job: string } | undefined> {
  return (await home.query<{ job: string }>(hide, [id, clockOf(home).instant()])).rows[0]
}

const hidden = `
  select id::text as id, job_id::text as job from snaps.snap s where deleted_at is not null order by s.id limit 100`

export async function readHiddenSnaps(home: Pick<Engine, 'query'>): Promise<{ id: string; job: string }[]> {
  return (await home.query<{ id: string; job: string }>(hidden)).rows
}

const remove = `delete from snaps.snap where id = $1 and deleted_at is not null`

/** Removes the row of a snap, after its job is gone. */
export async function removeHiddenSnap(home: Pick<Engine, 'query'>, id: string): Promise<void> {
  await home.query(remove, [id])
}

// Follows the job: the janitor removes the job after its retention. The oldest snaps go first, so a look at the oldest is enough.
const hideOld = `
  with oldest as materialized (
    select id, job_id from snaps.snap where deleted_at is null order by id limit 1000
  ), gone as materialized (
    select o.id from oldest o where (select j.id from retoma.job j where j.id = any (array[o.job_id])) is null
  )
  update snaps.snap s set deleted_at = coalesce($1::timestamptz, now()) where s.id = any (array(select id from gone))`

/** Hides old snaps whose job is gone. Returns the number, at most 1,000. */
export async function hideOldSnaps(home: Engine): Promise<number> {
  return (await home.query(hideOld, [clockOf(home).instant()])).rowCount ?? 0
}
