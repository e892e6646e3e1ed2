/**
 * Parses a long JSON text in slices. `JSON.parse` of 16 MB blocks the event loop for some hundred milliseconds; this parser hands
 * `JSON.parse` a group of whole list items or object fields at a time, and waits for `between` after each group.
 *
 * Invariant: the result equals the result of `JSON.parse`, and a text refused by `JSON.parse` is refused.
 */

/** A list or an object with an end that the parser has not reached yet. */
interface Open {
  readonly isList: boolean
  readonly start: number
  /** The position of the first item that is not in `value` yet. */
  groupStart: number
  /** The position of the current item. */
  itemStart: number
  /** undefined: no part of this list or object is parsed yet, so the whole may still go into a group of the list or object around it. */
  value: unknown[] | Record<string, unknown> | undefined
  /** The name of the field for the innermost parsed list or object. */
  name: string | undefined
  /** The previous item was added alone: only a comma or the end may follow. */
  isAfterItem: boolean
}

export interface SliceOptions {
  /** Characters of a group. A longer item is parsed alone. */
  length: number
  between: () => Promise<void>
  /** Receives the text of each group. */
  inspect?: (text: string) => void
}

export async function parseJsonInSlices(
  text: string,
  { length, between, inspect = () => {} }: SliceOptions,
): Promise<unknown> {
  const stack: Open[] = []
  let whole: unknown
  let isWhole = false
  let last = 0

  const parsed = (part: string): unknown => {
    inspect(part)
    return JSON.parse(part)
  }

  /** Throws unless the group has an item: otherwise a comma has no item before or after it. */
  const addGroup = (open: Open, end: number): void => {
    const part = text.slice(open.groupStart, end)
    if (Array.isArray(open.value)) {
      const items = parsed(`[${part}]`) as unknown[]
      if (items.length === 0) throw new SyntaxError('an item is missing')
      for (const item of items) open.value.push(item)
      return
    }
    let fields = 0
    for (const [name, value] of Object.entries(parsed(`{${part}}`) as Record<string, unknown>)) {
      fields++
      put(open.value as Record<string, unknown>, name, value)
    }
    if (fields === 0) throw new SyntaxError('a field is missing')
  }

  /** Parses the complete items before `end` in each open list and object, outermost first. */
  const flush = (end: number): void => {
    for (const [level, open] of stack.entries()) {
      open.value ??= open.isList ? [] : {}
      const inner = stack[level + 1]
      if (inner === undefined) {
        if (open.isAfterItem) refuseText(text.slice(open.groupStart, end))
        else addGroup(open, end)
        open.isAfterItem = false
        open.groupStart = end + 1
        open.itemStart = end + 1
        return
      }
      if (inner.value !== undefined) continue
      if (open.isAfterItem) throw new SyntaxError('a comma is missing')
      if (open.itemStart > open.groupStart) addGroup(open, open.itemStart - 1)
      const before = text.slice(open.itemStart, inner.start).trim()
      if (open.isList) refuseText(before)
      else open.name = nameIn(before)
      open.groupStart = open.itemStart
    }
  }

  const close = (at: number, isList: boolean): void => {
    const open = stack.pop()
    if (open === undefined || open.isList !== isList) throw new SyntaxError('a bracket does not match')
    const outer = stack.at(-1)
    if (open.value === undefined) {
      if (outer !== undefined) return
      whole = parsed(text.slice(0, at + 1))
      isWhole = true
      return
    }
    if (open.isAfterItem) refuseText(text.slice(open.groupStart, at))
    else addGroup(open, at)
    if (outer === undefined) {
      whole = open.value
      isWhole = true
      return
    }
    if (Array.isArray(outer.value)) outer.value.push(open.value)
    else put(outer.value!, outer.name!, open.value)
    outer.groupStart = at + 1
    outer.itemStart = at + 1
    outer.isAfterItem = true
  }

  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isWhole) {
      refuseText(text.slice(at))
      break
    }
    if (code === quote) at = endOfText(text, at)
    else if (code === openBracket || code === openBrace) {
      if (stack.length === 0) refuseText(text.slice(0, at))
      stack.push({
        isList: code === openBracket,
        start: at,
        groupStart: at + 1,
        itemStart: at + 1,
        value: undefined,
        name: undefined,
        isAfterItem: false,
      })
    } else if (code === closeBracket || code === closeBrace) close(at, code === closeBracket)
    else if (code === comma) {
      const open = stack.at(-1)
      if (open === undefined) throw new SyntaxError('a comma stands alone')
      if (open.isAfterItem || at - last >= length) {
        flush(at)
        if (at - last >= length) {
          last = at
          await between()
        }
      } else open.itemStart = at + 1
    }
  }
  if (isWhole) return whole
  // The text is no list and no object, or a list or an object without an end.
  return parsed(text)
}

function put(into: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(into, name, { value, enumerable: true, configurable: true, writable: true })
  else into[name] = value
}

/** Returns the name in `"name" :`. */
function nameIn(before: string): string {
  if (!before.endsWith(':')) throw new SyntaxError('a name is missing')
  const name: unknown = JSON.parse(before.slice(0, -1))
  if (typeof name !== 'string') throw new SyntaxError('a name is no text')
  return name
}

/** Throws unless the text is JSON white space. */
function refuseText(text: string): void {
  if (/[^ \t\r\n]/.test(text)) throw new SyntaxError('something stands where nothing may')
}

/** The position of the closing quote of the string that begins at `start`. */
function endOfText(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === backslash) slashes++
    if (slashes % 2 === 0) return at
  }
  throw new SyntaxError('a text does not end')
}

const [quote, comma, openBracket, backslash, closeBracket, openBrace, closeBrace] = [...'",[\\]{}'].map(each =>
  each.charCodeAt(0),
) as [number, number, number, number, number, number, number]
