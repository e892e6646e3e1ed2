/** Makes text of a PDF fit to be stored, shown and searched. */
import { createHash } from 'node:crypto'

/** Removes characters that PostgreSQL refuses: NUL, and half of a surrogate pair. */
export const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed()

/** Characters that break a line. */
const torn = /[\p{Cc}\p{Zl}\p{Zp}]+/gu
/** Invisible characters that change the direction of the following text. */
const turning = /[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu

/** A single line, without blanks around it. */
export const oneLine = (text: string): string =>
  storable(text).normalize('NFC').replaceAll(turning, '').replaceAll(torn, ' ').replaceAll(/ {2,}/g, ' ').trim()

/** Removes control characters; keeps line breaks and tabs. */
export const cleanText = (text: string): string =>
  storable(text.replaceAll(/\r\n?/g, '\n').replaceAll(/(?![\n\t])\p{Cc}+/gu, ' '))

/**
 * Without accents and in lower case: "Cotações" and "cotacoes" are the same word. The plurals of -ão become the singular, because the
 * stemmer of PostgreSQL knows these plurals only with their accents.
 */
export const folded = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll(/(?<=\p{L})(?:oes|aes)(?!\p{L})/gu, 'ao')

/** The words of a file name: the parser of PostgreSQL takes `contrato_2024.pdf` for one word. */
export const wordsOf = (name: string): string => name.replaceAll(/[^\p{L}\p{N}]+/gu, ' ').trim()

/** The first bytes of a text in UTF-8, without half a character at the end. */
export function firstBytes(text: string, most: number): string {
  if (text.length * 3 <= most) return text
  const bytes = Buffer.from(text)
  return bytes.length <= most
    ? text
    : bytes
        .subarray(0, most)
        .toString()
        .replace(/\uFFFD$/, '')
}

/** The word of a user in the search index: the index then finds the documents of this user alone. */
export const userWord = (user: string): string => `u${createHash('sha256').update(user).digest('hex').slice(0, 32)}`
