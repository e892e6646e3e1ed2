/**
 * Handles a request to a route: authorization, rate limit, validation, response. Errors are checked in this order: role (401, 403),
 * rate limit (429), input (400, 413, 415), then the errors of the route itself.
 */
import { localized, RetomaError } from '../../errors/errors.ts'
import { sliceLength, turnOfLoop } from '../../lib/loop-turns.ts'
import { errorResponse } from '../response/error-response.ts'
import { json } from '../response/json-response.ts'
import type { Call, Route, TokenRole } from '../route.ts'
import { limited } from '../security/route-rate-limit.ts'
import { languageOf } from './accept-language.ts'
import { type BodyBounds, decoded, parseJson, readBytes } from './body.ts'
import type { BodyBudget, BodyShare } from './body-budget.ts'
import type { HeavyRequestSlot, HeavyRequests } from './heavy-requests.ts'
import { answerOnce, hasKey, onceOf } from './idempotency-key.ts'
import { partsOf, wholeFileOf } from './multipart-parts.ts'
import { isMultipart, isWholeFile } from './upload.ts'
import { validate } from './validate.ts'

const ranks: Record<TokenRole, number> = { viewer: 0, operator: 1, admin: 2 }

type Asked = Pick<Call, 'engine' | 'log' | 'streams' | 'readmit' | 'request' | 'peer' | 'who'> & {
  params: Record<string, string>
}

interface Given extends Asked {
  bodies: BodyBudget
  heavyWork: HeavyRequests
}

/** The shares of the app's budgets that a request takes, and gives back after the response. */
interface Shares {
  body: BodyShare
  turn: HeavyRequestSlot
}

export async function handleRequest(route: Route, { bodies, heavyWork, ...asked }: Given): Promise<Response> {
  const { request, who, log } = asked
  if (route.role !== 'open' && route.role !== 'cron' && !(ranks[who.role] >= ranks[route.role]))
    throw new RetomaError('forbidden', { needed: route.role, user: who.user, role: who.role })
  const shares: Shares = { body: bodies.open(), turn: heavyWork.open(who.user) }
  const answered = () =>
    answerTo(route, asked, shares).finally(() => {
      shares.body.release()
      shares.turn.release()
    })
  if (route.limit === undefined) return answered()
  const left = await limited(asked, route.limit)
  // The request was counted, so the response carries the RateLimit headers even if the request is then refused.
  return withHeaders(await answered().catch(error => errorResponse(error, request, log, route.language)), left)
}

async function answerTo(route: Route, asked: Asked, shares: Shares): Promise<Response> {
  const { request } = asked
  refuseNul(route, asked)
  refuseEncoded(route, request)
  const upload = uploadOf(route, request)
  const call: Call = {
    ...asked,
    once: undefined,
    params: route.params && validate(route.params, asked.params, 'path'),
    query: checkedQuery(route, request),
    body: upload === undefined ? await bodyOf(route, request, shares) : undefined,
    upload,
    language: languageOf(request, route.language),
    headers: new Headers({ 'cache-control': 'no-store' }),
  }
  if (route.heavy) await shares.turn.take()
  if (route.makes && hasKey(request)) {
    if ((route.largest ?? 0) > sliceLength) await turnOfLoop()
    call.once = await onceOf(route, call)
  }
  const keepsItself = route.makes === 'exactly' || route.upload !== undefined
  return call.once === undefined || keepsItself ? run(route, call) : answerOnce(route, call, run)
}

async function run(route: Route, call: Call): Promise<Response> {
  const value = await route.run(call as never)
  if (value instanceof Response) return value
  const status = statusOf(route, value)
  if (status === 204) return new Response(null, { status, headers: call.headers })
  return json(value, status, call.headers)
}

/** 201 for a created resource; 200 if the unique key was in use and the existing resource is returned. */
function statusOf({ status = 200 }: Route, value: unknown): number {
  return status === 201 && (value as { created?: unknown } | null)?.created === false ? 200 : status
}

/** Copies the response, because the headers of a fetched response cannot be changed. */
function withHeaders({ body, status, statusText, headers }: Response, more: Record<string, string>): Response {
  const all = new Headers(headers)
  for (const [name, value] of Object.entries(more)) all.set(name, value)
  return new Response(body, { status, statusText, headers: all })
}

