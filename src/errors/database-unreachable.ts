/**
 * Builds the errors for a database without an answer. Each error states if the write may have been committed: a caller who repeats
 * a begun write may write twice, unless the write has a unique key.
 */
import { type LocalizedText, localized, RetomaError } from './errors.ts'

const outcome = (begun: boolean): LocalizedText =>
  begun
    ? localized('what was being written may have been committed', 'o que estava sendo gravado pode ter sido confirmado')
    : localized('nothing was written', 'nada foi gravado')

/** `begun`: a writing statement, or the commit of a transaction, was under way. */
export const databaseUnreachable = (given: {
  address: string
  problem: string
  begun: boolean
  cause?: unknown
}): RetomaError =>
  new RetomaError(
    'database_unreachable',
    { address: given.address, problem: given.problem, outcome: outcome(given.begun) },
    { cause: given.cause, maybeCommitted: given.begun },
  )

export const databaseTimeout = (ms: number, begun: boolean): RetomaError =>
  new RetomaError('database_timeout', { seconds: ms / 1000, outcome: outcome(begun) }, { maybeCommitted: begun })
