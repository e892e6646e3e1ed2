/**
 * Keeps one worker process running for a supervisor: starts the process, writes a crash report after its end, and starts the process
 * again by the restart policy. A supervisor has a keeper for each of its processes; a crash of one process does not touch the others.
 *
 * Invariant: at most one process at a time, and none when `run` resolves. A crash report is written before the next start.
 */
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { buildCrashReports } from './build-crash-report.ts'
import { type ProcessEnd, type Program, SupervisedProcess } from './child-process.ts'
import { writePendingCrashReport } from './crash-report-file.ts'
import type { CrashReportFolder } from './crash-report-folder.ts'
import { afterEnd, firstStanding, type Next, type Standing } from './model/restart-policy.ts'
import { hasStatusFile } from './status-files.ts'
import type { ProcessPlace } from './supervision.ts'
import { logCrash, logLateStart } from './supervisor-log.ts'
import {
  crashReportFolderVariable,
  pendingCrashReportsVariable,
  processNumberVariable,
  supervisorVariable,
} from './suspected-job-file.ts'

export interface ProcessKeeperOptions {
  program: Program
  folder: CrashReportFolder
  place: ProcessPlace
  clock: Clock
  /** Created on first use: most supervisors never log. */
  log: () => Promise<Log>
  /** The supervisor got the signal to stop. */
  stop: AbortSignal
  /** Another process of this supervisor was ready before: a process that refuses to start is started again. */
  everReady: boolean
  /** Called after the first claim of each process that the keeper starts. `asksForSecond`: the process needs a second process beside it. */
  claimed?: (asksForSecond: boolean) => void
}

/** The end of the last process, which the supervisor repeats. */
export type Ending = Pick<ProcessEnd, 'exitCode' | 'signal'>

/** The time for a process to exit after a second signal. */
const leaveAtOnceMs = 1000
/** The time for a process to stop in a rolling restart, as a service manager allows. */
const stopMs = 30_000

export class ProcessKeeper {
  readonly #options: ProcessKeeperOptions
  #child: SupervisedProcess | undefined
  #reportFolder = ''
  #standing: Standing
  /** Aborts to start the next process without waiting. */
  #waiting = new AbortController()
  /** Called with the process that takes the place of the stopping process. */
  #replaced: ((next: SupervisedProcess | undefined) => void) | undefined

  constructor(options: ProcessKeeperOptions) {
    this.#options = options
    this.#standing = { ...firstStanding, everReady: options.everReady }
  }

  get number(): number {
    return this.#options.place.number
  }

  /** The first stop signal. */
  stop(signal: NodeJS.Signals): void {
    // A terminal signals every process of a group: a process that has received the signal must not take ours for a second signal.
    if (!hasStatusFile(this.#reportFolder, 'asked')) this.#child?.send(signal)
  }

  /** The second stop signal: the process ends without waiting. */
  stopAtOnce(signal: NodeJS.Signals): void {
    const child = this.#child
    child?.send(signal)
    void this.#options.clock.sleep(leaveAtOnceMs).then(() => child?.send('SIGKILL'))
  }

  /** Stops the process and starts another at once. Resolves true once the other process claims, false if the other process has ended before. */
  async replace(): Promise<boolean> {
    const next = new Promise<SupervisedProcess | undefined>(resolve => {
      this.#replaced = resolve
    })
    this.#waiting.abort()
    this.#child?.stop(stopMs)
    return (await next)?.claims() ?? false
  }

  /** Resolves with the end of the last process: after a stop, or if the first process refuses to start. */
  async run(): Promise<Ending> {
    const { stop, clock } = this.#options
    try {
      for (;;) {
        const end = await this.#start().ended
        this.#child = undefined
        if (stop.aborted) return end
        const isReplaced = this.#replaced !== undefined
        const next = isReplaced ? this.#atOnce(end) : afterEnd(this.#standing, { ...end, stopping: false })
        if (next.do === 'end') return end
        this.#standing = next.standing
        await this.#report(end, isReplaced ? undefined : next)
        this.#waiting = new AbortController()
        if (this.#replaced === undefined) await clock.sleep(next.afterMs, AbortSignal.any([stop, this.#waiting.signal]))
        if (stop.aborted) return { exitCode: 0, signal: null }
      }
    } finally {
      this.#replaced?.(undefined)
    }
  }

  /** The next step after the end of a process that `replace` has stopped. */
  #atOnce({ readyMs }: ProcessEnd): Next {
    const everReady = this.#standing.everReady || readyMs !== null
    return { do: 'restart', afterMs: 0, standing: { ...firstStanding, everReady }, loud: false }
  }

  #start(): SupervisedProcess {
    const { program, folder, place, clock, log, claimed } = this.#options
    const { number, of } = place
    const reportFolder = folder.reportFolder(number)
    this.#reportFolder = reportFolder
    const env = {
      ...program.env,
      [crashReportFolderVariable]: this.#reportFolder,
      [pendingCrashReportsVariable]: folder.pendingReports,
      [supervisorVariable]: String(process.pid),
      ...(of === 1 ? {} : { [processNumberVariable]: `${number}/${of}` }),
    }
    this.#child = new SupervisedProcess({
      program: { ...program, env },
      reportFolder: this.#reportFolder,
      clock,
      ...(of === 1 ? {} : { lineNumber: number }),
      late: (seconds, killed) => void log().then(logger => logLateStart(logger, place, seconds, killed)),
    })
    this.#replaced?.(this.#child)
    this.#replaced = undefined
    if (claimed !== undefined)
      void this.#child.claims().then(claims => {
        if (claims) claimed(hasStatusFile(reportFolder, 'second'))
      })
    return this.#child
  }

  /** Writes the crash reports. `next` is undefined if the supervisor has stopped the process: then the end is not worth a line. */
  async #report(end: ProcessEnd, next: Extract<Next, { do: 'restart' }> | undefined): Promise<void> {
    const { folder, place, log } = this.#options
    const { crashReport, pendingReports } = buildCrashReports(this.#reportFolder, end)
    if (next === undefined && pendingReports.length === 0) return
    const logger = await log()
    try {
      for (const each of pendingReports) writePendingCrashReport(folder.pendingReports, each)
    } catch (error) {
      logger.warn({ err: error }, 'cannot write the crash report; the watchdog recovers the running jobs')
    }
    if (next !== undefined) logCrash(logger, place, crashReport, next, end.readyMs !== null)
  }
}
