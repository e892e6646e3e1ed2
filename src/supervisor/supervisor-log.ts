/** Logs the events of the worker processes: a line per crash, restart and rolling restart, and a line per minute until a process is ready. */

import type { Log } from '../lib/logging/log.ts'
import type { CrashReport } from './model/crash-report.ts'
import type { Next } from './model/restart-policy.ts'
import type { ProcessPlace } from './supervision.ts'

type Restart = Extract<Next, { do: 'restart' }>

/** The number is in the text only if there are several processes. */
const nameOf = ({ number, of }: ProcessPlace): string => `worker process${of === 1 ? '' : ` ${number}`}`
const numberOf = ({ number, of }: ProcessPlace): { process?: number } => (of === 1 ? {} : { process: number })

export function logCrash(
  log: Log,
  place: ProcessPlace,
  crashReport: CrashReport,
  { afterMs, standing, loud }: Restart,
  wasReady: boolean,
): void {
  const { how, why, signal, exitCode, memoryBytes, oom, started, suspectedJob } = crashReport
  const restart = `restarting ${afterMs === 0 ? 'now' : `in ${afterMs / 1000} s`}`
  const name = nameOf(place)
  const facts = {
    ...numberOf(place),
    how,
    signal,
    exitCode,
    memoryBytes,
    oom,
    ...(suspectedJob === null ? {} : { job: suspectedJob.job, attempt: suspectedJob.attempt }),
    // Includes attempts that have ended since their start.
    maybeRunning: started.length,
    restartMs: afterMs,
  }
  if (!wasReady) {
    const { bootFailures } = standing
    const often = bootFailures === 1 ? '' : `, ${bootFailures} times in a row`
    const line = `${name} did not get ready${often}: ${why}; ${restart}`
    if (loud) log.error({ ...facts, bootFailures }, line)
    else log.warn({ ...facts, bootFailures }, line)
  } else if (how === 'asked') {
    const ended = signal === null ? 'ended' : 'died'
    log.warn(facts, `${name} ${ended}: ${why}; ${mostJobs(started.length)}; ${restart}`)
  } else log.error(facts, `${name} died: ${why}; ${mostJobs(started.length)}; ${restart}`)
}

const mostJobs = (count: number): string =>
  count === 0 ? 'no job was running' : `at most ${count} ${count === 1 ? 'job was' : 'jobs were'} running`

export function logLateStart(log: Log, place: ProcessPlace, seconds: number, killed: boolean): void {
  const what = `${nameOf(place)} has not got ready in ${seconds} s`
  const facts = { ...numberOf(place), seconds }
  if (killed) log.error(facts, `${what}; killed, to start again`)
  else log.warn(facts, what)
}

export function logRoll(log: Log, step: 'begins' | 'is done', processes: number): void {
  log.info({ processes }, `the rolling restart ${step}`)
}

/** `number`: the process that did not come up. `done`: processes restarted before; `left`: processes that were not touched. */
export function logRollStopped(log: Log, number: number, done: number, left: number): void {
  const others = `restarted before: ${done}, not touched: ${left}`
  log.error(
    { process: number, done, left },
    `the rolling restart stops: worker process ${number} did not come up; ${others}; send SIGHUP again when the cause is mended`,
  )
}
