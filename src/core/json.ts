/**
 * Values on their way into the database. What PostgreSQL's jsonb refuses (NUL, lone surrogates, very deep nesting) is
 * found here, before a statement that carries other jobs' rows too would fail as a whole. And what is far too large is
 * found before its text is made, which for 300 MB takes seconds and gigabytes.
 */
import { type Saying, say } from '../errors.ts'

/** Of one input or result, as JSON. More belongs into a file or an object store, and its name into the job. */
export const maxValueBytes = 8 * 1024 * 1024
export const maxDepth = 1000
export const tooDeep = say(`it is nested more than ${maxDepth} deep`, `tem mais de ${maxDepth} níveis`)

export type Checked = { ok: true; text: string } | { ok: false; problem: Saying; isTooLarge?: true }

/** The JSON text of a value, or why it cannot be stored. `undefined` is stored as null. */
export function storable(value: unknown, maxBytes = maxValueBytes): Checked {
  if (isSurelyLonger(value, maxBytes)) return { ok: false, problem: tooLarge(maxBytes), isTooLarge: true }
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    const why = firstLine(asText(error))
    return { ok: false, problem: why.startsWith('Maximum call stack') ? tooDeep : say(why, why) }
  }
  if (text === undefined) {
    if (value === undefined) return { ok: true, text: 'null' }
    return { ok: false, problem: say(`a ${typeof value} is not JSON`, `o tipo ${typeof value} não existe em JSON`) }
  }
  // A character is at least one byte, so most values need no second pass to know that they fit.
  const bytes = text.length * 3 <= maxBytes ? text.length : Buffer.byteLength(text)
  if (bytes > maxBytes) return { ok: false, problem: tooLarge(maxBytes), isTooLarge: true }
  const bad = unstorableEscape.exec(text)
  if (bad) {
    const held =
      bad[1] === '0000'
        ? say('a NUL character (\\u0000)', 'um caractere NUL (\\u0000)')
        : say('half of a surrogate pair', 'metade de um par substituto (surrogate)')
    const problem = say(
      `it holds ${held.en}, which PostgreSQL cannot store`,
      `tem ${held.pt}, que o PostgreSQL não consegue guardar`,
    )
    return { ok: false, problem }
  }
  if (text.length > maxDepth && depth(text) > maxDepth) return { ok: false, problem: tooDeep }
  return { ok: true, text }
}

/**
 * Whether its JSON has more than that many characters, as far as that can be seen without making it: by what each part has
 * at least. In doubt (a toJSON, a getter that throws, a circle) it says no, and the text tells.
 */
function isSurelyLonger(value: unknown, most: number): boolean {
  let length = 0
  const exceeds = (part: unknown, depth: number): boolean => {
    if (depth > maxDepth) throw new Error(tooDeep.en)
    if (typeof part === 'string') length += part.length + 2
    else if (typeof part !== 'object' || part === null) length += 1
    else if (saysItself(part)) length += 1
    else if (ArrayBuffer.isView(part)) length += 2 * ((part as { length?: number }).length ?? 1)
    else if (Array.isArray(part)) {
      if (length + 2 * part.length > most) return true
      length += part.length
      for (const each of part) if (exceeds(each, depth + 1)) return true
    } else {
      for (const [key, each] of Object.entries(part)) {
        if (each === undefined || typeof each === 'function' || typeof each === 'symbol') continue
        length += key.length + 4
        if (exceeds(each, depth + 1)) return true
      }
    }
    return length > most
  }
  try {
    return exceeds(value, 0)
  } catch {
    return false
  }
}

/** It has its own idea of its JSON; a Buffer's is a list of its bytes. */
function saysItself(part: object): boolean {
  const { toJSON } = part as { toJSON?: unknown }
  return part instanceof String || (typeof toJSON === 'function' && toJSON !== Buffer.prototype.toJSON)
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

function depth(text: string): number {
  let deepest = 0
  let level = 0
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const letter = text[i]
    if (quoted) {
      if (letter === '\\') i++
      else if (letter === '"') quoted = false
    } else if (letter === '"') quoted = true
    else if (letter === '{' || letter === '[') deepest = Math.max(deepest, ++level)
    else if (letter === '}' || letter === ']') level--
  }
  return deepest
}

function tooLarge(most: number): Saying {
  const megabytes = Math.round((most / 1024 / 1024) * 10) / 10
  return say(
    `it is more than ${megabytes} MB of JSON; store it elsewhere and pass a reference`,
    `passa de ${megabytes} MB de JSON; guarde em outro lugar e passe uma referência`,
  )
}
const firstLine = (text: string) => text.split('\n', 1)[0] ?? text
