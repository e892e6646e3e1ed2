/**
 * Encodes the values of users for the database and decodes them: inputs, results, steps, checkpoint data, progress. JSON has no
 * Date, bigint, Map, Set, bytes or undefined, and a reader must get the written value. The codec therefore stores such a value as
 * `{ "$retoma": type, value }`, and wraps an object of the user with such a key in the same way. Plain JSON, the form of nearly
 * every value, is stored unchanged (docs/adr/0037-values.md).
 *
 * Invariant: `decodeValue` returns a value equal to the value accepted by `encodeValue`. A value that would change (an instance
 * of a class, a function, a symbol, a cycle, a list with keys besides its indexes) is refused with its path; nothing is left out
 * silently.
 */
import { type LocalizedText, localized, RetomaError } from '../../errors/errors.ts'
import { asText, maxDepth, unstorable } from './json.ts'

/**
 * Largest size of an input or a result as JSON. Larger data belongs into a file or an object store, and a reference into the job.
 */
export const maxValueBytes = 8 * 1024 * 1024

export type Encoded = { ok: true; text: string } | { ok: false; problem: LocalizedText; isTooLarge?: true }

export interface EncodeOptions {
  /** Name of the value in the path of an error: `input`, `result`. */
  root?: string
  /** Largest size of the JSON text. */
  maxBytes?: number
  /** For a column of type jsonb, which stores no NUL and no lone surrogate. */
  jsonb?: true
  /** Refuses every value that needs a `$retoma` tag: for values with other readers of the JSON. */
  plain?: true
}

export const mark = '$retoma'

/** An object of our own with this property is stored as the value of the property: the handle of an enqueued job as its id and `created`. */
export const storedForm = Symbol('retoma.storedForm')

/**
 * Checkpoint of `ctx.sleep`: the time to wake up, in milliseconds by the clock of the database. A class, to differ from a number
 * of the user.
 */
export class Sleep {
  readonly until: number

  constructor(until: number) {
    this.until = until
  }
}

export function encodeValue(value: unknown, options: EncodeOptions = {}): Encoded {
  const { root = 'it', maxBytes = Number.POSITIVE_INFINITY, jsonb, plain = false } = options
  try {
    const text = JSON.stringify(isJson(value, maxBytes) ? value : new Conversion(root, maxBytes, plain).of(value))
    // A UTF-16 unit has at most three bytes in UTF-8, so that most texts fit without a second pass.
    const bytes = text.length * 3 <= maxBytes ? text.length : Buffer.byteLength(text)
    if (bytes > maxBytes) throw new TooLarge()
    if (jsonb && unstorable(text) !== undefined) refuseUnstorable(value, root)
    return { ok: true, text }
  } catch (error) {
    if (error instanceof TooLarge) return { ok: false, problem: tooLarge(maxBytes), isTooLarge: true }
    if (error instanceof Refusal) return { ok: false, problem: error.saying }
    // A proxy, or an object in the shape of a Date, can throw when read.
    return { ok: false, problem: unreadable(root, error).saying }
  }
}

/** Encodes an input, a result or a progress for a column of type jsonb. undefined becomes null. */
export const encodeStored = (value: unknown, root: 'input' | 'result' | 'progress'): Encoded =>
  value === undefined ? { ok: true, text: 'null' } : encodeValue(value, { root, maxBytes: maxValueBytes, jsonb: true })

class Refusal extends Error {
  readonly saying: LocalizedText

  constructor(saying: LocalizedText) {
    super(saying.en)
    this.saying = saying
  }
}

class TooLarge extends Error {}

/** Counts a lower bound of the JSON length, so that a text of 300 MB is never built. */
class Walk {
  readonly #most: number
  #length = 0

  constructor(most: number) {
    this.#most = most
  }

