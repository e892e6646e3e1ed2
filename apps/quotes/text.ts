/** Makes text from outside fit to be stored and shown. */

/** Removes characters that PostgreSQL refuses: NUL, and half of a surrogate pair. */
export const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()

/** JSON for a jsonb column: texts and keys of answers from outside, without the characters that PostgreSQL refuses. */
export const storableJson = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'string') return storable(part)
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    return Object.fromEntries(Object.entries(part).map(([key, each]) => [storable(key), each]))
  })

/** Characters that break a line. */
const torn = /[\p{Cc}\p{Zl}\p{Zp}]+/gu
/** Invisible characters that change the direction of the following text. */
const turning = /[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu

/** A single line, without blanks around it. */
export const oneLine = (text: string): string =>
  storable(text).normalize('NFC').replaceAll(turning, '').replaceAll(torn, ' ').trim()
