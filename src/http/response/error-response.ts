/**
 * Turns errors into responses: `{ error: { code, message, … } }` in the reader's language, with the facts that are not secret, and
 * Retry-After if waiting helps.
 *
 * Invariant: a response never contains a stack, nor the message of a foreign error.
 */
import { isRetomaError, type Language, localized, RetomaError } from '../../errors/errors.ts'
import { type Log, silentLog } from '../../lib/logging/log.ts'
import { languageOf } from '../request/accept-language.ts'
import { refusedHeaders } from '../security/route-rate-limit.ts'
import { json } from './json-response.ts'

/**
 * Not logged, because these are no failures of a request and any client may cause them at any rate: a route without its setting, and a
 * server without a watchdog yet, such as a fresh server before the first worker.
 */
const expected: ReadonlySet<string> = new Set(['cron_unset', 'watchdog_missing'])

/** `otherwise`: the language for a reader without an Accept-Language that names a supported language. */
export function errorResponse(
  error: unknown,
  request: Request,
  log: Log = silentLog,
  otherwise: Language = 'en',
): Response {
  const known = isRetomaError(error) ? unplaced(error) : unknown(error)
  if (known.status >= 500 && !expected.has(known.code))
    log.error({ err: error, path: new URL(request.url).pathname }, 'a request failed')
  const language = languageOf(request, otherwise)
  const headers = new Headers({ 'cache-control': 'no-store' })
  const { retryAfterSeconds = known.status === 503 ? patienceOf(known) : undefined } = known
  if (retryAfterSeconds !== undefined) headers.set('retry-after', String(Math.ceil(retryAfterSeconds)))
  if (known.status === 401) headers.set('www-authenticate', 'Bearer realm="retoma"')
  if (isRetomaError(known, 'rate_limited')) {
    for (const [name, value] of Object.entries(refusedHeaders(known))) headers.set(name, value)
  }
  const body = {
    error: {
      code: known.code,
      message: known.in(language, longestFact),
      ...fieldOf(known),
      ...known.factsIn(language, longestFact),
      ...(known.maybeCommitted === undefined ? {} : { maybe_committed: known.maybeCommitted }),
    },
  }
  return json(body, known.status, headers)
}

/** The maximum number of characters of the request that a response repeats per fact. */
const longestFact = 200

/** In seconds. A missing setting or a shutdown lasts longer; the database is often back in a moment. */
const patienceOf = ({ retryable }: RetomaError): number => (retryable ? 2 : 30)

/** A text that PostgreSQL cannot store (22021: a NUL, half of a character) is the sender's mistake; every other error is the server's. */
function unknown(error: unknown): RetomaError {
  if ((error as { code?: unknown } | null)?.code !== '22021') return new RetomaError('internal', {})
  const problem = localized(
    'a text in it cannot be stored: it has a NUL',
    'um texto nela não pode ser guardado: tem um NUL',
  )
  return new RetomaError('bad_request', { field: 'request', problem })
}

/** The address of the database and the words of its refusal are only for the log, because the client may be anyone. */
function unplaced(error: RetomaError): RetomaError {
  const hidden = { address: '…', problem: localized('see the log of the server', 'veja o log do servidor') }
  if (isRetomaError(error, 'database_unreachable')) {
    const facts = { ...hidden, outcome: error.facts.outcome! }
    const { maybeCommitted } = error
    return new RetomaError('database_unreachable', facts, maybeCommitted === undefined ? {} : { maybeCommitted })
  }
  if (isRetomaError(error, 'database_refused')) return new RetomaError('database_refused', hidden)
  return error
}

/** Names the field of bad input: an option of the engine, or an input refused by its job, is a field of the request. */
function fieldOf({ code, facts }: RetomaError): { field?: string } {
  if (code === 'bad_option')
    return {
      field: String(facts.option)
        .slice(0, longestFact)
        .replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
    }
  if (code === 'bad_input' || code === 'input_too_large')
    return { field: facts.item === undefined ? 'input' : `items[${facts.item}]` }
  if (code === 'unknown_kind') return { field: 'kind' }
  if (code === 'unknown_batch') return { field: 'name' }
  return {}
}
