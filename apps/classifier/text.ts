/** Text as it comes from outside, made fit to be kept and shown. */

/** What PostgreSQL does not take (NUL, half of a surrogate pair) is not in it. */
export const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()

// Controls, line and paragraph separators, marks that turn the direction of what follows.
const torn = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\ufeff]+/gu

/** One line, without blanks around it. */
export const oneLine = (text: string): string => storable(text).normalize('NFC').replaceAll(torn, ' ').trim()
