/**
 * Writes the attempt metrics of a worker to the database, alongside the heartbeats.
 *
 * Invariant: never two writes at a time. Each write contains all counts again, so that no count is lost or counted twice. Errors are not
 * thrown, and no heartbeat waits for a write.
 */

import type { Db } from '../database/db.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { writeMetrics } from '../metrics/sql/metric-counters.ts'
import type { WorkerIncarnation } from './incarnation.ts'

export interface MetricsFlusherOptions {
  db: Db
  clock: Clock
  log: Log
  /** The current incarnation. */
  incarnation: () => WorkerIncarnation
}

const heartbeatsBetweenFlushes = 2

export class MetricsFlusher {
  readonly #options: MetricsFlusherOptions
  #heartbeats = 0
  #flushing: Promise<void> | undefined

  constructor(options: MetricsFlusherOptions) {
    this.#options = options
  }

  /** Called with each heartbeat; writes at every second call. */
  onHeartbeat(): void {
    if (++this.#heartbeats % heartbeatsBetweenFlushes !== 0) return
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined
    })
  }

  /** Writes before the worker row is removed: without the row the database accepts no metrics. */
  async last(): Promise<void> {
    await this.#flushing
    await this.#flush()
  }

  async #flush(): Promise<void> {
    const { db, clock, log, incarnation } = this.#options
    const { id, runner } = incarnation()
    const { metrics } = runner
    if (!metrics.changed) return
    await writeMetrics(db, id, metrics.take(), clock.instant()).catch(error => {
      metrics.changed = true
      log.debug({ err: error }, 'cannot write metrics')
    })
  }
}
