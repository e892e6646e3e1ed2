/** Values for a JSON Schema of the document: such as fit, and such as nearly do. */
import fc from 'fast-check'
import type { Json } from '../../src/http/openapi.ts'

export type Schemas = Record<string, Json>

/** What the schema allows. */
export function fitting(schema: Json, schemas: Schemas, depth = 4): fc.Arbitrary<unknown> {
  const below = (each: unknown) => fitting((each ?? {}) as Json, schemas, depth - 1)
  if (typeof schema.$ref === 'string') return below(schemas[schema.$ref.split('/').at(-1)!])
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum)
  if ('const' in schema) return fc.constant(schema.const)
  const either = (schema.anyOf ?? schema.oneOf) as Json[] | undefined
  if (either) return depth <= 0 ? fc.constant(null) : fc.oneof(...either.map(below))
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map(type => below({ ...schema, type })))
  switch (schema.type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer(rangeOf(schema))
    case 'number':
      return fc.double({ ...rangeOf(schema), noNaN: true })
    case 'string':
      return stringOf(schema)
    case 'array':
      return fc.array(below(schema.items), { minLength: Number(schema.minItems ?? 0), maxLength: 3 })
    case 'object':
      return objectOf(schema, below)
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

const rangeOf = ({ minimum = -1e9, maximum = 1e9 }: Json) => ({ min: Number(minimum), max: Number(maximum) })

function stringOf({ format, pattern, minLength = 0, maxLength = 20 }: Json): fc.Arbitrary<string> {
  if (format === 'date-time') return fc.date({ noInvalidDate: true, min: new Date(0) }).map(date => date.toISOString())
  if (typeof pattern === 'string') return fc.stringMatching(new RegExp(pattern))
  return fc.string({ minLength: Number(minLength), maxLength: Math.min(Number(maxLength), 40) })
}

function objectOf(schema: Json, below: (each: unknown) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const { properties, required, additionalProperties } = schema
  if (properties === undefined)
    return typeof additionalProperties === 'object'
      ? fc.dictionary(fc.string(), below(additionalProperties))
      : fc.object()
  const fields = Object.entries(properties as Schemas).map(([name, each]) => [name, below(each)] as const)
  return fc.record(Object.fromEntries(fields), { requiredKeys: (required ?? []) as string[] })
}

/** Texts that have broken something somewhere. */
const nasty = fc.constantFrom(
  '',
  ' ',
  '0',
  '-1',
  '1e999',
  '9223372036854775807',
  '9223372036854775808',
  'null',
  'undefined',
  '__proto__',
  'constructor',
  '../../etc/passwd',
  '%2e%2e%2f',
  '\u0000',
  '\ud800',
  '\u202e',
  "'; drop table retoma.job; --",
  '{{7*7}}',
  '%{jndi:ldap://x}',
  '<script>',
  'x'.repeat(5000),
  '💥'.repeat(50),
)

export const anyText = fc.oneof(nasty, fc.string({ unit: 'binary', maxLength: 60 }), fc.string())

/** What fits mostly, or has one place wrong, or is anything at all. */
export function hostile(schema: Json, schemas: Schemas): fc.Arbitrary<unknown> {
  const fits = fitting(schema, schemas)
  const anything = fc.oneof(fc.jsonValue({ maxDepth: 3 }), anyText)
  const spoilt = fc
    .tuple(fits, anyText, anything, fc.nat(9))
    .map(([value, name, other, place]) => spoil(value, name, other, place))
  return fc.oneof({ arbitrary: fits, weight: 3 }, { arbitrary: spoilt, weight: 4 }, { arbitrary: anything, weight: 1 })
}

/** Changes or adds one field of the value. */
function spoil(value: unknown, name: string, other: unknown, place: number): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [other] : value.with(place % value.length, other)
  if (typeof value !== 'object' || value === null) return other
  const keys = Object.keys(value)
  const key = place > 7 || keys.length === 0 ? name : keys[place % keys.length]!
  return Object.fromEntries([...Object.entries(value).filter(([each]) => each !== key), [key, other]])
}
