/**
 * Keeps the lookahead of a worker: the instant of the next scheduled job, the queues with limits, and the queues with outdated claim
 * cursors.
 *
 * Invariant: a lookahead is due by polling at the latest. An instant reported while a lookahead query is under way is not forgotten.
 * Instants here are milliseconds of this process; only `seen` comes from the database, and is compared only with instants of the database.
 */

import type { Db } from '../database/db.ts'
import type { Clock } from '../lib/clock.ts'
import { type LookaheadResult, lookAhead } from './sql/claim.ts'

export class Lookahead {
  readonly #db: Db
  readonly #clock: Clock
  readonly #queues: readonly string[]
  readonly #pollMs: number
  #dueAt = Number.POSITIVE_INFINITY
  #askedAt = Number.NEGATIVE_INFINITY
  #seen: string | undefined
  #unblockSeq: Record<string, number> = {}

  constructor(db: Db, clock: Clock, queues: readonly string[], pollMs: number) {
    this.#db = db
    this.#clock = clock
    this.#queues = queues
    this.#pollMs = pollMs
  }

  /** The instant of the next lookahead: when the next known scheduled job is due, and by polling in any case. */
  get dueAt(): number {
    return Math.min(this.#dueAt, this.#askedAt + this.#pollMs)
  }

  /** The instant of the last lookahead on the database clock. Every later claim is later than this instant. */
  get seen(): string | undefined {
    return this.#seen
  }

  /** Reports that a job is due after `ms` milliseconds; returns true if this is sooner than every known instant. */
  dueIn(ms: number): boolean {
    const dueAt = this.#clock.elapsed() + ms
    const sooner = dueAt < this.#dueAt
    if (sooner) this.#dueAt = dueAt
    return sooner
  }

  /** The known facts are out of date: run a lookahead before the next claim. */
  forget(): void {
    this.#askedAt = Number.NEGATIVE_INFINITY
  }

  /**
   * `limited`: the queues with limits or fair turns; `counted`: with a concurrency or a rate; `keyed`: with limit keys. `anew`: the queues with
   * outdated claim cursors.
   */
  async run(): Promise<Pick<LookaheadResult, 'limited' | 'counted' | 'keyed'> & { anew: readonly string[] }> {
    const before = this.#askedAt
    // Set before the answer arrives, so that a `forget` during the query causes another lookahead.
    this.#askedAt = this.#clock.elapsed()
    this.#dueAt = Number.POSITIVE_INFINITY
    const { dueMs, limited, counted, keyed, seen, unblockSeq } = await lookAhead(
      this.#db,
      this.#queues,
      this.#clock.instant(),
    ).catch(error => {
      this.#askedAt = Math.min(before, this.#askedAt)
      throw error
    })
    // After a failover to a slower clock, new jobs may sort before every job seen so far.
    const back = this.#seen !== undefined && seen < this.#seen
    const anew = this.#queues.filter(queue => back || unblockSeq[queue] !== this.#unblockSeq[queue])
    this.#seen = seen
    this.#unblockSeq = unblockSeq
    if (dueMs !== null) this.dueIn(dueMs)
    return { limited, counted, keyed, anew }
  }
}
