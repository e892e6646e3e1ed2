/** Logs the events of the worker process: a line per crash or restart, and a line per minute until the process is ready. */

import type { Log } from '../lib/logging/log.ts'
import type { CrashReport } from './model/crash-report.ts'
import type { Next } from './model/restart-policy.ts'

type Restart = Extract<Next, { do: 'restart' }>

export function logCrash(
  log: Log,
  crashReport: CrashReport,
  { afterMs, standing, loud }: Restart,
  wasReady: boolean,
): void {
  const { how, why, signal, exitCode, memoryBytes, oom, started, suspectedJob } = crashReport
  const restart = `restarting ${afterMs === 0 ? 'now' : `in ${afterMs / 1000} s`}`
  const facts = {
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
    const line = `worker process did not get ready${often}: ${why}; ${restart}`
    if (loud) log.error({ ...facts, bootFailures }, line)
    else log.warn({ ...facts, bootFailures }, line)
  } else if (how === 'asked') {
    const ended = signal === null ? 'ended' : 'died'
    log.warn(facts, `worker process ${ended}: ${why}; ${mostJobs(started.length)}; ${restart}`)
  } else log.error(facts, `worker process died: ${why}; ${mostJobs(started.length)}; ${restart}`)
}

const mostJobs = (count: number): string =>
  count === 0 ? 'no job was running' : `at most ${count} ${count === 1 ? 'job was' : 'jobs were'} running`

export function logLateStart(log: Log, seconds: number, killed: boolean): void {
  const what = `worker process has not got ready in ${seconds} s`
  if (killed) log.error({ seconds }, `${what}; killed, to start again`)
  else log.warn({ seconds }, what)
}
