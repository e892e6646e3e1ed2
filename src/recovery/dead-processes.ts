/**
 * Recovers jobs of processes on this machine that were killed together with their supervisor or had no supervisor. A worker or
 * watchdog calls this at its start, so that jobs resume at once after a kill -9 or a crash of all processes, and not after
 * `orphanAfter`.
 *
 * Invariant: a worker is declared dead only if its process has certainly ended (lib/process/process-identity.ts). A worker on another
 * machine, in another container or of an older release is left to the watchdog; a worker with a live supervisor is left to the
 * supervisor, which knows the cause of the crash.
 */

import type { Db } from '../database/db.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { isGone, thisProcess } from '../lib/process/process-identity.ts'
import type { CrashReport } from '../supervisor/model/crash-report.ts'
import type { WorkerProcess } from '../worker/sql/lease-heartbeat.ts'
import { type Recovered, recoverOrphans } from './sql/recover-jobs-of-dead-worker.ts'
import { declareProcessGone, workersOnMachine } from './sql/workers-on-machine.ts'

const atOnce = 500

export interface DeadProcessOptions {
  db: Db
  clock: Clock
  log: Log
}

export interface DeadProcesses {
  /** Recovered jobs. */
  recovered: Recovered[]
  /** Workers of this machine that live or may live: a killed process takes a moment to end. */
  living: string[]
}

/** `among`: the workers to check; undefined: all workers on this machine. */
export async function recoverFromDeadProcesses(
  { db, clock, log }: DeadProcessOptions,
  among?: readonly string[],
): Promise<DeadProcesses> {
  const { machine } = thisProcess() ?? {}
  if (machine === undefined || among?.length === 0) return { recovered: [], living: [] }
  const known = await workersOnMachine(db, machine)
  const asked = among === undefined ? known : known.filter(({ id }) => among.includes(id))
  const gone = asked.filter(each => hasEnded(each.process))
  const living = asked.filter(each => !gone.includes(each)).map(({ id }) => id)
  for (const { id, process } of gone) {
    const { pid } = process
    const declared = await declareProcessGone(db, [id], crashReportOf(pid), clock.instant())
    if (declared.length > 0)
      log.warn({ worker: id, pid }, 'the process of a worker ended without a stop; its jobs are recovered at once')
  }
  const recovered: Recovered[] = []
  while (gone.length > 0) {
    const some = await recoverOrphans(db, atOnce, clock.instant())
    if (some.length === 0) break
    recovered.push(...some)
  }
  if (recovered.length > 0)
    log.info({ jobs: recovered.length, sample: recovered.slice(0, 5).map(({ id }) => id) }, 'recovered orphans')
  return { recovered, living }
}

const hasEnded = (process: WorkerProcess): boolean =>
  isGone(process) && (process.supervisor === null || isGone(process.supervisor))

/** No process saw the end of this worker: it counts as a requested stop by design, and as a restart for its jobs. */
const crashReportOf = (pid: number): Omit<CrashReport, 'started'> => ({
  how: 'asked',
  why: `process ${pid} ended without a stop`,
  signal: null,
  exitCode: null,
  memoryBytes: null,
  oom: false,
  suspectedJob: null,
  stderr: null,
})
