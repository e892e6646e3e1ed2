/**
 * Implements Idempotency-Key: a repeated request of the same user with the same key gets the stored response, for one day. Requests
 * without the header cost nothing extra.
 */

import { createHash } from 'node:crypto'
import { forgotten, type IdempotencyKey, type Replayable, type StoredResponse } from '../../engine/create-engine.ts'
import { internalsOf } from '../../engine/internals.ts'
import { isRetomaError, localized, RetomaError } from '../../errors/errors.ts'
import type { JobTransaction } from '../../jobs/model/job-context.ts'
import { turnOfLoop } from '../../lib/loop-turns.ts'
import { jsonText } from '../response/json-response.ts'
import type { Call, Route } from '../route.ts'

const keyHeader = 'idempotency-key'
/** Characters. A pair of surrogates on the border of two slices is hashed as two replacement characters, each time in the same way. */
const hashSlice = 1024 * 1024
export const longestKey = 255

export const hasKey = ({ headers }: Request): boolean => headers.has(keyHeader)

/** Returns undefined without a key. The body is hashed in slices: 15 MB at once block the event loop for 40 ms. */
export async function onceOf(
  route: Route,
  { request, who, params, query, body }: Call,
): Promise<IdempotencyKey | undefined> {
  const key = request.headers.get(keyHeader)
  if (key === null) return undefined
  if (key.length === 0 || key.length > longestKey)
    throw new RetomaError('bad_request', {
      field: 'Idempotency-Key',
      problem: localized(`it has 1 to ${longestKey} characters`, `tem de 1 a ${longestKey} caracteres`),
    })
  const asked = JSON.stringify([params ?? null, query ?? null, body ?? null])
  const hash = await hashOf(asked)
  return { who: who.user, route: `${route.method} ${route.path}`, key, hash }
}

async function hashOf(text: string): Promise<Buffer> {
  const hash = createHash('sha256')
  for (let at = 0; at < text.length; at += hashSlice) {
    if (at > 0) await turnOfLoop()
    hash.update(text.slice(at, at + hashSlice))
  }
  return hash.digest()
}

/**
 * A unique key for a resource that several statements create: equal for equal requests. If a request crashed, or its outcome is unknown,
 * the repeated request continues the creation and does not create a second resource.
 */
export const keyOf = ({ who, route, key, hash }: IdempotencyKey): string =>
  `idempotency-key/${createHash('sha256')
    .update(JSON.stringify([who, route, key]))
    .update(hash)
    .digest('hex')}`

/** Returns the stored response with the header `idempotent-replayed`. Throws `not_found` if the created resource was erased. */
function answerAgain({ status, body }: StoredResponse, headers: Headers): Response {
  if (status === forgotten)
    throw new RetomaError('not_found', {
      what: localized('longer what this key made,', 'mais o que esta chave criou,'),
      id: JSON.parse(body).id,
    })
  headers.set('idempotent-replayed', 'true')
  return jsonText(body, status, headers)
}

/**
 * For a route whose engine method stores the response in the same transaction as the resource. `secret`: the fields that only the first
 * response contains; null in a stored response.
 */
export async function answerExactly<T>(
  headers: Headers,
  make: (keep: (made: T) => StoredResponse) => Promise<Replayable<T>>,
  wire: (made: T) => object,
  secret?: Record<string, null>,
): Promise<Response> {
  const { made, kept } = await make(each => {
    const value: { created?: unknown } = { ...wire(each), ...secret }
    return { status: value.created === false ? 200 : 201, body: JSON.stringify(value) }
  })
  if (made === undefined) return answerAgain(kept, headers)
  return jsonText(secret === undefined ? kept.body : JSON.stringify(wire(made)), kept.status, headers)
}

/** For routes that do not store the response themselves. An error is not stored: the next request runs again. */
export async function answerOnce(
  route: Route,
  call: Call,
  run: (route: Route, call: Call) => Promise<Response>,
): Promise<Response> {
  const done = await patiently(call, async () => {
    const response = await run(route, call)
    const body = await response.text()
    return { value: jsonText(body, response.status, call.headers), keep: { status: response.status, body } }
  })
  return 'kept' in done ? answerAgain(done.kept, call.headers) : done.value
}

/**
 * For a route of an application that creates something (`makes: 'exactly'`). The writes of `make` through `tx` and the response are
 * committed together, so that a key creates the resource once, whatever crashes or is lost in between. All reads of `make` must use `tx`
 * too. Without a key, `make` runs in an ordinary transaction. If the key was used before for the same request, `make` is not called.
 *
 * A route with file uploads knows its input only after reading the files: `digest` distinguishes the input from any other, for example by
 * the names and hashes of the files. If `make` is not called, the new files are useless: `left` removes them.
 */
export async function once(
  call: Call,
  make: (tx: JobTransaction) => Promise<{ status: number; value: unknown }>,
  { digest = '', left }: { digest?: string; left?: () => Promise<unknown> } = {},
): Promise<Response> {
  const { engine, headers } = call
  const kept = async (tx: JobTransaction): Promise<StoredResponse> => {
    const { status, value } = await make(tx)
    return { status, body: JSON.stringify(value) }
  }
  const answered = ({ status, body }: StoredResponse) => jsonText(body, status, headers)
  if (call.once === undefined) return answered(await engine.transaction(kept))
  const hash = createHash('sha256').update(call.once.hash).update(digest).digest()
  const done = await internalsOf(engine).transactionOnce({ ...call.once, hash }, kept)
  if (done.made !== undefined) return answered(done.made)
  await left?.()
  return answerAgain(done.kept, headers)
}

const pollEveryMs = 100
const waitLimitMs = 5000

/** A second request at the same time waits for the response of the first, for at most 5 s. */
async function patiently({ engine, once }: Call, work: () => Promise<{ value: Response; keep: StoredResponse }>) {
  for (let waited = 0; ; waited += pollEveryMs) {
    try {
      return await internalsOf(engine).once(once!, work)
    } catch (error) {
      if (!isRetomaError(error, 'idempotency_running') || waited >= waitLimitMs) throw error
      await internalsOf(engine).clock.sleep(pollEveryMs)
    }
  }
}
