/** The end of a job that has ended its process `maxCrashes` times: not run again by itself, with what it died of last. */
import { RetomaError } from '../errors.ts'
import type { Failure } from './outcome.ts'

export function poisonFailure(crashes: number | string, last: Failure): Failure {
  const { message } = new RetomaError('poison', { crashes, last: last.message })
  return { ...last, what: 'crash', code: 'poison', message }
}