  add(length: number): void {
    this.#length += length
    if (this.#length > this.#most) throw new TooLarge()
  }
}

/**
 * Returns true if JSON.stringify writes the value unchanged. Fast, because every input and every result passes through this
 * function: no path is built, and at the first part that is not plain a Conversion takes over.
 */
function isJson(value: unknown, most: number): boolean {
  try {
    return isPlain(value, new Walk(most), 0)
  } catch (error) {
    if (error instanceof TooLarge) throw error
    // A getter or a proxy threw: the Conversion names the path.
    return false
  }
}

function isPlain(value: unknown, walk: Walk, depth: number): boolean {
  switch (typeof value) {
    case 'string':
      walk.add(value.length + 2)
      return true
    case 'number':
      walk.add(1)
      return Number.isFinite(value) && !(value === 0 && 1 / value < 0)
    case 'boolean':
      walk.add(4)
      return true
    case 'object':
      if (value === null) return true
      break
    default:
      return false
  }
  if (depth >= maxDepth) return false
  return Array.isArray(value) ? isPlainList(value, walk, depth) : isPlainObject(value, walk, depth)
}

function isPlainList(list: readonly unknown[], walk: Walk, depth: number): boolean {
  walk.add(list.length + 1)
  if (Object.getPrototypeOf(list) !== Array.prototype) return false
  for (let i = 0; i < list.length; i++) if (!isPlain(list[i], walk, depth + 1)) return false
  // The list has no other keys than its indexes; the loop above found no holes.
  return Reflect.ownKeys(list).length === list.length + 1
}

function isPlainObject(value: object, walk: Walk, depth: number): boolean {
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  let keys = 0
  for (const key in value) {
    keys++
    if (key === mark) return false
    walk.add(key.length + 4)
    if (!isPlain((value as Record<string, unknown>)[key], walk, depth + 1)) return false
  }
  // No symbols, no properties that are not enumerable, no inherited properties.
  return Reflect.ownKeys(value).length === keys
}

/** Converts a value to plain JSON, slowly, with the path of every part. */
class Conversion {
  readonly #root: string
  readonly #walk: Walk
  readonly #plain: boolean
  readonly #above = new Set<object>()

  constructor(root: string, most: number, plain: boolean) {
    this.#root = root
    this.#walk = new Walk(most)
    this.#plain = plain
  }

  of(value: unknown): unknown {
    return this.#convert(value, '')
  }

  #convert(value: unknown, at: string): unknown {
    switch (typeof value) {
      case 'string':
        this.#walk.add(value.length + 2)
        return value
      case 'boolean':
        return value
      case 'number':
        this.#walk.add(1)
        if (Number.isFinite(value) && !Object.is(value, -0)) return value
        return this.#tag(at, String(value), 'number', Object.is(value, -0) ? '-0' : `${value}`)
      case 'undefined':
        return this.#tag(at, 'undefined', 'undefined')
      case 'bigint':
        return this.#tag(at, 'bigint', 'bigint', `${value}`)
      case 'object':
        return value === null ? null : this.#object(value, at)
      default:
        return this.#refuse(at, `is a ${typeof value}`, `é do tipo ${typeof value}`)
    }
  }

  #object(value: object, at: string): unknown {
    if (this.#above.has(value)) this.#refuse(at, 'contains itself', 'contém a si mesmo')
    if (this.#above.size >= maxDepth) throw new Refusal(tooDeep)
    this.#above.add(value)
    const kept = this.#parts(value, at)
    this.#above.delete(value)
    return kept
  }

  #parts(value: object, at: string): unknown {
    if (this.#read(at, () => Array.isArray(value))) return this.#list(value as unknown[], at)
    const prototype = this.#read(at, () => Object.getPrototypeOf(value) as object | null)
    if (isPlainPrototype(prototype)) return this.#entries(value, at)
    if (value instanceof Date && prototype === Date.prototype) {
      this.#only(value, at)
      const time = value.getTime()
      return this.#tag(at, 'Date', 'date', Number.isNaN(time) ? null : value.toISOString())
    }
    if (value instanceof Map && prototype === Map.prototype) {
      this.#only(value, at)
      return this.#tag(
        at,
        'Map',
        'map',
        Array.from(value, (pair, i) => this.#object([...pair], `${at}[${i}]`)),
      )
    }
    if (value instanceof Set && prototype === Set.prototype) {
      this.#only(value, at)
      return this.#tag(
        at,
        'Set',
        'set',
        Array.from(value, (each, i) => this.#convert(each, `${at}[${i}]`)),
      )
    }
    if (Buffer.isBuffer(value)) return this.#bytes(value, at, 'buffer')
    if (value instanceof Uint8Array && prototype === Uint8Array.prototype) return this.#bytes(value, at, 'bytes')
    if (storedForm in value) return this.#convert((value as { [storedForm]: unknown })[storedForm], at)
    if (value instanceof Sleep) return this.#tag(at, 'sleep', 'sleep', value.until)
    return this.#refuseInstance(at, prototype)
  }

  #bytes(value: Uint8Array, at: string, type: string): unknown {
    this.#walk.add(Math.ceil(value.byteLength / 3) * 4)
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    return this.#tag(at, type, type, bytes.toString('base64'))
  }

