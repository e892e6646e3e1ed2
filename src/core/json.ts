/** What PostgreSQL refuses of texts and of JSON (NUL, half of a surrogate pair), and values as a person reads them. */
import { type Saying, say } from '../errors.ts'

/** How deep a value may be nested: jsonb and JSON.parse take more, but not without end. */
export const maxDepth = 1000

/** What is in a JSON text that a jsonb column cannot hold. */
export function unstorable(text: string): Saying | undefined {
  const bad = unstorableEscape.exec(text)
  if (bad === null) return undefined
  return bad[1] === '0000'
    ? say('a NUL character (\\u0000)', 'um caractere NUL (\\u0000)')
    : say('half of a surrogate pair', 'metade de um par substituto (surrogate)')
}

/** Whether PostgreSQL can hold it as a text; what it cannot is in no column, and names nothing. */
export const isStorableText = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed()

/** Text without what PostgreSQL refuses: NUL is dropped, half a surrogate pair becomes U+FFFD. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '')
}

/** Whatever it is, as text a person can read, an error by its message. Never throws, even when the value does. */
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

// JSON.stringify escapes exactly NUL and lone surrogates this way; an even number of backslashes before is the text `\\u0000`.
const unstorableEscape = /(?<!\\)(?:\\\\)*\\u(0000|d[89a-f][0-9a-f]{2})/
