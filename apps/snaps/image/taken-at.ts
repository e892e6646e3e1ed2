/** Reads the time of the photo from EXIF: DateTimeOriginal, else DateTimeDigitized, with the offset of the camera's clock. */
import readExif from 'exif-reader'

export interface TakenAt {
  /** ISO 8601, UTC. Without an offset the camera's clock counts as UTC. */
  at: string
  /** Such as -03:00; null: the camera did not write an offset. */
  offset: string | null
}

const earliest = Date.UTC(1900, 0, 1)
const latest = Date.UTC(2200, 0, 1)

/** null: the image does not say when. Unreadable EXIF says nothing. */
export function takenAtOf(exif: Uint8Array | undefined): TakenAt | null {
  if (exif === undefined) return null
  try {
    const { Photo: photo } = readExif(Buffer.from(exif))
    const original = instantOf(photo?.DateTimeOriginal, photo?.OffsetTimeOriginal)
    return original ?? instantOf(photo?.DateTimeDigitized, photo?.OffsetTimeDigitized)
  } catch {
    return null
  }
}

/** `local`: the time on the camera's clock, as if the clock were UTC. */
function instantOf(local: unknown, offsetText: unknown): TakenAt | null {
  if (!(local instanceof Date)) return null
  const offset = typeof offsetText === 'string' ? (/^[+-](?:0\d|1[0-4]):[0-5]\d/.exec(offsetText)?.[0] ?? null) : null
  const ms = local.getTime() - (offset === null ? 0 : minutesOf(offset) * 60_000)
  return ms >= earliest && ms < latest ? { at: new Date(ms).toISOString(), offset } : null
}

function minutesOf(offset: string): number {
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6))
  return offset.startsWith('-') ? -minutes : minutes
}