  #list(list: unknown[], at: string): unknown {
    this.#walk.add(list.length + 1)
    const prototype = this.#read(at, () => Object.getPrototypeOf(list) as object | null)
    if (!isListPrototype(prototype)) this.#refuseInstance(at, prototype)
    const more = Reflect.ownKeys(list).find(key => key !== 'length' && !isPlace(key, list.length))
    if (more !== undefined)
      this.#refuse(
        at,
        `is a list that has "${String(more)}" besides its places`,
        `é uma lista que tem "${String(more)}" além das posições`,
      )
    return Array.from({ length: list.length }, (_, i) => {
      const place = `${at}[${i}]`
      if (!(i in list)) this.#refuse(place, 'is a hole in a list', 'é um buraco numa lista')
      return this.#convert(
        this.#read(place, () => list[i]),
        place,
      )
    })
  }

  #entries(value: object, at: string): unknown {
    const keys = Object.keys(value)
    this.#only(value, at, keys.length)
    const entries = keys.map(key => {
      const place = `${at}${stepTo(key)}`
      this.#walk.add(key.length + 4)
      return [
        key,
        this.#convert(
          this.#read(place, () => (value as Record<string, unknown>)[key]),
          place,
        ),
      ] as const
    })
    const plain = Object.fromEntries(entries)
    return Object.hasOwn(value, mark) ? this.#tag(at, `an object with a key ${mark}`, 'object', plain) : plain
  }

  /** Refuses keys that JSON would leave out: symbols and keys that are not enumerable. */
  #only(value: object, at: string, visible = 0): void {
    const all = Reflect.ownKeys(value)
    if (all.length === visible) return
    if (all.some(key => typeof key === 'symbol')) this.#refuse(at, 'has a symbol as key', 'tem um symbol como chave')
    const hidden = all.find(key => visible === 0 || !Object.prototype.propertyIsEnumerable.call(value, key))
    this.#refuse(
      at,
      `has "${String(hidden)}", which is not among its values`,
      `tem "${String(hidden)}", que não está entre os valores`,
    )
  }

  #read<T>(at: string, read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw unreadable(`${this.#root}${at}`, error)
    }
  }

  #tag(at: string, is: string, type: string, value?: unknown): unknown {
    this.#walk.add(20)
    if (this.#plain) this.#refuse(at, `is ${is}`, `é ${is}`)
    return value === undefined ? { [mark]: type } : { [mark]: type, value }
  }

  #refuse(at: string, en: string, pt: string): never {
    throw refusal(`${this.#root}${at}`, en, pt)
  }

  #refuseInstance(at: string, prototype: { constructor?: unknown } | null): never {
    const name = this.#read(at, () => (prototype?.constructor as { name?: unknown } | undefined)?.name)
    return typeof name === 'string' && name !== ''
      ? this.#refuse(at, `is an instance of ${name.slice(0, 100)}`, `é uma instância de ${name.slice(0, 100)}`)
      : this.#refuse(at, 'is an instance of a class', 'é uma instância de uma classe')
  }
}

const isPlace = (key: string | symbol, length: number): boolean =>
  typeof key === 'string' && isIndex(Number(key), key, length)

const isIndex = (n: number, key: string, length: number): boolean =>
  Number.isInteger(n) && n >= 0 && n < length && String(n) === key

/** Also true for an object of another realm, such as the realm of a test runner. */
function isPlainPrototype(prototype: object | null): boolean {
  if (prototype === null || prototype === Object.prototype) return true
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf')
}

function isListPrototype(prototype: object | null): boolean {
  if (prototype === null || prototype === Array.prototype) return prototype !== null
  const above = Object.getPrototypeOf(prototype) as object | null
  return above !== null && above !== Array.prototype && isPlainPrototype(above)
}

