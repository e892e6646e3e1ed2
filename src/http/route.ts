/**
 * A route as data: what may be asked, by whom, what comes back. The same description validates the request (answer.ts), is
 * printed as OpenAPI (openapi.ts) and is walked by the tests; so nothing is said twice.
 */
import type { z } from 'zod'
import { type Refuse, refuseDefinition, refuseUnknown } from '../core/refuse.ts'
import type { Role } from '../core/token.ts'
import type { Engine, Once } from '../engine.ts'
import { type ErrorName, type Language, say } from '../errors.ts'
import type { Log } from '../lib/log.ts'
import type { RouteLimit } from './limits.ts'
import type { Streams } from './streams.ts'
import type { Part, UploadOptions } from './upload.ts'

export type { Role } from '../core/token.ts'

/** Who is asking. */
export interface Principal {
  user: string
  role: Role
  /** open: nobody has made a token yet, and this is the machine itself; host: the app it is mounted in said so. */
  via: 'token' | 'cookie' | 'open' | 'host'
  /** The token it came by, also behind a cookie; null without one. */
  token: string | null
}

/** Where a request came from, as the server that took it knows; of the rest `place.ts` makes sure. */
export interface Peer {
  /** The other end of the socket; behind proxies that are trusted, whom they speak for. */
  address?: string | undefined
  /** Ends the connection at once, with all that the other end has not read. */
  cut?(): void
  /** What it was sent to, such as 127.0.0.1:3000. */
  host?: string
  /** It came over TLS. */
  secure?: boolean
}

/** What a route is handed: everything in it is checked. */
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
  /** For headers of the answer besides. */
  headers: Headers
  /** The streams of events that are open; sse.ts opens one. */
  streams: Streams
  /** Asks again who this is, for an answer that takes long: throws once whoever asked is no longer let in. */
  readmit(): Promise<unknown>
  /** What an Idempotency-Key stands for; undefined without one. */
  once: Once | undefined
  /** What is sent as multipart/form-data to a route that takes it; undefined: it came as JSON, and is `body`. */
  upload: AsyncIterable<Part> | undefined
}

export interface RouteOptions<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType> {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** As OpenAPI writes it: /api/v1/jobs/{id}. */
  path: string
  /** Its name in OpenAPI and in clients made from it, such as cancelJob. */
  name: string
  tag: string
  /** One line, English. */
  summary: string
  /** open: anybody, without a token; cron: by CRON_SECRET. */
  role: Role | 'open' | 'cron'
  params?: P
  query?: Q
  body?: B
  /** It takes files, as multipart/form-data: in place of `body`, or besides. */
  upload?: UploadOptions
  /** Of the answer; `answers` when it is no JSON. */
  answer?: A
  answers?: 'text/event-stream' | 'text/plain' | 'text/html' | 'text/css' | 'text/csv' | 'application/octet-stream'
  status?: 200 | 201 | 202 | 204
  /** What it may refuse with, besides what every route may (bad_request, unauthorized, forbidden …). */
  errors?: readonly ErrorName[]
  /** While the database is away nobody knows who asks: it is asked all the same, with a `who` without a name. */
  unasked?: true
  /**
   * It makes something: Idempotency-Key is honoured. `exactly`: the route keeps its answer itself, with what it makes, as `once`
   * (idempotency.ts) does for an application's; so does one that takes files. true: the answer is kept after it was made, so one
   * whose maker died in between is made again, unless what is made has a key of its own.
   */
  makes?: true | 'exactly'
  /** How often one user may ask; routes with the same bucket are counted together, and give the same limit. */
  limit?: RouteLimit
  /** Bytes of its body; default 64 KB. */
  largest?: number
  /** List items and object fields of its body, at every depth; default 200,000. One more is too_many_values. */
  mostValues?: number
  /** It makes the database work for long: few of these run at the same time (heavy-work.ts). */
  heavy?: true
  /** A value for JSON, or a Response where it is something else. */
  run(call: Call<z.output<P>, z.output<Q>, z.output<B>>): unknown
}

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
  status: true,
  errors: true,
  unasked: true,
  makes: true,
  limit: true,
  largest: true,
  mostValues: true,
  heavy: true,
  run: true,
} satisfies Record<keyof Route, true>)

const ofUpload = Object.keys({
  fields: true,
  files: true,
  required: true,
  mostFiles: true,
  largestFile: true,
} satisfies Record<keyof UploadOptions, true>)

/** Types flow from its schemas into `run`. */
export const route = <
  P extends z.ZodType = z.ZodUndefined,
  Q extends z.ZodType = z.ZodUndefined,
  B extends z.ZodType = z.ZodUndefined,
  A extends z.ZodType = z.ZodType,
>(
  given: RouteOptions<P, Q, B, A>,
): Route => {
  const name = `${given?.method ?? ''} ${given?.path ?? ''}`
  const refuse: Refuse = refuseDefinition(say(`the route "${name}"`, `rota "${name}"`))
  if (typeof given?.path !== 'string' || typeof given.method !== 'string' || typeof given.run !== 'function')
    refuse('it needs method, path and run', 'faltam method, path ou run')
  refuseUnknown(given, known, refuse)
  if (given.upload !== undefined) refuseUnknown(given.upload, ofUpload, refuse, 'upload.')
  if (given.limit !== undefined) refuseUnknown(given.limit, ['bucket', 'limit', 'per'], refuse, 'limit.')
  return given as unknown as Route
}
