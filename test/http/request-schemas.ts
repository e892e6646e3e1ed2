/** Finds the parts of request schemas that have no maximum. */
import type { z } from 'zod'
import type { Route } from '../../src/http/index.ts'
import { innerOf, maximumOf, mostProperties } from '../../src/http/request/parse-schema.ts'

type Schema = z.core.$ZodType

/** `POST /api/v1/batches body.refs: array`: one line for each list, text or object that a client may send without end. */
export function unboundedIn(routes: readonly Route[]): string[] {
  return routes.flatMap(({ method, path, query, body }) =>
    Object.entries({ query, body }).flatMap(([where, schema]) =>
      schema === undefined ? [] : unboundedAt(schema, `${method.toUpperCase()} ${path} ${where}`),
    ),
  )
}

/** Of one value Zod and we look at nothing inside; JSON's own depth, bytes and number of values bound it (http/request/json-size-scan.ts). */
const bounded = ['number', 'int', 'boolean', 'enum', 'literal', 'null', 'undefined', 'unknown']
const followed = ['optional', 'nullable', 'default', 'prefault', 'pipe', 'union']

function unboundedAt(schema: Schema, place: string): string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  const { type } = def
  // `z.preprocess`: the schema after the transform has the bounds.
  if (def.type === 'pipe' && def.in._zod.def.type === 'transform') return unboundedAt(def.out, place)
  const below = innerOf(schema).flatMap((each, n) => unboundedAt(each, `${place}${nameOf(schema, n)}`))
  const wrong = `${place}: ${type}`
  if (bounded.includes(type) || followed.includes(type)) return below
  if (type === 'array') return maximumOf(schema) === undefined ? [wrong, ...below] : below
  if (type === 'string') return isShort(schema) ? below : [wrong]
  if (mostProperties.has(schema)) return below
  if (type === 'object') return def.catchall?._zod.def.type === 'never' ? below : [wrong, ...below]
  return [wrong]
}

/** By its length, or by a pattern that takes so many characters and no more. */
function isShort(schema: Schema): boolean {
  if (maximumOf(schema) !== undefined) return true
  const checks = (schema._zod.def.checks ?? []) as z.core.$ZodChecks[]
  return checks.some(({ _zod: { def } }) => 'pattern' in def && /^\^[^*+]*\$$/.test(String(def.pattern?.source)))
}

function nameOf(schema: Schema, n: number): string {
  const { def } = (schema as z.core.$ZodTypes)._zod
  return def.type === 'object' ? `.${Object.keys(def.shape)[n]}` : def.type === 'array' ? '[]' : ''
}
