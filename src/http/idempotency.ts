/**
 * Idempotency-Key: the same request of the same user under the same key is answered as it was the first time, for a day.
 * Without that header nothing of this costs anything.
 */
import { createHash } from 'node:crypto'
import type { Kept, Once } from '../engine.ts'
import { RetomaError, say } from '../errors.ts'
import { jsonText } from './json.ts'
import type { Call, Route } from './route.ts'

const keyHeader = 'idempotency-key'
const longest = 255

/** undefined: there is no key. */
export function onceOf(route: Route, { request, who, params, query, body }: Call): Once | undefined {
  const key = request.headers.get(keyHeader)
  if (key === null) return undefined
  if (key.length === 0 || key.length > longest)
    throw new RetomaError('bad_request', {
      field: 'Idempotency-Key',
      problem: say(`it has 1 to ${longest} characters`, `tem de 1 a ${longest} caracteres`),
    })
  const asked = JSON.stringify([params ?? null, query ?? null, body ?? null])
  const hash = createHash('sha256').update(asked).digest()
  return { who: who.user, route: `${route.method} ${route.path}`, key, hash }
}

/** What was answered before, marked as such. */
export function answerAgain({ status, body }: Kept, headers: Headers): Response {
  headers.set('idempotent-replayed', 'true')
  return jsonText(body, status, headers)
}

/** For routes that do not keep their answer themselves. An error is not kept: the next try is judged anew. */
export async function answerOnce(
  route: Route,
  call: Call,
  run: (route: Route, call: Call) => Promise<Response>,
): Promise<Response> {
  const done = await call.engine.once(call.once!, async () => {
    const response = await run(route, call)
    const body = await response.text()
    const keep = { status: response.status, body: withoutSecrets(body, route.unkept) }
    return { value: jsonText(body, response.status, call.headers), keep }
  })
  return 'kept' in done ? answerAgain(done.kept, call.headers) : done.value
}

function withoutSecrets(body: string, unkept: readonly string[] | undefined): string {
  if (unkept === undefined) return body
  return JSON.stringify({ ...JSON.parse(body), ...Object.fromEntries(unkept.map(name => [name, null])) })
}
