/**
 * Errors of a database that does not answer. Each says whether what was being written may have been committed: who writes again after
 * one that was begun may write twice, unless what he writes has a key of its own.
 */
import { RetomaError, type Saying, say } from '../errors.ts'

const outcome = (begun: boolean): Saying =>
  begun
    ? say('what was being written may have been committed', 'o que estava sendo gravado pode ter sido confirmado')
    : say('nothing was written', 'nada foi gravado')

/** `begun`: a statement that writes, or the commit of a transaction, was on its way. */
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
