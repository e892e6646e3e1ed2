/**
 * Decides when a job is a poison job, and builds its failure: a job that has crashed its process `maxCrashes` times fails for good, with
 * the last crash as the reason. recovery/sql/recover-jobs-of-crashed-worker.ts applies the same rule in SQL (`isPoisonSql`), because a single
 * statement recovers all jobs of a crashed worker.
 */
import { RetomaError } from '../../errors/errors.ts'
import type { Failure } from './outcome.ts'

export const isPoison = (crashes: number, maxCrashes: number): boolean => crashes >= maxCrashes

/** `isPoison` in SQL. `crashes`: an integer; `policy`: the policy as jsonb. */
export const isPoisonSql = (crashes: string, policy: string): string =>
  `${crashes} >= (${policy} ->> 'maxCrashes')::int`

export function poisonFailure(crashes: number | string, last: Failure): Failure {
  const { message } = new RetomaError('poison', { crashes, last: last.message })
  return { ...last, type: 'crash', code: 'poison', message }
}