/** PostgreSQL stores no NUL in a text, so no resource has a name with a NUL, and no filter can match a NUL. */
function refuseNul({ errors = [] }: Route, { params, request }: Asked): void {
  const named = Object.values(params).find(each => each.includes('\0'))
  // A route without `not_found` has a fixed set of names and refuses an unknown name with an error of its own.
  if (named !== undefined && errors.includes('not_found'))
    throw new RetomaError('not_found', { what: localized('resource', 'recurso'), id: named.replaceAll('\0', '\\0') })
  if (!/%00/.test(request.url)) return
  for (const [name, value] of new URL(request.url).searchParams)
    if (name.includes('\0') || value.includes('\0'))
      throw new RetomaError('bad_request', {
        field: name.replaceAll('\0', '\\0') || 'query',
        problem: localized(
          'it has a NUL character, which no text may have',
          'tem um caractere NUL, que nenhum texto pode ter',
        ),
      })
}

/** Bodies are read as sent. A compressed body may be 1,000 times as large as its declared length. */
function refuseEncoded({ body, upload }: Route, { headers }: Request): void {
  const encoding = headers.get('content-encoding')?.trim().toLowerCase() ?? ''
  if ((body === undefined && upload === undefined) || encoding === '' || encoding === 'identity') return
  throw new RetomaError('encoded_body', { encoding })
}

const mostParameters = 100

/**
 * A field that belongs in the body of an action, but stands in the query, would be ignored, and the action would change more than the
 * caller meant.
 */
function refuseStrayQuery({ method, role }: Route, request: Request): void {
  if (method === 'get' || (role !== 'operator' && role !== 'admin')) return
  const [name] = new URL(request.url).searchParams.keys()
  if (name !== undefined)
    throw new RetomaError('bad_request', {
      field: name.slice(0, 200),
      problem: localized('this route takes no query; send it in the body', 'esta rota não tem query; envie no corpo'),
    })
}

/** A name given twice becomes a list. */
function checkedQuery(route: Route, request: Request): unknown {
  if (route.query === undefined) {
    refuseStrayQuery(route, request)
    return undefined
  }
  const given: Record<string, string | string[]> = {}
  let parameters = 0
  for (const [name, value] of new URL(request.url).searchParams) {
    if (++parameters > mostParameters)
      throw new RetomaError('bad_request', {
        field: 'query',
        problem: localized(
          `it has at most ${mostParameters} parameters`,
          `deve ter no máximo ${mostParameters} parâmetros`,
        ),
      })
    const before = Object.hasOwn(given, name) ? given[name] : undefined
    if (Array.isArray(before)) before.push(value)
    else {
      const next = before === undefined ? value : [before, value]
      Object.defineProperty(given, name, { value: next, enumerable: true, configurable: true, writable: true })
    }
  }
  return validate(route.query, given, 'query')
}

/** Returns undefined if the request is neither a form nor a file and the route also takes JSON. */
function uploadOf({ upload, body }: Route, request: Request): Call['upload'] {
  if (upload === undefined) return undefined
  if (isMultipart(request)) return partsOf(request, upload)
  if (isWholeFile(request, upload)) return wholeFileOf(request, upload)
  if (body !== undefined) return undefined
  throw new RetomaError('not_multipart', { type: typeOf(request) })
}

async function bodyOf({ body, ...bounds }: Route, request: Request, shares: Shares): Promise<unknown> {
  return body && validate(body, await jsonBody(request, shares, bounds), 'body')
}

async function jsonBody(request: Request, { body, turn }: Shares, bounds: BodyBounds): Promise<unknown> {
  const bytes = await readBytes(request, body, bounds)
  // A waiting request keeps only the bytes, nothing parsed.
  if (bytes.byteLength > sliceLength) await turn.take()
  const text = await decoded(bytes)
  const type = request.headers.get('content-type') ?? ''
  if (text !== '' && !/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type))
    throw new RetomaError('not_json', { type: typeOf(request) })
  return parseJson(text)
}

const typeOf = ({ headers }: Request) => headers.get('content-type') || localized('(no type)', '(nenhum tipo)')
