/**
 * Prints OpenAPI 3.1 from the routes, with the same schemas that validate. A schema with a name (`.meta({ id })`) becomes a component;
 * other schemas are inlined.
 *
 * Invariant: every route is included, with every status it may return and, for mistakes of a caller, with every code.
 */
import { z } from 'zod'
import { codeOf, type ErrorName, entryOf } from '../errors/errors.ts'
import { version } from '../version.ts'
import { longestKey } from './request/idempotency-key.ts'
import type { UploadOptions } from './request/upload.ts'
import { downloadTypes } from './response/download.ts'
import type { Route } from './route.ts'
import { problem } from './shared-schemas.ts'

export interface Json {
  [name: string]: unknown
}

export interface Operation {
  operationId: string
  summary: string
  tags: string[]
  'x-role': Route['role']
  parameters: Json[]
  requestBody?: Json
  responses: Record<string, Json>
  security: Json[]
}

export interface OpenApi {
  openapi: '3.1.0'
  info: Json
  servers: Json[]
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Json>; securitySchemes: Json }
}

/** Errors of every route, independent of the request. */
const everywhere: readonly ErrorName[] = [
  'internal',
  'engine_closed',
  'database_unreachable',
  'database_timeout',
  'database_locked',
  'database_full',
]

/** `basePath`: the path at which the app is mounted. */
export function openApiOf(routes: readonly Route[], basePath = ''): OpenApi {
  const schemas = new Components()
  schemas.of(problem, 'output', 'problem')
  const paths: OpenApi['paths'] = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method]: operationOf(route, schemas) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Retoma',
      version,
      description:
        'Durable jobs and batches on PostgreSQL. Errors are `{ error: { code, message, … } }`, in English or ' +
        'Portuguese by `Accept-Language`. Lists answer `{ items, next }`: hand `next` back as `after`.',
    },
    servers: [{ url: basePath === '' ? '/' : basePath }],
    tags: [...new Set(routes.map(each => each.tag))].map(name => ({ name })),
    paths,
    components: { schemas: schemas.all, securitySchemes },
  }
}

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'a token from `retoma token create`' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'retoma_session', description: 'of the dashboard, after log-in' },
  cron: { type: 'http', scheme: 'bearer', description: 'CRON_SECRET' },
  cron_query: { type: 'apiKey', in: 'query', name: 'secret', description: 'CRON_SECRET, where no header can be set' },
}

function operationOf(route: Route, schemas: Components): Operation {
  const { name, summary, tag, role } = route
  return {
    operationId: name,
    summary,
    tags: [tag],
    'x-role': role,
    parameters: [
      ...parametersOf(route.params, 'path', schemas, name),
      ...parametersOf(route.query, 'query', schemas, name),
      ...(route.makes ? [idempotencyKey] : []),
      acceptLanguage,
    ],
    ...(route.body === undefined && route.upload === undefined ? {} : { requestBody: bodyOf(route, schemas) }),
    responses: { ...answersOf(route, schemas), ...refusalsOf(route) },
    security: securityOf(role),
  }
}

const securityOf = (role: Route['role']): Json[] => {
  if (role === 'open') return []
  return role === 'cron' ? [{ cron: [] }, { cron_query: [] }] : [{ bearer: [] }, { cookie: [] }]
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'same key and body within 24 h: the first answer again; same key and another body: 409',
  schema: { type: 'string', minLength: 1, maxLength: longestKey },
}

const acceptLanguage = {
  name: 'Accept-Language',
  in: 'header',
  required: false,
  description: 'en or pt; without either English on the routes of the engine, Portuguese on those of a system',
  schema: { type: 'string' },
}

function parametersOf(schema: z.ZodType | undefined, where: 'path' | 'query', schemas: Components, name: string) {
  if (schema === undefined) return []
  const { properties = {}, required = [] } = schemas.of(schema, 'input', name) as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([each, { description, ...rest }]) => ({
    name: each,
    in: where,
    required: where === 'path' || required.includes(each),
    ...(description === undefined ? {} : { description }),
    schema: rest,
  }))
}

function bodyOf({ body, upload, name }: Route, schemas: Components): Json {
  return {
    required: upload !== undefined || !body?.safeParse(undefined).success,
    content: {
      ...(body === undefined ? {} : { 'application/json': { schema: schemas.of(body, 'input', name) } }),
      ...(upload === undefined ? {} : { 'multipart/form-data': { schema: formOf(upload) } }),
      ...Object.fromEntries((upload?.whole ?? []).map(type => [type, { schema: fileOf(upload!) }])),
    },
  }
}

const fileOf = ({ largestFile }: UploadOptions): Json => ({
  type: 'string',
  contentMediaType: 'application/octet-stream',
  description: `at most ${largestFile} bytes`,
})

function formOf(upload: UploadOptions): Json {
  const { fields = [], files, required = [], mostFiles } = upload
  const file = fileOf(upload)
  const many = mostFiles === 1 ? file : { type: 'array', maxItems: mostFiles, items: file }
  const properties = [...fields.map(field => [field, { type: 'string' }]), ...files.map(field => [field, many])]
  return { type: 'object', properties: Object.fromEntries(properties), required, additionalProperties: false }
}

/** A file has its own content type if the type is harmless. */
const typesOf = (answers: string) => (answers === 'application/octet-stream' ? downloadTypes : [answers])

