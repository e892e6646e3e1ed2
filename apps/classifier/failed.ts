/** An error as it is shown with a document: its code, and its sentence in the language of the system's users. */
import type { RetomaError } from 'retoma'

export function failed(why: RetomaError): Error {
  const error = new Error(why.in('pt'), why.cause === undefined ? {} : { cause: why.cause })
  error.name = 'ClassifierError'
  // Where it was found, not where it was put into words.
  const at = why.stack?.indexOf('\n    at ') ?? -1
  if (at >= 0) error.stack = `${error.name}: ${error.message}${why.stack!.slice(at)}`
  return Object.assign(error, { code: why.code })
}
