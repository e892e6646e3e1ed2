/** Finds characters that PostgreSQL refuses in texts and in JSON (NUL, a lone surrogate), and formats values for people. */
import { type LocalizedText, localized } from '../../errors/errors.ts'

/** Deepest nesting of a value: jsonb and JSON.parse accept more, but not without a bound. */
export const maxDepth = 1000

/** Names the part of a JSON text that a jsonb column cannot store. */
export function unstorable(text: string): LocalizedText | undefined {
  const bad = unstorableEscape.exec(text)
  if (bad === null) return undefined
  return bad[1] === '0000'
    ? localized('a NUL character (\\u0000)', 'um caractere NUL (\\u0000)')
    : localized('half of a surrogate pair', 'metade de um par substituto (surrogate)')
}

/** Returns true if PostgreSQL can store the text; other texts are in no column and name nothing. */
export const isStorableText = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed()

/** Removes characters that PostgreSQL refuses: NUL is dropped, a lone surrogate becomes U+FFFD. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '')
}

/** Converts any value to text for a person, an error to its message. Never throws, even if the value throws. */
export function asText(value: unknown): string {
  try {
    if (typeof value !== 'object' || value === null) return String(value)
    if (value instanceof Error) return String(value.message)
    return JSON.stringify(value) ?? String(value)
  } catch {
    try {
      return Object.prototype.toString.call(value)
    } catch {
      return 'an object that cannot be read'
    }
  }
}

/** The value in an error message: a text in quotes, so that '5' and 5 differ; at most 100 characters. */
export function shownValue(value: unknown): string {
  const shown = typeof value === 'string' ? JSON.stringify(value) : asText(value)
  return shown.length > 100 ? `${shown.slice(0, 100)}…` : shown
}

// JSON.stringify escapes exactly NUL and lone surrogates in this form; after an even number of backslashes the text is `\\u0000`.
const unstorableEscape = /(?<!\\)(?:\\\\)*\\u(0000|d[89a-f][0-9a-f]{2})/
