/**
 * Writes the heartbeats of the heartbeat thread: every few seconds, at once on news, and as soon as the database is reachable again.
 *
 * Invariant: never two heartbeats at a time, and none under a worker id declared dead.
 */
import type { ClientConfig } from 'pg'
import { heartbeatEvery } from '../jobs/model/policy.ts'
import { sharedElapsed, systemClock } from '../lib/clock.ts'
import { type Loop, loop } from '../lib/loop.ts'
import type { HeartbeatPayload } from '../worker/sql/lease-heartbeat.ts'
import type { HeartbeatConnection } from './heartbeat-connection.sql.ts'

export interface HeartbeatLoopOptions {
  /** The configuration of the connection; undefined: the main loop writes the heartbeats. */
  config: ClientConfig | undefined
  schema: string
  measurements: () => HeartbeatPayload
  /** A heartbeat with these facts was written. */
  landed: () => void
  dead: (id: string) => void
  /** After `silentMs` without a written heartbeat, `silent` is called. */
  silentMs: number
  silent: () => void
}

/** Shorter than the interval: an unresponsive connection is dropped before the next heartbeat is due. */
const deadlineMs = heartbeatEvery - 500
const longestPauseMs = 1000
/**
 * The delay of the first heartbeat of each incarnation. The worker row is written before the thread starts and counts as a heartbeat, so
 * driver and connection can load a little later: a worker that starts on a backlog needs its processor for the first jobs.
 */
const firstBeatMs = 2000

export class HeartbeatLoop {
  readonly #options: HeartbeatLoopOptions
  #connection: Promise<HeartbeatConnection> | undefined
  #firstHeartbeatAt = Number.POSITIVE_INFINITY
  readonly #loop: Loop
  #id: string | undefined
  #landedAt = sharedElapsed()
  #reported = false
  #failures = 0

  constructor(options: HeartbeatLoopOptions) {
    this.#options = options
    this.#loop = loop({
      clock: systemClock,
      every: heartbeatEvery,
      tick: () => this.#writeHeartbeat(),
      failed: () => {},
    })
  }

  /** Writes heartbeats for the worker `id` from now on. */
  live(id: string): void {
    this.#id = id
    this.#landedAt = sharedElapsed()
    this.#firstHeartbeatAt = this.#landedAt + firstBeatMs
    this.#loop.wake()
  }

  /** Writes the next heartbeat at once, because there is news. */
  soon(): void {
    this.#firstHeartbeatAt = 0
    this.#loop.wake()
  }

  async end(): Promise<void> {
    this.#id = undefined
    // Not awaited: a heartbeat under way ends with the connection.
    void this.#loop.stop()
    await (await this.#connection)?.end()
  }

  async #writeHeartbeat(): Promise<number | undefined> {
    const id = this.#id
    const { config } = this.#options
    if (id === undefined || config === undefined) return undefined
    const early = this.#firstHeartbeatAt - sharedElapsed()
    if (early > 0) return early
    try {
      const alive = await (await this.#open(config)).write(id, this.#options.measurements())
      this.#failures = 0
      this.#landedAt = sharedElapsed()
      this.#reported = false
      if (alive) this.#options.landed()
      else this.#declareDead(id)
      return undefined
    } catch {
      if (!this.#reported && sharedElapsed() - this.#landedAt > this.#options.silentMs) {
        this.#reported = true
        this.#options.silent()
      }
      return Math.min(100 * 2 ** this.#failures++, longestPauseMs)
    }
  }

  #open(config: ClientConfig): Promise<HeartbeatConnection> {
    const { schema } = this.#options
    this.#connection ??= import('./heartbeat-connection.sql.ts').then(
      ({ openHeartbeatConnection }) => openHeartbeatConnection({ config, schema, deadlineMs, lost: () => this.soon() }),
      error => {
        // The next heartbeat tries again.
        this.#connection = undefined
        throw error
      },
    )
    return this.#connection
  }

  #declareDead(id: string): void {
    // A new incarnation may have begun meanwhile.
    if (this.#id === id) this.#id = undefined
    this.#options.dead(id)
  }
}
