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

const beatsBetweenTellings = 2

export class MetricsFlusher {
  readonly #options: MetricsFlusherOptions
  #beats = 0
  #telling: Promise<void> | undefined

  constructor(options: MetricsFlusherOptions) {
    this.#options = options
  }

  /** Called with each heartbeat; writes at every second call. */
  beat(): void {
    if (++this.#beats % beatsBetweenTellings !== 0) return
    this.#telling ??= this.#tell().finally(() => {
      this.#telling = undefined
    })
  }

  /** Writes before the worker row is removed: without the row the database accepts no metrics. */
  async last(): Promise<void> {
    await this.#telling
    await this.#tell()
  }

  async #tell(): Promise<void> {
    const { db, clock, log, incarnation: life } = this.#options
    const { id, tally } = life()
    if (!tally.changed) return
    await writeMetrics(db, id, tally.take(), clock.instant()).catch(error => {
      tally.changed = true
      log.debug({ err: error }, 'what was counted could not be written')
    })
  }
}
