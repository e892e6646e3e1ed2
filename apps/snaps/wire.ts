/** Turns snaps into JSON for HTTP: the names of the queue are the seed's. */
import { z } from 'zod'
import { statuses } from './status.ts'
import type { ListedSnap, SnapRow } from './store/snaps.ts'

const count = z.number().int()
const instant = z.iso.datetime().meta({ description: 'ISO 8601, UTC' })
export const status = z.enum(statuses)

const base = {
  id: z.string(),
  status,
  attempt_count: count.meta({ description: 'tries so far, of 5; the end of a worker is no try' }),
  next_retry_at: instant.nullable().meta({ description: 'after a failure: when the next attempt may start' }),
  last_error: z.string().nullable(),
  claimed_by: z.string().nullable().meta({ description: 'the worker that has the snap now' }),
  locked_at: instant.nullable().meta({ description: 'since when the worker has the snap' }),
  created_at: instant,
  completed_at: instant.nullable(),
  name: z.string(),
  content_type: z.string(),
  size: count.meta({ description: 'bytes' }),
  sha256: z.string(),
  duplicate_of: z.string().nullable().meta({ description: 'the oldest snap with the same bytes' }),
  similar_to: z
    .string()
    .nullable()
    .meta({ description: 'the oldest snap with the same perceptual hash, whatever its bytes' }),
}

const measured = {
  format: z.string(),
  width: count.meta({ description: 'pixels, as shown' }),
  height: count,
  perceptual_hash: z
    .string()
    .meta({ description: 'difference hash, 16 hex digits; similar images differ in few bits' }),
  blur_score: z
    .number()
    .nullable()
    .meta({ description: 'variance of the Laplacian; low: blurred; null: fewer than 3 x 3 pixels' }),
  dominant_colors: z.array(z.object({ hex: z.string(), share: z.number() })),
  taken_at: instant.nullable().meta({ description: 'of EXIF; a clock without an offset counts as UTC' }),
  taken_at_offset: z.string().nullable().meta({ description: "offset of the camera's clock, such as -03:00" }),
}

export const listedSnap = z.object({ ...base, result: z.object(measured).nullable() }).meta({ id: 'ListedSnap' })

export const snap = z
  .object({
    ...base,
    result: z
      .object({
        ...measured,
        luminance_histogram: z
          .array(count)
          .meta({ description: 'pixels of each luminance, 0 to 255, of the image at most 1024 pixels a side' }),
      })
      .nullable(),
  })
  .meta({ id: 'Snap' })

const iso = (at: Date | null) => at?.toISOString() ?? null

const baseWire = (row: ListedSnap) => ({
  id: row.id,
  status: row.status,
  attempt_count: row.attempt_count,
  next_retry_at: iso(row.next_retry_at),
  last_error: row.last_error,
  claimed_by: row.claimed_by,
  locked_at: iso(row.locked_at),
  created_at: iso(row.created_at),
  completed_at: iso(row.completed_at),
  name: row.name,
  content_type: row.content_type,
  size: row.size,
  sha256: row.sha256,
  duplicate_of: row.duplicate_of,
  similar_to: row.similar_to,
})

const measuredWire = (row: ListedSnap) => ({
  format: row.format,
  width: row.width,
  height: row.height,
  perceptual_hash: row.perceptual_hash,
  blur_score: row.blur_score,
  dominant_colors: row.dominant_colors,
  taken_at: iso(row.taken_at),
  taken_at_offset: row.taken_at_offset,
})

const isMeasured = (row: ListedSnap) => row.status === 'DONE' && row.format !== null

export const listedWire = (row: ListedSnap) => ({
  ...baseWire(row),
  result: isMeasured(row) ? measuredWire(row) : null,
})

export const snapWire = (row: SnapRow) => ({
  ...baseWire(row),
  result: isMeasured(row) ? { ...measuredWire(row), luminance_histogram: row.luminance_histogram } : null,
})
