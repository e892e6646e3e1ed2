/**
 * Recovers the jobs of crashed workers from the crash reports of the supervisor (supervisor/pending-crash-reports.ts), so that the jobs
 * need not wait until a watchdog misses the heartbeat.
 *
 * Invariant: a crash report is removed only after its recovery is committed. A failed recovery is tried again at every tick of
 * the watchdog; applying a report twice does no harm.
 */

import type { Db } from '../database/db.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import {
  type Certificate,
  certificatesFolder,
  readCertificates,
  removeCertificate,
} from '../supervisor/pending-crash-reports.ts'
import { buryWorker } from './sql/recover-crashed-worker.ts'

export interface BurialOptions {
  db: Db
  clock: Clock
  log: Log
  /** Jobs of the queue wait again. */
  tell: (queue: string) => void
  /** These jobs crashed their process. */
  crashed: (jobs: readonly { queue: string; kind: string }[]) => Promise<void>
}

/** Never throws. */
export async function buryTheDead(options: BurialOptions): Promise<void> {
  const folder = certificatesFolder()
  if (folder === undefined) return
  for (const certificate of readCertificates(folder)) await bury(folder, certificate, options)
}

async function bury(folder: string, { worker, death }: Certificate, { db, clock, log, tell, crashed }: BurialOptions) {
  try {
    const recovered = await buryWorker(db, worker, death, clock.instant())
    removeCertificate(folder, worker)
    for (const queue of new Set(recovered.map(each => each.queue))) tell(queue)
    await crashed(recovered.filter(each => each.fate === 'crash'))
    if (recovered.length > 0)
      log.info({ worker, jobs: recovered.length, how: death.how }, 'jobs of a dead worker go back')
  } catch (error) {
    log.warn({ worker, err: error }, 'a dead worker could not be buried; trying again')
  }
}
