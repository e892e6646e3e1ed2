/**
 * Supervises a worker process: starts the process, passes on stop signals, and after a crash writes a crash report and restarts the
 * process. The supervisor has no database and loads very little, so that the cause of a crash does not hit the supervisor.
 *
 * Invariant: at most one child process at a time, and none when `supervise` resolves. A crash report is written before the start of the
 * process that uses the report. A child process notices the death of its supervisor and stops (cli/interrupt-signals.ts).
 */

import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { loop } from '../lib/loop.ts'
import { hours } from '../lib/values/duration.ts'
import { buildCrashReports } from './build-crash-report.ts'
import { type ProcessEnd, type Program, SupervisedProcess } from './child-process.ts'
import { writePendingCrashReport } from './crash-report-file.ts'
import type { CrashReportFolder } from './crash-report-folder.ts'
import { afterEnd, firstStanding } from './model/restart-policy.ts'
import { hasStatusFile } from './status-files.ts'
import { listenForStopSignals } from './stop-signals.ts'
import { logCrash, logLateStart } from './supervisor-log.ts'
import { crashReportFolderVariable, pendingCrashReportsVariable, supervisorVariable } from './suspected-job-file.ts'

export interface SuperviseOptions {
  program: Program
  folder: CrashReportFolder
  clock: Clock
  /** Created on first use: most supervisors never log. */
  log: () => Promise<Log>
}

/** The end of the last child process, which the supervisor repeats. */
export type Ending = Pick<ProcessEnd, 'exitCode' | 'signal'>

/** The time for the child process to exit after a second signal. */
const leaveAtOnceMs = 1000

export async function supervise({ program, folder, clock, log }: SuperviseOptions): Promise<Ending> {
  let child: SupervisedProcess | undefined
  let reportFolder = ''
  const stop = listenForStopSignals({
    clock,
    first: signal => {
      // A terminal signals every process of a group: a process that has received the signal must not take ours for a second signal.
      if (!hasStatusFile(reportFolder, 'asked')) child?.tell(signal)
    },
    again: signal => {
      child?.tell(signal)
      void clock.sleep(leaveAtOnceMs).then(() => child?.tell('SIGKILL'))
    },
  })
  const fresh = loop({
    clock,
    every: hours(1),
    tick: async () => void folder.touch(),
    failed: () => {},
  })
  let standing = firstStanding
  try {
    for (;;) {
      reportFolder = folder.reportFolder()
      const variables = {
        [crashReportFolderVariable]: reportFolder,
        [pendingCrashReportsVariable]: folder.pendingReports,
      }
      const env = { ...program.env, ...variables, [supervisorVariable]: String(process.pid) }
      const late = (seconds: number, killed: boolean) => void log().then(told => logLateStart(told, seconds, killed))
      child = new SupervisedProcess({ program: { ...program, env }, reportFolder, clock, late })
      const end = await child.ended
      child = undefined
      const next = afterEnd(standing, { ...end, stopping: stop.aborted })
      if (next.do === 'end') return end
      standing = next.standing
      const { crashReport, pendingReports } = buildCrashReports(reportFolder, end)
      const told = await log()
      try {
        for (const each of pendingReports) writePendingCrashReport(folder.pendingReports, each)
      } catch (error) {
        told.warn({ err: error }, 'cannot write the crash report; the watchdog recovers the running jobs')
      }
      logCrash(told, crashReport, next, end.readyMs !== null)
      await clock.sleep(next.afterMs, stop)
      if (stop.aborted) return { exitCode: 0, signal: null }
    }
  } finally {
    void fresh.stop()
    folder.remove()
  }
}
