/**
 * Writes the attempt metrics and the history of a worker to the database, alongside the heartbeats: the history with every heartbeat, the
 * metrics with every second one.
 *
 * Invariant: never two writes of a sort at a time. Each write of metrics contains all counts again, so that no count is lost or counted
 * twice; history-counter.ts has the rule of the history. Errors are not thrown, and no heartbeat waits for a write.
 */

import type { Db } from '../database/db.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { writeMetrics } from '../metrics/sql/metric-counters.ts'
import type { HistoryCounter } from './history-counter.ts'
import type { WorkerIncarnation } from './incarnation.ts'

export interface MetricsFlusherOptions {
  db: Db
  clock: Clock
  log: Log
  history: HistoryCounter
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

  /** Called with each heartbeat. */
  onHeartbeat(): void {
    const { history, incarnation } = this.#options
    void history.flush(incarnation().id)
    if (++this.#heartbeats % heartbeatsBetweenFlushes !== 0) return
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined
    })
  }

  /** Writes before the worker row is removed: without the row the database accepts no metrics. */
  async last(): Promise<void> {
    await this.#flushing
    const { history, incarnation } = this.#options
    await Promise.all([this.#flush(), history.last(incarnation().id)])
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
