/** Makes the error shown with a job: the code, and the sentence in the language of the users. */
import type { RetomaError } from 'retoma'

export function failed(why: RetomaError): Error {
  const error = new Error(why.in('pt'), why.cause === undefined ? {} : { cause: why.cause })
  error.name = 'PlannerError'
  // The stack of the original error, not of this function.
  const at = why.stack?.indexOf('\n    at ') ?? -1
  if (at >= 0) error.stack = `${error.name}: ${error.message}${why.stack!.slice(at)}`
  return Object.assign(error, { code: why.code })
}
