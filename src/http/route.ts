/**
 * Describes a route as data: input, role, response. The same description validates the request (http/request/handle-request.ts), is printed as OpenAPI
 * (openapi.ts) and drives tests, so that nothing is stated twice.
 */
import type { z } from 'zod'
import { roles, type TokenRole } from '../auth/model/token.ts'
import type { Engine, IdempotencyKey } from '../engine/create-engine.ts'
import { type ErrorName, type Language, localized } from '../errors/errors.ts'
import { type Refuse, refuseDefinition, refuseUnknown } from '../errors/invalid-option.ts'
import type { Log } from '../lib/logging/log.ts'
import type { Part, UploadOptions } from './request/upload.ts'
import type { RouteLimit } from './security/route-rate-limit.ts'
import type { Streams } from './streaming/open-streams.ts'

export type { TokenRole } from '../auth/model/token.ts'

/** The person or token that a request comes from. */
export interface Principal {
  user: string
  role: TokenRole
  /** open: no token exists yet, and the request comes from this machine; host: the host application authenticated the request. */
  via: 'token' | 'cookie' | 'open' | 'host'
  /** The id of the token, also behind a cookie; null without a token. */
  token: string | null
}

/** The origin of a request, as the receiving server knows the connection; `http/security/client-address.ts` determines the rest. */
export interface Peer {
  /** The other end of the socket; behind trusted proxies, the client of the proxies. Default: unknown. */
  address?: string | undefined
  /** Ends the connection at once and discards all unread bytes. Default: the connection stays. */
  cut?(): void
  /** The host to which the request was sent, such as 127.0.0.1:3000. Default: the header Host. */
  host?: string
  /** The request came over TLS. Default: as the URL says. */
  secure?: boolean
}

/** The argument of a route's `run`; everything is validated. */
export interface Call<Params = unknown, Query = unknown, Body = unknown> {
  engine: Engine
  params: Params
  query: Query
  body: Body
  who: Principal
  request: Request
  peer: Peer
  language: Language
  log: Log
  /** Additional headers of the response. */
  headers: Headers
  /** The open event streams; http/streaming/sse.ts opens a stream. */
  streams: Streams
  /** Authenticates the request again, for a long response: throws once the principal is no longer admitted. */
  readmit(): Promise<unknown>
  /** The idempotent request; undefined without an Idempotency-Key. */
  once: IdempotencyKey | undefined
  /**
   * The parts of a multipart/form-data body on a route with `upload`, or the one file that is the body; undefined: the body came as
   * JSON, in `body`.
   */
  upload: AsyncIterable<Part> | undefined
}

/** Options of `route`. */
export interface RouteOptions<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType> {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** In OpenAPI's form: /api/v1/jobs/{id}. */
  path: string
  /** The operation name in OpenAPI and in generated clients, such as cancelJob. */
  name: string
  tag: string
  /** One line, English. */
  summary: string
  /** open: every client, without a token; cron: by CRON_SECRET. */
  role: TokenRole | 'open' | 'cron'
  /** The schema of the parameters in the path. Default: none. */
  params?: P
  /** The schema of the query. Default: no query. */
  query?: Q
  /** The schema of the JSON body. Default: no body. */
  body?: B
  /** The route takes files, as multipart/form-data: in place of `body`, or besides. Default: no files. */
  upload?: UploadOptions
  /** The schema of the response; `answers` if the response is no JSON. Default: any JSON. */
  answer?: A
  /** The type of a response that is no JSON; `run` returns a Response. Default: JSON. */
  answers?:
    | 'text/event-stream'
    | 'text/plain'
    | 'text/html'
    | 'text/css'
    | 'text/csv'
    | 'application/octet-stream'
    | 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
  /** A file whose parts can be requested: `run` returns `download(file, request)`. Default: the whole file only. */
  ranges?: true
  /** The status of a response that is a value. Default 200. */
  status?: 200 | 201 | 202 | 204
  /**
   * The errors of this route, besides the errors of every route (bad_request, unauthorized, forbidden …). Default:
   * none.
   */
  errors?: readonly ErrorName[]
  /**
   * While the database is away, requests cannot be authenticated: the route runs all the same, with a `who` without a
   * name. Default: the request is refused.
   */
  unasked?: true
  /**
   * The route creates something: Idempotency-Key is honoured. `exactly`: the route stores its response itself,
   * together with the resource, as `once` (http/request/idempotency-key.ts) does for an application; so does a route
   * with files. true: the response is stored after the creation, so that a request that crashed in between creates
   * the resource again, unless the resource has a unique key. Default: Idempotency-Key is ignored.
   */
  makes?: true | 'exactly'
  /**
   * The rate limit per user; routes with the same bucket are counted together and must give the same limit. Default:
   * no limit.
   */
  limit?: RouteLimit
  /** Bytes of the body; default 64 KB. */
  largest?: number
  /** List items and object fields of the body, at every depth; default 200,000. More is `too_many_values`. */
  mostValues?: number
  /**
   * The route makes the database work for long: only a few such requests run at the same time (http/request/heavy-
   * requests.ts). Default: false.
   */
  heavy?: true
  /** The language of errors and texts for a request without an Accept-Language that names en or pt. Default: en. */
  language?: Language
  /** Returns a value for JSON, or a Response for any other type. */
  run(call: Call<z.output<P>, z.output<Q>, z.output<B>>): unknown
}

