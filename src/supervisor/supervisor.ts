/**
 * Supervises worker processes, usually one: starts the processes, passes on stop signals, restarts a process after a crash
 * (process-keeper.ts), and replaces the processes one after the other on SIGHUP. The supervisor has no database and loads very little, so that
 * the cause of a crash does not hit the supervisor.
 *
 * Invariant: no process runs when `supervise` resolves. A rolling restart has at most one process of the supervisor out of work at a time, and
 * ends with the first process that does not come up: the processes after it are not touched. A worker process notices the death of its
 * supervisor and stops (cli/interrupt-signals.ts).
 */

import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { loop } from '../lib/loop.ts'
import { hours } from '../lib/values/duration.ts'
import type { Program } from './child-process.ts'
import type { CrashReportFolder } from './crash-report-folder.ts'
import { type Ending, ProcessKeeper } from './process-keeper.ts'
import { logRoll, logRollStopped } from './supervisor-log.ts'
import { listenForSupervisorSignals } from './supervisor-signals.ts'

export interface SuperviseOptions {
  program: Program
  /** The number of worker processes. Default 1. */
  processes?: number
  folder: CrashReportFolder
  clock: Clock
  /** Created on first use: most supervisors never log. */
  log: () => Promise<Log>
}

export async function supervise({ program, processes = 1, folder, clock, log }: SuperviseOptions): Promise<Ending> {
  const running: ProcessKeeper[] = []
  let rollAsked = false
  let isRolling = false
  const stop = listenForSupervisorSignals({
    clock,
    first: signal => {
      for (const each of running) each.stop(signal)
    },
    again: signal => {
      for (const each of running) each.stopAtOnce(signal)
    },
    restart: () => {
      rollAsked = true
      if (isRolling) return
      isRolling = true
      rollWhileAsked()
        .catch(error => process.stderr.write(`${error}\n`))
        .finally(() => {
          isRolling = false
        })
    },
  })

  async function rollWhileAsked(): Promise<void> {
    // A signal during a rolling restart asks for another: the processes replaced before may have loaded older code.
    while (rollAsked && !stop.aborted) {
      rollAsked = false
      await roll()
    }
  }

  /** The last process first: the first process of `up` has the API, and a broken release shows in a worker. */
  async function roll(): Promise<void> {
    const logger = await log()
    logRoll(logger, 'begins', running.length)
    for (const [done, each] of running.toReversed().entries()) {
      const isUp = await each.replace()
      if (stop.aborted) return
      if (!isUp) return logRollStopped(logger, each.number, done, running.length - done - 1)
    }
    logRoll(logger, 'is done', running.length)
  }

  const fresh = loop({
    clock,
    every: hours(1),
    tick: async () => void folder.touch(),
    failed: () => {},
  })
  const others: Promise<Ending>[] = []
  /**
   * Starts the other processes once the first process claims. The first process creates the schema and starts the embedded PostgreSQL, and
   * a config that cannot be loaded is reported once. Only the first process knows whether its config needs a second process.
   */
  const startOthers = (asksForSecond: boolean): void => {
    const count = asksForSecond ? Math.max(processes, 2) : processes
    while (!stop.aborted && running.length < count) others.push(start(running.length + 1, count))
  }
  const start = (number: number, of: number): Promise<Ending> => {
    const place = { number, of }
    const claimed = number === 1 ? { claimed: startOthers } : {}
    const keeper = new ProcessKeeper({ program, folder, place, clock, log, stop, everReady: number > 1, ...claimed })
    running.push(keeper)
    return keeper.run()
  }
  try {
    const first = await start(1, processes)
    return worst([first, ...(await Promise.all(others))])
  } finally {
    void fresh.stop()
    folder.remove()
  }
}

/** The end that says most: a signal, else the highest exit code. */
function worst(ends: readonly Ending[]): Ending {
  const bySignal = ends.find(each => each.signal !== null)
  return bySignal ?? ends.toSorted((a, b) => (b.exitCode ?? 0) - (a.exitCode ?? 0))[0]!
}
