/** What is wrong with a document, as the person who sent it reads it: a sentence in Portuguese, and a code. Trying again does not help. */
import { doNotRetry, type OwnError, RetomaError } from 'retoma'
import { failed } from '../failed.ts'

export function trouble<E extends OwnError>(
  error: E,
  facts: ConstructorParameters<typeof RetomaError<E>>[1],
  cause?: unknown,
): Error {
  return doNotRetry(failed(new RetomaError(error, facts, cause === undefined ? {} : { cause })))
}
