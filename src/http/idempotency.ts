/**
 * Idempotency-Key: the same request of the same user under the same key is answered as it was the first time, for a day.
 * Without that header nothing of this costs anything.
 */
import { createHash } from 'node:crypto'
import type { JobTransaction } from '../core/context.ts'
import { type Exactly, forgotten, type Kept, type Once } from '../engine.ts'
import { isRetomaError, RetomaError, say } from '../errors.ts'
import { jsonText } from './json.ts'
import type { Call, Route } from './route.ts'

const keyHeader = 'idempotency-key'
export const longestKey = 255

export const hasKey = ({ headers }: Request): boolean => headers.has(keyHeader)

/** undefined: there is no key. */
export function onceOf(route: Route, { request, who, params, query, body }: Call): Once | undefined {
  const key = request.headers.get(keyHeader)
  if (key === null) return undefined
  if (key.length === 0 || key.length > longestKey)
    throw new RetomaError('bad_request', {
      field: 'Idempotency-Key',
      problem: say(`it has 1 to ${longestKey} characters`, `tem de 1 a ${longestKey} caracteres`),
    })
  const asked = JSON.stringify([params ?? null, query ?? null, body ?? null])
  const hash = createHash('sha256').update(asked).digest()
  return { who: who.user, route: `${route.method} ${route.path}`, key, hash }
}

/**
 * For what is made by more than one statement and has a key of its own: the same for the same request, so that one that died, or
 * whose end is not known, is continued by the next and not made a second time.
 */
export const keyOf = ({ who, route, key, hash }: Once): string =>
  `idempotency-key/${createHash('sha256')
    .update(JSON.stringify([who, route, key]))
    .update(hash)
    .digest('hex')}`

/** What was answered before, marked as such. Throws not_found where what it made is erased. */
function answerAgain({ status, body }: Kept, headers: Headers): Response {
  if (status === forgotten)
    throw new RetomaError('not_found', {
      what: say('longer what this key made,', 'mais o que esta chave criou,'),
      id: JSON.parse(body).id,
    })
  headers.set('idempotent-replayed', 'true')
  return jsonText(body, status, headers)
}

/**
 * For a route that makes something by a verb whose answer is kept with it, in one transaction. `secret`: what of the answer is only for
 * who is answered first, and is null when it is given again.
 */
export async function answerExactly<T>(
  headers: Headers,
  make: (keep: (made: T) => Kept) => Promise<Exactly<T>>,
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

/** For routes that do not keep their answer themselves. An error is not kept: the next try is judged anew. */
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
 * For a route of an application that makes something (`makes: 'exactly'`): what `make` writes through `tx` and its answer are
 * committed together, so that the same key makes it once whatever dies or is lost in between. All that it reads goes by `tx`
 * too. Without a key it is a transaction like any other; with one that was used before for the same, `make` is not asked.
 *
 * A route that takes files knows what came in once it has read it: `digest` tells it from anything else, such as the names and
 * hashes of its files; and where `make` is not asked, what came in now is of no use: `left` removes it.
 */
export async function once(
  call: Call,
  make: (tx: JobTransaction) => Promise<{ status: number; value: unknown }>,
  { digest = '', left }: { digest?: string; left?: () => Promise<unknown> } = {},
): Promise<Response> {
  const { engine, headers } = call
  const kept = async (tx: JobTransaction): Promise<Kept> => {
    const { status, value } = await make(tx)
    return { status, body: JSON.stringify(value) }
  }
  const answered = ({ status, body }: Kept) => jsonText(body, status, headers)
  if (call.once === undefined) return answered(await engine.transaction(kept))
  const hash = createHash('sha256').update(call.once.hash).update(digest).digest()
  const done = await engine.transactionOnce({ ...call.once, hash }, kept)
  if (done.made !== undefined) return answered(done.made)
  await left?.()
  return answerAgain(done.kept, headers)
}

const lookEveryMs = 100
const patienceMs = 5000

/** A second request at the same time has the answer of the first coming, and waits for it a little. */
async function patiently({ engine, once }: Call, work: () => Promise<{ value: Response; keep: Kept }>) {
  for (let waited = 0; ; waited += lookEveryMs) {
    try {
      return await engine.once(once!, work)
    } catch (error) {
      if (!isRetomaError(error, 'idempotency_running') || waited >= patienceMs) throw error
      await engine.clock.sleep(lookEveryMs)
    }
  }
}
