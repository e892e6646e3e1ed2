/**
 * Shuts a worker down gracefully: claims end, the signals of the handlers abort, and attempts still running after the stop grace are
 * released. Then the children, the local file copies and the worker row go. execution/stop-grace.ts waits for one handler.
 *
 * Invariant: resolves within the stop grace plus 3 s, even if the database does not answer. Heartbeats continue until the last attempt is
 * settled: a slow stop must not look like a dead worker.
 */
import type { Db } from '../database/db.ts'
import type { LocalFileCopies } from '../files/local-file-copies.ts'
import type { ChildPool } from '../isolation/child-pool.ts'
import type { IsolatedCalls } from '../isolation/isolated-calls.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import type { ClaimLoop } from './claim-loop.ts'
import type { WorkerIncarnation } from './incarnation.ts'
import type { MainLoopHeartbeat } from './main-loop-heartbeat.ts'
import type { MetricsFlusher } from './metrics-flusher.ts'
import { leaveWorker } from './sql/lease-heartbeat.ts'

export interface ShutdownOptions {
  /** The worker, whose id changes with a new incarnation. */
  worker: { readonly id: string }
  db: Db
  clock: Clock
  log: Log
  graceMs: number
  claimLoop: ClaimLoop
  /** The current incarnation, and incarnations declared dead with a handler still running. */
  incarnations: Iterable<WorkerIncarnation>
  heartbeat: MainLoopHeartbeat
  metricsFlusher: MetricsFlusher
  isolatedCalls: IsolatedCalls
  childPool: ChildPool
  fileCopies: LocalFileCopies
}

/** The wait for the database beyond the stop grace, then the time to remove the worker row. */
const lastWriteMs = 2000
const leaveMs = 1000

export async function shutDown(options: ShutdownOptions): Promise<void> {
  const { worker, db, clock, log, graceMs, claimLoop, incarnations, heartbeat, metricsFlusher } = options
  const over = new AbortController()
  const late = clock.sleep(graceMs + lastWriteMs, over.signal).then(() => 'late' as const)
  // Abort the handlers at once, while a claim may still be under way.
  const all = Promise.all([claimLoop.close(), ...Array.from(incarnations, incarnation => incarnation.stop())])
  const ended = all.then(() => metricsFlusher.last()).then(() => heartbeat.stop())
  const isLate = (await Promise.race([ended, late])) === 'late'
  if (isLate) {
    for (const incarnation of incarnations) incarnation.giveUp()
    void heartbeat.stop()
    log.warn({ worker: worker.id }, 'the database does not answer; the watchdog recovers the leases of this worker')
  }
  over.abort()
  await Promise.all([options.isolatedCalls.close(), options.childPool.close()])
  await options.fileCopies.close()
  const claims = isLate ? 'claims in doubt' : 'claims answered'
  await leaveWorker(db, worker.id, leaveMs, clock.instant(), claims).catch(error =>
    log.debug({ err: error }, 'cannot write the end of a worker; the watchdog declares the worker dead'),
  )
  log.info({ worker: worker.id }, 'worker stopped')
}