/** An existing resource is 200 where a new resource is 201; a finished stream is 204. */
function answersOf(route: Route, schemas: Components): Record<string, Json> {
  const { status = 200, answer, answers, makes, name, ranges } = route
  const content =
    status === 204
      ? {}
      : answers !== undefined
        ? { content: Object.fromEntries(typesOf(answers).map(type => [type, { schema: { type: 'string' } }])) }
        : {
            content: { 'application/json': { schema: answer === undefined ? {} : schemas.of(answer, 'output', name) } },
          }
  const found = { [status]: { description: status === 201 ? 'made' : 'done', ...content } }
  if (ranges)
    return {
      ...found,
      206: { description: 'the part of the header Range', ...content },
      304: { description: 'the client has the file already' },
      416: { description: 'Range begins behind the end' },
    }
  if (answers === 'text/event-stream')
    return { ...found, 204: { description: 'the stream is over, and all events were sent' } }
  return makes && status === 201 ? { ...found, 200: { description: 'the resource already exists', ...content } } : found
}

/** By status; each code with its sentence. */
function refusalsOf(route: Route): Record<string, Json> {
  const codes = new Map<number, ErrorName[]>()
  for (const code of codesOf(route)) {
    const { status } = entryOf(code)
    codes.set(status, [...new Set([...(codes.get(status) ?? []), code])])
  }
  return Object.fromEntries(
    [...codes].sort(([a], [b]) => a - b).map(([status, list]) => [status, refusal(status, list)]),
  )
}

function codesOf(route: Route): ErrorName[] {
  // Every route refuses a NUL character in the query, and too many parameters.
  const wrong: ErrorName[] = ['bad_request']
  const who: ErrorName[] = route.role === 'open' ? [] : ['unauthorized', 'forbidden']
  const body: ErrorName[] =
    route.body === undefined ? [] : ['body_too_large', 'too_many_values', 'not_json', 'encoded_body', 'server_busy']
  const files: ErrorName[] =
    route.upload === undefined
      ? []
      : ['body_too_large', 'file_too_large', 'too_many_files', 'not_multipart', 'encoded_body']
  const busy: ErrorName[] = route.heavy && route.body === undefined ? ['server_busy'] : []
  const streams: ErrorName[] = route.answers === 'text/event-stream' ? ['too_many_streams'] : []
  // A response stored in the transaction of the resource is never visible half-way.
  const again: ErrorName[] =
    route.makes === 'exactly'
      ? ['idempotency_conflict']
      : route.makes
        ? ['idempotency_conflict', 'idempotency_running']
        : []
  return [
    ...wrong,
    ...who,
    ...body,
    ...files,
    ...busy,
    ...streams,
    ...(route.errors ?? []),
    ...again,
    'rate_limited',
    ...everywhere,
  ]
}

const retryAfter = { 'Retry-After': { description: 'seconds', schema: { type: 'integer' } } }

/** Codes are enumerated for errors that a caller can correct. For the other errors, further codes may be added later. */
function refusal(status: number, codes: readonly ErrorName[]): Json {
  const named = [400, 404, 409, 413, 415].includes(status)
  const schema = { $ref: '#/components/schemas/Error' }
  const codesOfError = { properties: { error: { properties: { code: { enum: codes.map(codeOf) } } } } }
  return {
    description: codes.map(code => `\`${codeOf(code)}\`: ${entryOf(code).en}`).join('\n\n'),
    ...(status === 429 || status === 503 ? { headers: retryAfter } : {}),
    content: { 'application/json': { schema: named ? { allOf: [schema, codesOfError] } : schema } },
  }
}

/** Schemas as JSON Schema; each named schema appears once. */
class Components {
  readonly all: Record<string, Json> = {}

  /** `name`: the route's name, for a recursive schema without a name. */
  of(schema: z.ZodType, io: 'input' | 'output', name: string): Json {
    const {
      $schema: _,
      $defs = {},
      ...found
    } = z.toJSONSchema(schema, { io, override: plain }) as Json & {
      $defs?: Record<string, Json>
    }
    const names = new Map<string, string>()
    for (const [id, about] of Object.entries($defs)) {
      const own = id.startsWith('__') ? `${name}${id.slice(2)}` : id
      names.set(id, this.#isTaken(own, about) ? `${own}Of${name}` : own)
    }
    const renamed = (json: unknown) => rename(json, names) as Json
    for (const [id, about] of Object.entries($defs)) this.all[names.get(id)!] = renamed(about)
    return renamed(found)
  }

  #isTaken(name: string, about: Json): boolean {
    const known = this.all[name]
    return known !== undefined && JSON.stringify(known) !== JSON.stringify(rename(about, new Map()))
  }
}

function rename(json: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(json)) return json.map(each => rename(each, names))
  if (typeof json !== 'object' || json === null) return json
  return Object.fromEntries(
    Object.entries(json).map(([key, value]) => {
      if (key !== '$ref' || typeof value !== 'string') return [key, rename(value, names)]
      const id = value.replace('#/$defs/', '')
      return [key, `#/components/schemas/${names.get(id) ?? id}`]
    }),
  )
}

/** Removes redundant keywords: the pattern of an instant, the bounds of a safe integer. */
function plain({ jsonSchema, zodSchema }: { jsonSchema: Json; zodSchema: z.core.$ZodTypes }): void {
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  // A response may get further fields later; a request may not.
  const { def } = zodSchema._zod
  const open = def.type === 'object' && def.catchall?._zod.def.type !== 'never'
  if (open && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
  if (jsonSchema.propertyNames !== undefined) delete jsonSchema.propertyNames
}
