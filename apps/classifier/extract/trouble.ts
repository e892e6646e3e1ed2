/** Makes an error about a document for the sender: a sentence in Portuguese, and a code. The engine does not retry. */
import { doNotRetry, type OwnError, RetomaError } from 'retoma'
import { failed } from '../failed.ts'

export function trouble<E extends OwnError>(
  error: E,
  facts: ConstructorParameters<typeof RetomaError<E>>[1],
  cause?: unknown,
): Error {
  return doNotRetry(failed(new RetomaError(error, facts, cause === undefined ? {} : { cause })))
}
