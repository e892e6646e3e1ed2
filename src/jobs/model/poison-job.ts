/**
 * Builds the failure of a poison job, which has crashed its process `maxCrashes` times: not retried automatically, with the last
 * crash as the reason.
 */
import { RetomaError } from '../../errors/errors.ts'
import type { Failure } from './outcome.ts'

export function poisonFailure(crashes: number | string, last: Failure): Failure {
  const { message } = new RetomaError('poison', { crashes, last: last.message })
  return { ...last, what: 'crash', code: 'poison', message }
}
