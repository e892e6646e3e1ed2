/**
 * Makes the ids of documents: 48 bits of time, then random bits (UUID version 7). The ids of a user sort by time, and say nothing about the
 * number of documents of other users.
 */
import { randomBytes } from 'node:crypto'

export function newId(at: Date): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(at.getTime(), 0, 6)
  bytes[6] = (bytes[6]! & 0x0f) | 0x70
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Any other text is no id. */
export const isId = (id: string): boolean => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(id)

/** Sorts before every id. */
export const firstId = '00000000-0000-0000-0000-000000000000'

/** Sorts after every id. */
export const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
