/** Makes the errors shown with a snap: the code, and the sentence in the language of the users. */
import { doNotRetry, type OwnError, RetomaError } from 'retoma'

/** The engine tries the snap again. */
export function failed(why: RetomaError): Error {
  const error = new Error(why.in('pt'), why.cause === undefined ? {} : { cause: why.cause })
  error.name = 'SnapError'
  // The stack of the original error, not of this function.
  const at = why.stack?.indexOf('\n    at ') ?? -1
  if (at >= 0) error.stack = `${error.name}: ${error.message}${why.stack!.slice(at)}`
  return Object.assign(error, { code: why.code })
}

/** About the image: another attempt would end in the same way. */
export function refused<E extends OwnError>(
  error: E,
  facts: ConstructorParameters<typeof RetomaError<E>>[1],
  cause?: unknown,
): Error {
  return doNotRetry(failed(new RetomaError(error, facts, cause === undefined ? {} : { cause })))
}
