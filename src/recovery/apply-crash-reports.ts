/**
 * Recovers the jobs of crashed workers from the crash reports of the supervisor (supervisor/crash-report-file.ts), so that the jobs
 * need not wait until a watchdog misses the heartbeat.
 *
 * Invariant: a crash report is removed only after its recovery is committed. A failed recovery is tried again at every tick of
 * the watchdog; applying a report twice does no harm.
 */

import type { Db } from '../database/db.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import {
  type PendingCrashReport,
  readPendingCrashReports,
  removePendingCrashReport,
} from '../supervisor/crash-report-file.ts'
import type { Supervision } from '../supervisor/supervision.ts'
import { recoverCrashedWorker } from './sql/recover-jobs-of-crashed-worker.ts'

export interface ApplyCrashReportsOptions {
  db: Db
  clock: Clock
  log: Log
  supervision: Supervision
  /** Jobs of the queue wait again. */
  wake: (queue: string) => void
  /** These jobs crashed their process. */
  crashed: (jobs: readonly { queue: string; kind: string }[]) => Promise<void>
}

/** Never throws. */
export async function applyCrashReports(options: ApplyCrashReportsOptions): Promise<void> {
  const folder = options.supervision.pendingReportsFolder
  if (folder === undefined) return
  for (const pendingReport of readPendingCrashReports(folder)) await applyToWorker(folder, pendingReport, options)
}

async function applyToWorker(
  folder: string,
  { worker, crashReport }: PendingCrashReport,
  { db, clock, log, wake, crashed }: ApplyCrashReportsOptions,
) {
  try {
    const recovered = await recoverCrashedWorker(db, worker, crashReport, clock.instant())
    removePendingCrashReport(folder, worker)
    for (const queue of new Set(recovered.map(each => each.queue))) wake(queue)
    await crashed(recovered.filter(each => each.effect === 'crash'))
    if (recovered.length > 0)
      log.info({ worker, jobs: recovered.length, how: crashReport.how }, 'recovered the jobs of a crashed worker')
  } catch (error) {
    log.warn({ worker, err: error }, 'cannot recover the jobs of a crashed worker; trying again')
  }
}
