/**
 * What a worker knows of the work to come, from its last look ahead: when the next scheduled job is due, which of its queues
 * have limits, and where its marks can no longer be trusted.
 *
 * Invariant: a look is due by polling at the latest, whatever is known; an instant told while a look is on its way is
 * not forgotten. Instants here are this process's milliseconds; only `seen` is the database's, and compared with its own.
 */
import type { Clock } from '../lib/clock.ts'
import { lookAhead } from '../store/claim.ts'
import type { Db } from '../store/db.ts'

export class Outlook {
  readonly #db: Db
  readonly #clock: Clock
  readonly #queues: readonly string[]
  readonly #pollMs: number
  #dueAt = Number.POSITIVE_INFINITY
  #askedAt = Number.NEGATIVE_INFINITY
  #seen: string | undefined
  #unheld: Record<string, number> = {}

  constructor(db: Db, clock: Clock, queues: readonly string[], pollMs: number) {
    this.#db = db
    this.#clock = clock
    this.#queues = queues
    this.#pollMs = pollMs
  }

  /** When to look again: when the next scheduled job is due, as far as we know; and by polling, whatever we know. */
  get lookAt(): number {
    return Math.min(this.#dueAt, this.#askedAt + this.#pollMs)
  }

  /** The database's instant of the last look, which every later claim is later than. */
  get seen(): string | undefined {
    return this.#seen
  }

  /** Something is due after so many milliseconds; answers whether that is sooner than all we knew. */
  dueIn(ms: number): boolean {
    const dueAt = this.#clock.elapsed() + ms
    const sooner = dueAt < this.#dueAt
    if (sooner) this.#dueAt = dueAt
    return sooner
  }

  /** What is known is out of date: look before the next claim. */
  forget(): void {
    this.#askedAt = Number.NEGATIVE_INFINITY
  }

  /** `gated`: the queues with limits. `anew`: those whose marks say nothing of what waits behind them by now. */
  async look(): Promise<{ gated: readonly string[]; anew: readonly string[] }> {
    const before = this.#askedAt
    // Before the answer: whoever is told to look meanwhile looks once more.
    this.#askedAt = this.#clock.elapsed()
    this.#dueAt = Number.POSITIVE_INFINITY
    const { dueMs, gated, seen, unheld } = await lookAhead(this.#db, this.#queues, this.#clock.instant()).catch(
      error => {
        this.#askedAt = Math.min(before, this.#askedAt)
        throw error
      },
    )
    // After a failover to a clock that runs behind, what comes in lies before everything seen so far.
    const back = this.#seen !== undefined && seen < this.#seen
    const anew = this.#queues.filter(queue => back || unheld[queue] !== this.#unheld[queue])
    this.#seen = seen
    this.#unheld = unheld
    if (dueMs !== null) this.dueIn(dueMs)
    return { gated, anew }
  }
}
