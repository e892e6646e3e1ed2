/**
 * Builds the SQL parts that change the crash suspicion of a job after a crash or a restart of the process. Used to recover the jobs of a
 * dead worker: by recovery/sql/recover-jobs-of-dead-worker.ts without a crash report, by recovery/sql/recover-jobs-of-crashed-worker.ts with a report. jobs/model/crash-suspicion.ts explains the levels.
 */

import { RetomaError } from '../../errors/errors.ts'
import { aloneAfter, stalledAfter } from '../model/crash-suspicion.ts'
import { fingerprintOf } from '../model/error-fingerprint.ts'

/** A stored number of the crash suspicion; `job` is the alias of a row with the column `crash_suspicion`. */
export const keptSuspicion = (job: string, what: 'level' | 'unexplainedCrashes' | 'restartsWithoutProgress'): string =>
  `coalesce((${job}.crash_suspicion ->> '${what}')::int, 0)`

/** Restarts in a row without progress, including this restart. A checkpoint or a progress note of this attempt sets the number to 0. */
export const restartsWithoutProgress = (job: string): string => `
  case
    when ${job}.progress_at >= ${job}.started_at
      or (select true from retoma.checkpoint c where c.job_id = ${job}.id and c.attempt = ${job}.attempt limit 1)
    then 0
    else ${keptSuspicion(job, 'restartsWithoutProgress')} + 1
  end`

/** The stored value; null if all parts are empty. */
export const suspicionWith = (
  level: string,
  crashedWorker: string,
  unexplainedCrashes: string,
  restartsWithoutProgress: string,
): string => `
  nullif(
    jsonb_build_object('level', ${level}, 'crashedWorker', ${crashedWorker}, 'unexplainedCrashes', ${unexplainedCrashes}, 'restartsWithoutProgress', ${restartsWithoutProgress}),
    '{"level": 0, "crashedWorker": null, "unexplainedCrashes": 0, "restartsWithoutProgress": 0}'
  )`

/**
 * Crash suspicion after a restart that no job is known to have caused: the level stays. If the job made progress, the job no longer has to run alone
 * because of restarts.
 */
export const suspicionAfterRestart = (job: string, restartsWithoutProgress: string): string =>
  suspicionWith(
    `case
      when ${restartsWithoutProgress} >= ${aloneAfter} then 2
      when ${restartsWithoutProgress} > 0 or ${job}.crashes > 0 or ${keptSuspicion(job, 'unexplainedCrashes')} > 0 then ${keptSuspicion(job, 'level')}
      else 0
    end`,
    `${job}.crash_suspicion ->> 'crashedWorker'`,
    keptSuspicion(job, 'unexplainedCrashes'),
    restartsWithoutProgress,
  )

export const tooMany = (restartsWithoutProgress: string): string => `${restartsWithoutProgress} >= ${stalledAfter}`

const { code, message } = new RetomaError('too_many_restarts', { restarts: stalledAfter })

/** The error of a job that is `stalled` because of too many restarts. */
export const tooManyError = JSON.stringify({
  type: 'orphan',
  code,
  message,
  stack: null,
  cause: fingerprintOf({ type: 'orphan', code, message }),
})

export const orphanMessage = 'orphan: the worker died while it ran this job'
/** An orphan error with a message of the kind has the same fingerprint as the default message. */
const orphanCause = fingerprintOf({ type: 'orphan', code: null, message: orphanMessage })

/** The error of a job whose worker died. `inPolicyWords` replaces the message if the kind has one. */
export const orphanError = JSON.stringify({
  type: 'orphan',
  code: null,
  message: orphanMessage,
  stack: null,
  cause: orphanCause,
})

export const inPolicyWords = (error: string, policy: string): string =>
  `${error} || jsonb_strip_nulls(jsonb_build_object('message', ${policy} #> '{messages,orphan}'))`
