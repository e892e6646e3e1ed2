/** Makes text from outside fit to be stored and shown. */

/** Removes characters that PostgreSQL refuses: NUL, and half of a surrogate pair. */
const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()

/** Characters that break a line. */
const torn = /[\p{Cc}\p{Zl}\p{Zp}]+/gu
/** Invisible characters that change the direction of the following text. */
const turning = /[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu

/** A single line, without blanks around it. */
export const oneLine = (text: string): string =>
  storable(text).normalize('NFC').replaceAll(turning, '').replaceAll(torn, ' ').trim()
