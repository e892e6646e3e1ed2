/**
 * Finds the JSON objects in any text: talk, code fences, unmatched braces. Pure; never throws.
 *
 * Invariant: the work is bounded by a multiple of the length of the text. An object keeps every written field, so a field written twice
 * is seen twice.
 */

export interface JsonObject {
  readonly fields: readonly (readonly [name: string, value: JsonValue])[]
}
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

export const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && 'fields' in value
export const isList = (value: JsonValue | undefined): value is readonly JsonValue[] => Array.isArray(value)

/** Reads allowed for each character of the text, because the text after a `{` without an object is read again. */
const mostReads = 8
const deepest = 64

/** The outermost objects, in the order of the text. */
export function objectsIn(text: string): JsonObject[] {
  const found: JsonObject[] = []
  let left = text.length * mostReads
  for (let from = text.indexOf('{'); from >= 0 && left > 0; ) {
    const reader = new Reader(text, from)
    const object = reader.object(0)
    left -= reader.at - from
    if (object !== undefined) found.push(object)
    from = text.indexOf('{', object === undefined ? from + 1 : reader.at)
  }
  return found
}

const blanks = /[ \t\r\n]*/y
const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const literal = /true|false|null/y
const literals = { true: true, false: false, null: null } as const

/**
 * Reads a value from `at` on; undefined: there is no JSON value. Accepts common errors of models: a comma before the end, a raw line
 * break.
 */
class Reader {
  readonly #text: string
  at: number

  constructor(text: string, at: number) {
    this.#text = text
    this.at = at
  }

  object(depth: number): JsonObject | undefined {
    const fields: [string, JsonValue][] = []
    const field = () => {
      const name = this.#string()
      if (name === undefined || !this.#is(':')) return false
      const value = this.#value(depth)
      if (value !== undefined) fields.push([name, value])
      return value !== undefined
    }
    return this.#between('{', '}', field) ? { fields } : undefined
  }

  #list(depth: number): JsonValue[] | undefined {
    const items: JsonValue[] = []
    const item = () => {
      const value = this.#value(depth)
      if (value !== undefined) items.push(value)
      return value !== undefined
    }
    return this.#between('[', ']', item) ? items : undefined
  }

  #between(open: string, close: string, read: () => boolean): boolean {
    if (!this.#is(open)) return false
    while (!this.#is(close)) {
      if (!read()) return false
      if (!this.#is(',')) return this.#is(close)
    }
    return true
  }

  #value(depth: number): JsonValue | undefined {
    this.#match(blanks)
    const first = this.#text[this.at]
    if (first === '"') return this.#string()
    if (first === '{' || first === '[') {
      if (depth >= deepest) return undefined
      return first === '{' ? this.object(depth + 1) : this.#list(depth + 1)
    }
    const word = this.#match(literal)
    if (word !== undefined) return literals[word as keyof typeof literals]
    const digits = this.#match(number)
    return digits === undefined ? undefined : Number(digits)
  }

  #string(): string | undefined {
    if (!this.#is('"')) return undefined
    const from = this.at
    for (; this.at < this.#text.length; this.at++) {
      const char = this.#text[this.at]
      if (char === '\\') this.at++
      else if (char === '"') return unescaped(this.#text.slice(from, this.at++))
    }
    return undefined
  }

  /** Reads the next non-blank character if the character is `char`. */
  #is(char: string): boolean {
    this.#match(blanks)
    if (this.#text[this.at] !== char) return false
    this.at++
    return true
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.#text)?.[0]
    this.at += found?.length ?? 0
    return found
  }
}

function unescaped(written: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON does not allow them in a string, models write them
  const escaped = written.replace(/[\u0000-\u001f]/g, char => JSON.stringify(char).slice(1, -1))
  try {
    return JSON.parse(`"${escaped}"`) as string
  } catch {
    return undefined
  }
}
