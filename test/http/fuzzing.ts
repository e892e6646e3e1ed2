/** Generates hostile requests from the OpenAPI document, and checks the conditions that every answer must fulfil. */
import fc from 'fast-check'
import { expect, onTestFinished } from 'vitest'
import { isRetomaError } from '../../src/errors/errors.ts'
import type { Route } from '../../src/http/index.ts'
import type { Json, OpenApi } from '../../src/http/openapi.ts'
import { type Log, silentLog } from '../../src/lib/logging/log.ts'
import { anyText, hostile } from './arbitrary.ts'

/** `npm run fuzz` sends more. */
export const runs = Number(process.env.FUZZ_RUNS ?? 8)
export const seed = Number(process.env.FUZZ_SEED ?? 6)
export const at = 'http://127.0.0.1:3000'

/** Whatever went wrong behind the door that is no refusal of ours fails the test. */
export function logOfTrouble(): Log {
  const errors: unknown[] = []
  const error = ({ err }: { err?: unknown }) => void (isRetomaError(err) || errors.push(err))
  onTestFinished(() => expect(errors).toEqual([]))
  return { ...silentLog, error } as Log
}

const looksLikeAStack = /\n\s+at |\.ts:\d+|\.js:\d+|node_modules|node:internal/

/** Processor time and not the clock's: on a loaded machine a harmless request may take long. */
const mostProcessorMs = 2000
const mostMemory = 2 ** 31

/** `fetch` has held the answer against the document already. */
export async function harmless(fetch: (request: Request) => Promise<Response>, request: Request): Promise<number> {
  const before = process.cpuUsage()
  const response = await fetch(request)
  const text = await response.text()
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000, `${request.method} ${request.url.slice(0, 200)}`).toBeLessThan(mostProcessorMs)
  expect(process.memoryUsage.rss()).toBeLessThan(mostMemory)
  expect(response.status, text).not.toBe(500)
  if (response.status >= 400) expect(text).not.toMatch(looksLikeAStack)
  return response.status
}

export const headerText = fc.oneof(
  fc.constantFrom(
    '',
    '*',
    'en',
    'application/json',
    'multipart/form-data',
    'Bearer ',
    'x'.repeat(4000),
    '0',
    '-1',
    '1e99',
  ),
  fc.string({ maxLength: 60 }).map(text => text.replace(/[^\x20-\x7e]/g, '?').trim()),
)
export const headers = fc.dictionary(
  fc.constantFrom(
    'accept',
    'accept-language',
    'content-type',
    'idempotency-key',
    'last-event-id',
    'range',
    'x-user-id',
    'if-none-match',
    'te',
    'cookie',
  ),
  headerText,
  { maxKeys: 3 },
)

/** Whatever a route can be asked; `names`: such as there are. */
export function requestsTo(
  route: Route,
  { paths, components }: OpenApi,
  names: readonly string[],
): fc.Arbitrary<RequestInit & { url: string }> {
  const operation = paths[route.path]![route.method]!
  const place = fc.oneof(fc.constantFrom(...names), anyText)
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(() => place)
  const inQuery = operation.parameters.filter(each => each.in === 'query')
  const value = (each: Json) => hostile(each.schema as Json, components.schemas).map(text => String(asParameter(text)))
  const query = fc.tuple(
    fc.record(Object.fromEntries(inQuery.map(each => [each.name as string, value(each)])), { requiredKeys: [] }),
    fc.dictionary(anyText, anyText, { maxKeys: 1 }),
  )
  const reported = operation.requestBody?.content as Record<string, { schema: Json }> | undefined
  // A route that takes only a form gets no body: the form has a test of its own.
  const json = reported?.['application/json']
  const body = json === undefined ? fc.constant(undefined) : hostile(json.schema, components.schemas)
  return fc.record({ inPath: fc.tuple(...inPath), query, body, headers }).map(given => {
    let n = 0
    const path = route.path.replace(/\{\w+\}/g, () => encodeURIComponent(wellFormed(given.inPath[n++]!)) || '%20')
    const search = new URLSearchParams(Object.assign({}, ...given.query) as Record<string, string>)
    return {
      url: `${at}${path}?${search}`,
      method: route.method.toUpperCase(),
      headers: { 'content-type': 'application/json', ...given.headers },
      ...(given.body === undefined || route.method === 'get' ? {} : { body: JSON.stringify(given.body) }),
    }
  })
}

const fieldsOf = (n: number) => Array.from({ length: n }, (_, i) => `"k${i}":${i}`).join(',')

/** Values that cost much more to read than to send. */
const giants = [
  `[${'[],'.repeat(80_000)}[]]`,
  `[${'7,'.repeat(150_000)}7]`,
  `[${'{"a":1},'.repeat(60_000)}{}]`,
  `{${fieldsOf(80_000)}}`,
  `"${'x'.repeat(1_000_000)}"`,
  `${'['.repeat(60)}${'1,'.repeat(100_000)}1${']'.repeat(60)}`,
  `[${'9'.repeat(300_000)}]`,
]

/** Two for each field in turn, and in `npm run fuzz` all. */
const giantsFor = (n: number) =>
  process.env.FUZZ_RUNS === undefined ? [n, n + 3].map(each => giants[each % giants.length]!) : giants

/** Bodies of a route in which one field, or the whole body, has its maximal size. */
export function giantBodies(route: Route, { paths, components }: OpenApi): string[] {
  const reported = paths[route.path]![route.method]!.requestBody?.content as
    | Record<string, { schema: Json }>
    | undefined
  const schema = reported?.['application/json']?.schema
  if (schema === undefined) return []
  const forms = ((schema.anyOf ?? [schema]) as Json[]).map(each =>
    typeof each.$ref === 'string' ? components.schemas[each.$ref.split('/').at(-1)!]! : each,
  )
  const names = new Set(forms.flatMap(each => Object.keys((each.properties ?? {}) as object)))
  return [
    ...giants,
    ...[...names].flatMap((name, n) => giantsFor(n).map(giant => `{"${name}":${giant}}`)),
    `{${[...names].map(name => `"${name}":${giants[1]}`).join(',')}}`,
  ]
}

const wellFormed = (text: string) => text.toWellFormed()
const asParameter = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : value)
