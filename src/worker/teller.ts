/**
 * Tells the database what a worker has counted of its attempts, beside its beats.
 *
 * Invariant: never two writes at a time, and all that was counted is told again with the next, so that none can be lost or
 * count twice. Nothing of it is thrown, and no beat waits for it.
 */
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Db } from '../store/db.ts'
import { writeMetrics } from '../store/metric.ts'
import type { Life } from './life.ts'

export interface TellerOptions {
  db: Db
  clock: Clock
  log: Log
  /** The present one. */
  life: () => Life
}

const beatsBetweenTellings = 2

export class Teller {
  readonly #options: TellerOptions
  #beats = 0
  #telling: Promise<void> | undefined

  constructor(options: TellerOptions) {
    this.#options = options
  }

  /** The worker beats: every other time it is told. */
  beat(): void {
    if (++this.#beats % beatsBetweenTellings !== 0) return
    this.#telling ??= this.#tell().finally(() => {
      this.#telling = undefined
    })
  }

  /** Before the worker's row goes: without it nothing more is taken of it. */
  async last(): Promise<void> {
    await this.#telling
    await this.#tell()
  }

  async #tell(): Promise<void> {
    const { db, clock, log, life } = this.#options
    const { id, tally } = life()
    if (!tally.changed) return
    await writeMetrics(db, id, tally.take(), clock.instant()).catch(error => {
      tally.changed = true
      log.debug({ err: error }, 'what was counted could not be written')
    })
  }
}
