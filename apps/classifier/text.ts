/** Text as it comes from outside, made fit to be kept and shown. */

/** What PostgreSQL does not take (NUL, half of a surrogate pair) is not in it. */
export const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()

/** What tears a line. */
const torn = /[\p{Cc}\p{Zl}\p{Zp}]+/gu
/** What is not seen, and turns the direction of what follows. */
const turning = /[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu

/** One line, without blanks around it. */
export const oneLine = (text: string): string =>
  storable(text).normalize('NFC').replaceAll(turning, '').replaceAll(torn, ' ').trim()
