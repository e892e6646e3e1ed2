/**
 * Encodes errors for transport between a parent and a child: name, message, stack, cause, plain properties (such as code and constraint of
 * a database error), and the flags for non-retryable errors and deferrals. `origin` leads back to the original error object.
 */

import { isRetomaError, type OwnError, RetomaError } from '../errors/errors.ts'
import { isDeferral, marked } from '../jobs/model/deferral.ts'
import { doNotRetry, isNonRetryable } from '../jobs/model/outcome.ts'
import { asText } from '../lib/values/json.ts'

export type PackedError = Packed | { value: string }

interface Packed {
  name: string
  message: string
  stack: string | undefined
  facts: Readonly<Record<string, unknown>> | undefined
  /** The error definition, if the code is from an application's own table. */
  own: OwnError | undefined
  more: Record<string, string | number | boolean>
  final: boolean
  deferred: boolean
  cause: PackedError | undefined
  origin: number | undefined
}

const deepest = 5
const mostText = 20_000
/** The property of an unpacked error that holds the number under which the error was sent. */
const originKey = Symbol('origin')

export function packError(error: unknown, origin?: number, depth = 0): PackedError {
  try {
    if (!(error instanceof Error)) return { value: asText(error) }
    return {
      name: String(error.name),
      message: String(error.message).slice(0, mostText),
      stack: error.stack?.slice(0, mostText),
      facts: isRetomaError(error) ? error.facts : undefined,
      own: isRetomaError(error) ? error.own : undefined,
      more: plainParts(error),
      final: isNonRetryable(error),
      deferred: isDeferral(error),
      cause: error.cause === undefined || depth >= deepest ? undefined : packError(error.cause, undefined, depth + 1),
      origin: origin ?? (error as { [originKey]?: number })[originKey],
    }
  } catch {
    // A getter or a proxy throws on access.
    return { value: 'an error that cannot be read' }
  }
}

function plainParts(error: Error): Packed['more'] {
  const parts = Object.entries(error).filter(
    ([name, value]) => name !== 'stack' && ['string', 'number', 'boolean'].includes(typeof value),
  )
  return Object.fromEntries(
    parts.map(([name, value]) => [name, typeof value === 'string' ? value.slice(0, mostText) : value]),
  )
}

export function unpackError(packed: PackedError): unknown {
  if ('value' in packed) return packed.value
  const { name, message, stack, facts, own, more, final, deferred, cause, origin } = packed
  const options = cause === undefined ? {} : { cause: unpackError(cause) }
  const error =
    facts === undefined
      ? Object.assign(new Error(message, options), more)
      : new RetomaError(own ?? (more.code as 'internal'), facts as Record<never, never>, options)
  if (error.name !== name) Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  if (stack !== undefined) error.stack = stack
  if (origin !== undefined)
    Object.defineProperty(error, originKey, { value: origin, configurable: true, writable: true })
  if (deferred) marked(error)
  return final ? doNotRetry(error) : error
}

/** The number under which the error was sent. */
export const originOf = (packed: PackedError): number | undefined => ('value' in packed ? undefined : packed.origin)
