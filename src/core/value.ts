/**
 * What a step returns, on its way into the database and back. JSON has no Date, bigint, Map, Set, bytes or undefined; a
 * handler that goes on after a crash must get what it got the first time. So they are kept as `{ "$retoma": type, value }`,
 * and an object of the user's that has such a key is wrapped likewise.
 *
 * Invariant: what `encodeValue` accepts `decodeValue` gives back equal. What would come back as something else (an instance
 * of a class, a function, a symbol, a circle) is refused, with the place where it is.
 */
import { RetomaError, type Saying, say } from '../errors.ts'
import { maxDepth, tooDeep } from './json.ts'

type Encoded = { ok: true; text: string } | { ok: false; problem: Saying }

const mark = '$retoma'

/** What `ctx.sleep` keeps: when to wake up, in milliseconds of the database's clock. Told from a user's number by its type. */
export class Sleep {
  readonly until: number

  constructor(until: number) {
    this.until = until
  }
}

export function encodeValue(value: unknown): Encoded {
  try {
    return { ok: true, text: JSON.stringify(convert(value, '', new Set())) }
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, problem: error.saying }
    throw error
  }
}

class Refusal extends Error {
  readonly saying: Saying

  constructor(saying: Saying) {
    super(saying.en)
    this.saying = saying
  }
}

function convert(value: unknown, at: string, above: Set<object>): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : tag('number', Object.is(value, -0) ? '-0' : `${value}`)
    case 'undefined':
      return tag('undefined')
    case 'bigint':
      return tag('bigint', `${value}`)
    case 'object':
      return value === null ? null : object(value, at, above)
    default:
      return refuse(at, `is a ${typeof value}`, `é do tipo ${typeof value}`)
  }
}

function object(value: object, at: string, above: Set<object>): unknown {
  if (above.has(value)) refuse(at, 'contains itself', 'contém a si mesmo')
  if (above.size >= maxDepth) throw new Refusal(tooDeep)
  above.add(value)
  const kept = parts(value, at, above)
  above.delete(value)
  return kept
}

function parts(value: object, at: string, above: Set<object>): unknown {
  const item = (each: unknown, index: number) => convert(each, `${at}[${index}]`, above)
  if (Array.isArray(value)) return Array.from(value, item)
  if (value instanceof Date) return tag('date', Number.isNaN(value.getTime()) ? null : value.toISOString())
  if (value instanceof Map)
    return tag(
      'map',
      Array.from(value, (pair, index) => item([...pair], index)),
    )
  if (value instanceof Set) return tag('set', Array.from(value, item))
  if (Buffer.isBuffer(value)) return tag('buffer', value.toString('base64'))
  if (value instanceof Uint8Array) return tag('bytes', Buffer.from(value).toString('base64'))
  if (value instanceof Sleep) return tag('sleep', value.until)
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) refuseInstance(at, prototype)
  if (Object.getOwnPropertySymbols(value).length > 0) refuse(at, 'has a symbol as key', 'tem um symbol como chave')
  const entries = Object.entries(value).map(([key, each]) => [key, convert(each, `${at}.${key}`, above)] as const)
  const plain = Object.fromEntries(entries)
  return Object.hasOwn(value, mark) ? tag('object', plain) : plain
}

const tag = (type: string, value?: unknown) => ({ [mark]: type, ...(value === undefined ? {} : { value }) })

function refuse(at: string, en: string, pt: string): never {
  const place = at.replace(/^\./, '')
  throw new Refusal(
    say(
      `${place || 'it'} ${en}, which cannot be kept; return plain data`,
      `${place || 'ele'} ${pt}, que não pode ser guardado; devolva dados simples`,
    ),
  )
}

function refuseInstance(at: string, prototype: { constructor?: { name?: unknown } }): never {
  const name = prototype.constructor?.name
  return typeof name === 'string' && name !== ''
    ? refuse(at, `is a ${name}`, `é um ${name}`)
    : refuse(at, 'is an instance of a class', 'é uma instância de uma classe')
}

/** What `encodeValue` was given, from its text as JSON.parse reads it. */
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
        what: say('a checkpoint', 'um checkpoint'),
        problem: say(
          `it was kept as "${type}", which this version does not know`,
          `foi guardado como "${type}", que esta versão não conhece`,
        ),
      })
  }
}

const decodeEntries = (kept: object) =>
  Object.fromEntries(Object.entries(kept).map(([key, each]) => [key, decodeValue(each)]))
