/** What is wrong with a document, as the person who sent it reads it: a sentence in Portuguese, and a code. Trying again does not help. */
import { doNotRetry, RetomaError } from 'retoma'
import { failed } from '../failed.ts'

type Code =
  | 'not_a_pdf'
  | 'pdf_truncated'
  | 'pdf_corrupt'
  | 'pdf_encrypted'
  | 'pdf_without_pages'
  | 'pdf_timeout'
  | 'pdf_memory'
  | 'pdf_crash'
  | 'text_binary'

export function trouble<C extends Code>(
  code: C,
  facts: ConstructorParameters<typeof RetomaError<C>>[1],
  cause?: unknown,
): Error {
  return doNotRetry(failed(new RetomaError(code, facts, cause === undefined ? {} : { cause })))
}