/** A route, made by `route`. */
export type Route = RouteOptions<z.ZodType, z.ZodType, z.ZodType, z.ZodType>

const known = Object.keys({
  method: true,
  path: true,
  name: true,
  tag: true,
  summary: true,
  role: true,
  params: true,
  query: true,
  body: true,
  upload: true,
  answer: true,
  answers: true,
  ranges: true,
  status: true,
  errors: true,
  unasked: true,
  makes: true,
  limit: true,
  largest: true,
  mostValues: true,
  heavy: true,
  language: true,
  run: true,
} satisfies Record<keyof Route, true>)

const methods: readonly Route['method'][] = ['get', 'post', 'put', 'patch', 'delete']
const routeRoles: readonly Route['role'][] = [...roles, 'open', 'cron']

const ofUpload = Object.keys({
  fields: true,
  files: true,
  required: true,
  mostFiles: true,
  largestFile: true,
  whole: true,
} satisfies Record<keyof UploadOptions, true>)

/**
 * Defines a route of an application beside the routes of the engine. Infers the types of `run` from the schemas. Throws `bad_definition`.
 *
 * @example
 * const orders = route({
 *   method: 'get',
 *   path: '/orders',
 *   name: 'openOrders',
 *   tag: 'orders',
 *   summary: 'The number of open orders',
 *   role: 'viewer',
 *   answer: z.object({ open: z.number() }),
 *   run: async () => ({ open: await openOrders() }),
 * })
 */
export const route = <
  P extends z.ZodType = z.ZodUndefined,
  Q extends z.ZodType = z.ZodUndefined,
  B extends z.ZodType = z.ZodUndefined,
  A extends z.ZodType = z.ZodType,
>(
  given: RouteOptions<P, Q, B, A>,
): Route => {
  const name = `${given?.method ?? ''} ${given?.path ?? ''}`
  const refuse: Refuse = refuseDefinition(localized(`the route "${name}"`, `rota "${name}"`))
  if (typeof given?.path !== 'string' || typeof given.method !== 'string' || typeof given.run !== 'function')
    refuse('it needs method, path and run', 'faltam method, path ou run')
  refuseUnknown(given, known, refuse)
  if (!methods.includes(given.method))
    refuse(`method must be one of ${methods.join(', ')}`, `method deve ser um destes: ${methods.join(', ')}`)
  if (!given.path.startsWith('/'))
    refuse('path must begin with a slash, such as /orders/{id}', 'path deve começar com uma barra, como /orders/{id}')
  const inBraces = given.path.replaceAll(/:(\w+)/g, '{$1}')
  if (inBraces !== given.path)
    refuse(`parameters of path are in braces: ${inBraces}`, `os parâmetros de path ficam entre chaves: ${inBraces}`)
  if (!routeRoles.includes(given.role))
    refuse(`role must be one of ${routeRoles.join(', ')}`, `role deve ser um destes: ${routeRoles.join(', ')}`)
  if (given.language !== undefined && given.language !== 'en' && given.language !== 'pt')
    refuse('language must be "en" or "pt"', 'language deve ser "en" ou "pt"')
  if (given.upload !== undefined) refuseUnknown(given.upload, ofUpload, refuse, 'upload.')
  if (given.limit !== undefined) refuseUnknown(given.limit, ['bucket', 'limit', 'per'], refuse, 'limit.')
  return given as unknown as Route
}
