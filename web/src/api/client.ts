/**
 * Calls the HTTP API. Types of paths, parameters, bodies and answers come from `schema.ts`, which is printed from the OpenAPI document of
 * the server; a path or a field that does not exist does not compile.
 */
import { language } from '../i18n/language.ts'
import { withBase } from '../lib/base-path.ts'
import type { Operations } from './schema.ts'

export type Operation = keyof Operations
export type GetOperation = Extract<Operation, `GET ${string}`>
export type Answer<Name extends Operation> = Operations[Name]['answer']

type Field<Name extends Operation, Key extends string> =
  Operations[Name] extends Record<Key, infer Type> ? Type : undefined
type Given<Key extends string, Type> = Type extends undefined
  ? { [K in Key]?: undefined }
  : Record<string, never> extends Type
    ? { [K in Key]?: Type }
    : { [K in Key]: Type }

/** The parameters of the path, the query and the body of an operation. */
export type Call<Name extends Operation> = Given<'params', Field<Name, 'params'>> &
  Given<'query', Field<Name, 'query'>> &
  Given<'body', Field<Name, 'body'>>

interface Options {
  signal?: AbortSignal | undefined
  /** For a POST that creates something: a repeated request gets the first answer. */
  idempotencyKey?: string
}

/** An error of the API: `{ error: { code, message, … } }`; `network` if no answer came. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly facts: Readonly<Record<string, unknown>>
  readonly retryAfterSeconds: number | undefined

  constructor(
    status: number,
    code: string,
    message: string,
    more: { facts?: Record<string, unknown>; retryAfter?: number } = {},
  ) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = code
    this.facts = more.facts ?? {}
    this.retryAfterSeconds = more.retryAfter
  }
}

/** Called with each 401, so that the shell shows the log-in page. */
export const unauthorized = { notify: (): void => {} }

/** Calls an operation and returns its answer. Throws `ApiError`. */
export async function call<Name extends Operation>(
  operation: Name,
  given: Call<Name> = {} as Call<Name>,
  { signal, idempotencyKey }: Options = {},
): Promise<Answer<Name>> {
  const { params, query, body } = given as { params?: Fields; query?: Fields; body?: unknown }
  const [method = 'GET', template = ''] = operation.split(' ')
  const response = await send(withBase(pathOf(template, params) + queryOf(query)), {
    method,
    headers: {
      accept: 'application/json',
      'accept-language': language.get(),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  })
  if (response.status === 204) return undefined as Answer<Name>
  return (await response.json()) as Answer<Name>
}

type Fields = Readonly<Record<string, unknown>>

/** Sends any request to the API, such as an upload. Throws `ApiError` for every answer that is not 2xx. */
export async function send(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(path, { credentials: 'same-origin', ...init }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError(0, 'network', String(error))
  })
  if (response.ok) return response
  throw await errorOf(response)
}

/** The error of an answer that is not 2xx. */
export async function errorOf(response: Response): Promise<ApiError> {
  if (response.status === 401) unauthorized.notify()
  const answer = (await response.json().catch(() => undefined)) as { error?: Record<string, unknown> } | undefined
  const { code = 'unknown', message = response.statusText, ...facts } = answer?.error ?? {}
  const retryAfter = Number(response.headers.get('retry-after'))
  return new ApiError(response.status, String(code), String(message), {
    facts,
    ...(retryAfter > 0 ? { retryAfter } : {}),
  })
}

export const pathOf = (template: string, params: Fields = {}): string =>
  template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])))

function queryOf(query: Fields = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === '') continue
    for (const each of Array.isArray(value) ? value : [value]) search.append(name, String(each))
  }
  const text = search.toString()
  return text === '' ? '' : `?${text}`
}
