/**
 * Validates a value against a schema and stops at the first problem. Zod itself makes an issue for each wrong element: a list of 500,000
 * numbers in place of texts takes Zod 1 s and 300 MB.
 *
 * Invariant: a list above its maximum length, and an object with an unknown field, are refused before their contents are checked. An
 * accepted value is the output of the schema itself.
 */
import { z } from 'zod'
import { type ErrorName, RetomaError } from '../../errors/errors.ts'
import { validationMessage } from './validation-messages.ts'

/** Registers the error of an application for a list above its maximum: `z.array(…).max(2000).register(tooLong, { error })`. */
export const tooLong = z.registry<{ error: ErrorName }>()

/** Registers the largest number of properties of an object or a record with names of the caller: `z.record(…).register(mostProperties, { most })`. */
export const mostProperties = z.registry<{ most: number }>()

export type Issue = z.core.$ZodIssue
export type Parsed = { value: unknown; issue?: undefined } | { issue: Issue }

type Schema = z.core.$ZodType

export function parse(schema: Schema, value: unknown): Parsed {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
      if (value === undefined || value === null) return whole(schema, value)
      return checkedBesides(schema, value, parse(def.innerType, value))
    case 'pipe':
      return checkedBesides(schema, value, parse(def.in, value), true)
    case 'array':
      return Array.isArray(value) ? list(schema, def.element, value) : whole(schema, value)
    case 'object':
      return isRecord(value)
        ? (tooMany(schema, value) ?? object(schema as z.core.$ZodObject, value))
        : whole(schema, value)
    case 'record':
      return (isRecord(value) ? tooMany(schema, value) : undefined) ?? whole(schema, value)
    case 'union':
      return checkedBesides(schema, value, union(def.options, value))
    default:
      return whole(schema, value)
  }
}

/** The maximum length of a list or a text; undefined without a maximum. */
export function maximumOf(schema: Schema): number | undefined {
  const most = (schema._zod.def.checks ?? []).flatMap(check => {
    const { def } = (check as z.core.$ZodChecks)._zod
    return def.check === 'max_length' ? [def.maximum] : []
  })
  return most.length === 0 ? undefined : Math.min(...most)
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Counts the properties before any of them is checked. */
function tooMany(schema: Schema, given: Record<string, unknown>): Parsed | undefined {
  const maximum = mostProperties.get(schema)?.most
  if (maximum === undefined || Object.keys(given).length <= maximum) return undefined
  return { issue: { code: 'too_big', origin: 'object', maximum, path: [], input: given, message: '' } }
}

function list(schema: Schema, element: Schema, given: readonly unknown[]): Parsed {
  const maximum = maximumOf(schema)
  if (maximum !== undefined && given.length > maximum) {
    const own = tooLong.get(schema)
    if (own !== undefined) throw new RetomaError(own.error, { most: maximum })
    return { issue: { code: 'too_big', origin: 'array', maximum, path: [], input: given, message: '' } }
  }
  const { type } = (element as z.core.$ZodTypes)._zod.def
  if (type === 'unknown') return checkedBesides(schema, given, { value: given }, given.length === 0)
  const value: unknown[] = []
  for (let index = 0; index < given.length; index++) {
    const each = parse(element, given[index])
    if (each.issue) return below(index, each.issue)
    value.push(each.value)
  }
  return checkedBesides(schema, given, { value }, given.length === 0)
}

/** `known`: the allowed names, for a suggestion. */
const unknownName = (name: string, input: Record<string, unknown>, known: readonly string[]): Issue => {
  const issue = { code: 'unrecognized_keys' as const, keys: [name], path: [], input, message: '', known }
  return issue
}

function object(schema: z.core.$ZodObject, given: Record<string, unknown>): Parsed {
  const { shape, catchall } = schema._zod.def
  const isStrict = (catchall as z.core.$ZodTypes | undefined)?._zod.def.type === 'never'
  if (isStrict) {
    for (const name in given) {
      if (!Object.hasOwn(shape, name)) return { issue: unknownName(name, given, Object.keys(shape)) }
    }
  }
  if (!isWalked(schema)) return whole(schema, given)
  const value: Record<string, unknown> = {}
  for (const [name, inner] of Object.entries(shape)) {
    const isGiven = Object.hasOwn(given, name)
    const each = parse(inner, isGiven ? given[name] : undefined)
    if (each.issue) return below(name, each.issue)
    if (isGiven || each.value !== undefined) value[name] = each.value
  }
  return checkedBesides(schema, given, { value }, catchall !== undefined && !isStrict)
}

/** If no option fits, returns the problem of the most likely option, which shares the most fields with the value. */
function union(options: readonly Schema[], value: unknown): Parsed {
  let best: { issue: Issue; likeness: number } | undefined
  for (const option of options) {
    const parsed = parse(option, value)
    if (!parsed.issue) return parsed
    const likeness = likenessOf(option, value, parsed.issue)
    if (likeness > (best?.likeness ?? 0)) best = { issue: parsed.issue, likeness }
  }
  return { issue: best?.issue ?? { code: 'invalid_union', errors: [], path: [], input: value, message: '' } }
}

function likenessOf(option: Schema, value: unknown, { code, path }: Issue): number {
  if (path.length === 0 && code === 'invalid_type') return 0
  const { def } = (option as z.core.$ZodTypes)._zod
  if (def.type !== 'object' || !isRecord(value)) return 1
  return 1 + Object.keys(def.shape).filter(name => Object.hasOwn(value, name)).length
}

/** The schema itself decides if it checks more than the walk has checked; by now the value is bounded. */
function checkedBesides(schema: Schema, value: unknown, parsed: Parsed, isOpen = false): Parsed {
  if (parsed.issue) return parsed
  const { checks = [] } = schema._zod.def
  return isOpen || checks.some(check => check._zod.def.check !== 'max_length') ? whole(schema, value) : parsed
}

function whole(schema: Schema, value: unknown): Parsed {
  const found = z.core.safeParse(schema, value, { error: validationMessage('en'), reportInput: true })
  return found.success ? { value: found.data } : { issue: found.error.issues[0]! }
}

const below = (place: string | number, issue: Issue): Parsed => ({ issue: { ...issue, path: [place, ...issue.path] } })

const walked = new WeakMap<Schema, boolean>()

/** True if the schema contains a list, a union or an object with names of the caller, at any depth; for every other schema the number of Zod's issues is bounded. */
function isWalked(schema: Schema): boolean {
  const known = walked.get(schema)
  if (known !== undefined) return known
  walked.set(schema, false) // for a recursive schema
  const isOne = (each: Schema) =>
    ['array', 'union'].includes((each as z.core.$ZodTypes)._zod.def.type) || mostProperties.has(each)
  const found = innerOf(schema).some(each => isOne(each) || isWalked(each))
  walked.set(schema, found)
  return found
}

/** The direct parts of a schema. */
export function innerOf(schema: Schema): readonly Schema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
      return [def.innerType]
    case 'pipe':
      return [def.in]
    case 'array':
      return [def.element]
    case 'object':
      return Object.values(def.shape)
    case 'union':
      return def.options
    default:
      return []
  }
}