const stepTo = (key: string): string =>
  /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`

const longestPath = 200

function refusal(path: string, en: string, pt: string): Refusal {
  const shortPath = path.length > longestPath ? `${path.slice(0, longestPath)}…` : path
  return new Refusal(
    localized(`${shortPath} ${en}, which cannot be stored`, `${shortPath} ${pt}, que não pode ser guardado`),
  )
}

function unreadable(path: string, error: unknown): Refusal {
  const why = asText(error).split('\n', 1)[0]!.slice(0, 200)
  return refusal(path, `cannot be read (${why})`, `não pode ser lido (${why})`)
}

/** Names the text that PostgreSQL cannot store. */
function refuseUnstorable(value: unknown, root: string): never {
  const visit = (part: unknown, at: string): void => {
    if (typeof part === 'string') {
      const held = unstorable(JSON.stringify(part))
      if (held !== undefined) throw holds(at, held)
    } else if (part instanceof Map) {
      Array.from(part).forEach((pair, i) => void visit(pair, `${at}[${i}]`))
    } else if (part instanceof Set || Array.isArray(part)) {
      Array.from(part).forEach((each, i) => void visit(each, `${at}[${i}]`))
    } else if (typeof part === 'object' && part !== null && isPlainPrototype(Object.getPrototypeOf(part))) {
      for (const [key, each] of Object.entries(part)) {
        const held = unstorable(JSON.stringify(key))
        if (held !== undefined) throw holds(at, held)
        visit(each, `${at}${stepTo(key)}`)
      }
    }
  }
  visit(value, root)
  throw holds(root, localized('text', 'texto'))
}

function holds(path: string, held: LocalizedText): Refusal {
  const shortPath = path.length > longestPath ? `${path.slice(0, longestPath)}…` : path
  return new Refusal(
    localized(
      `${shortPath} holds ${held.en}, which PostgreSQL cannot store`,
      `${shortPath} tem ${held.pt}, que o PostgreSQL não consegue guardar`,
    ),
  )
}

const tooDeep = localized(`it is nested more than ${maxDepth} deep`, `tem mais de ${maxDepth} níveis`)

function tooLarge(most: number): LocalizedText {
  const megabytes = Math.round((most / 1024 / 1024) * 10) / 10
  return localized(
    `it is more than ${megabytes} MB of JSON; store it elsewhere and pass a reference`,
    `passa de ${megabytes} MB de JSON; guarde em outro lugar e passe uma referência`,
  )
}

/** Returns true if the text may contain a tag to decode; nearly every text has none. */
export const isMarked = (text: string): boolean => text.includes(`"${mark}"`)

/** Decodes the text of `encodeValue`. */
export const decodeText = (text: string): unknown => (isMarked(text) ? decodeValue(JSON.parse(text)) : JSON.parse(text))

/** Decodes the output of JSON.parse. */
export function decodeValue(kept: unknown): unknown {
  if (kept === null || typeof kept !== 'object') return kept
  if (Array.isArray(kept)) return kept.map(decodeValue)
  if (!Object.hasOwn(kept, mark)) return decodeEntries(kept)
  const { [mark]: type, value } = kept as { [mark]: string; value?: unknown }
  switch (type) {
    case 'undefined':
      return undefined
    case 'number':
      return Number(value)
    case 'bigint':
      return BigInt(value as string)
    case 'date':
      return new Date((value as string | null) ?? Number.NaN)
    case 'map':
      return new Map((value as unknown[]).map(decodeValue) as [unknown, unknown][])
    case 'set':
      return new Set((value as unknown[]).map(decodeValue))
    case 'buffer':
      return Buffer.from(value as string, 'base64')
    case 'bytes':
      return new Uint8Array(Buffer.from(value as string, 'base64'))
    case 'object':
      return decodeEntries(value as object)
    case 'sleep':
      return new Sleep(value as number)
    default:
      throw new RetomaError('bad_value', {
        what: localized('a stored value', 'um valor guardado'),
        problem: localized(
          `it was kept as "${type}", which this version does not know`,
          `foi guardado como "${type}", que esta versão não conhece`,
        ),
      })
  }
}

const decodeEntries = (kept: object) =>
  Object.fromEntries(Object.entries(kept).map(([key, each]) => [key, decodeValue(each)]))

/** Decodes for views: a value with an unknown tag stays in its stored form. */
export function viewValue(kept: unknown): unknown {
  try {
    return decodeValue(kept)
  } catch {
    return kept
  }
}

/**
 * Converts a value to JSON for people and programs, over HTTP and with --json: an instant becomes ISO 8601, a bigint and a number
 * without a JSON form become text, bytes become base64, a Set becomes a list, a Map becomes an object if all keys are texts,
 * otherwise a list of pairs.
 */
export function readableValue(value: unknown): unknown {
  switch (typeof value) {
    case 'bigint':
      return `${value}`
    case 'number':
      return Number.isFinite(value) ? value : `${value}`
    case 'object':
      return value === null ? null : readableObject(value)
    default:
      return value
  }
}

function readableObject(value: object): unknown {
  if (Array.isArray(value)) return value.map(each => (each === undefined ? null : readableValue(each)))
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (value instanceof Set) return readableObject([...value])
  if (value instanceof Map) {
    const isNamed = [...value.keys()].every(key => typeof key === 'string')
    return isNamed ? readableObject(Object.fromEntries(value)) : readableObject(Array.from(value, pair => [...pair]))
  }
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, readableValue(each)]))
}
