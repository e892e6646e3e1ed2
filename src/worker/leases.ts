/**
 * Keeps the leases of an incarnation: the attempts of this worker, and their release. The database decides who has a lease; this list is
 * the worker's view, and both are compared regularly. A lease has no end of its own: the heartbeat of the worker renews all leases at once
 * (sql/lease-heartbeat.ts).
 *
 * Invariant: an attempt is in the list from its claim until its outcome is written, the job is released, or the lease is known to be lost.
 * An attempt outside the list never starts.
 */

import { extendAttempts, releaseClaims, restartClaimAges } from '../claiming/sql/claim.ts'
import type { Db } from '../database/db.ts'
import { RetomaError } from '../errors/errors.ts'
import type { Attempt } from '../execution/attempt.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import type { ClaimLoop } from './claim-loop.ts'
import { type HeldAttempt, nameOf } from './sql/lease-heartbeat.ts'

export interface LeasesOptions {
  /** The worker id. */
  id: string
  db: Db
  clock: Clock
  log: Log
  claimLoop: ClaimLoop
}

/** The watchdog tolerates one minute (recovery/model/late-attempt-verdict.ts), so smaller values are not written. */
const worthExtendingMs = 5000

export class Leases {
  readonly #options: LeasesOptions
  readonly #held = new Map<string, Attempt>()
  #over = false
  /** Attempts that the last comparison found in the database and not here. */
  #unknown = new Set<string>()
  readonly #released = new Set<string>()
  /** The blocked time of each attempt that the database already knows, in milliseconds. */
  readonly #extended = new WeakMap<Attempt, number>()

  constructor(options: LeasesOptions) {
    this.#options = options
  }

  [Symbol.iterator](): IterableIterator<Attempt> {
    return this.#held.values()
  }

  get held(): HeldAttempt[] {
    return Array.from(this.#held.values(), ({ claimed }) => ({ id: claimed.id, attempt: claimed.attempt }))
  }

  find(held: HeldAttempt): Attempt | undefined {
    return this.#held.get(nameOf(held))
  }

  /** False for an attempt without a lease. Callers check here before starting an attempt. */
  has(attempt: Attempt): boolean {
    return this.#held.get(attempt.name) === attempt
  }

  /**
   * False if the claim was under way while this incarnation was declared dead (the watchdog recovers the job), or for so long that
   * `reconcile` released the job after a lost answer.
   */
  add(attempt: Attempt): boolean {
    if (this.#over || this.#released.delete(attempt.name)) return false
    this.#held.set(attempt.name, attempt)
    return true
  }

  /** The outcome is written, or the lease is lost. */
  delete(attempt: Attempt): void {
    this.#held.delete(attempt.name)
  }

  /** Releases unstarted attempts; these attempts are not counted. */
  async release(attempts: readonly Attempt[], delayMs = 0): Promise<void> {
    const claims = attempts.filter(each => !each.started).map(each => each.claimed)
    if (claims.length === 0) return
    for (const claim of claims) this.#held.delete(nameOf(claim))
    // If the release fails, a later heartbeat finds the jobs without a lease here and releases the jobs.
    await this.#release(claims, delayMs)
  }

  /** Restarts the age of claimed attempts that wait for their turn, so that the wait does not count. */
  async restartAges(attempts: readonly Attempt[]): Promise<void> {
    const { db, id, clock } = this.#options
    const claims = attempts.map(each => each.claimed)
    if (claims.length > 0) await restartClaimAges(db, id, claims, clock.instant())
  }

  /** Writes the blocked time of attempts to the database, so that the watchdog does not count this time. */
  async extend(): Promise<void> {
    const { db, id } = this.#options
    const more = [...this.#held.values()]
      .map(attempt => ({ attempt, ms: attempt.time.stolenMs - (this.#extended.get(attempt) ?? 0) }))
      .filter(({ ms }) => ms >= worthExtendingMs)
    if (more.length === 0) return
    await extendAttempts(
      db,
      id,
      more.map(({ attempt, ms }) => ({ id: attempt.claimed.id, attempt: attempt.claimed.attempt, ms })),
    )
    for (const { attempt } of more) this.#extended.set(attempt, attempt.time.stolenMs)
  }

  /** Releases jobs from a claim that arrived when no attempt may start any more. */
  async refuse(claims: readonly HeldAttempt[]): Promise<void> {
    if (claims.length > 0) await this.#release(claims)
  }

  async #release(claims: readonly HeldAttempt[], delayMs = 0): Promise<void> {
    const { db, id, clock, claimLoop } = this.#options
    for (const queue of await releaseClaims(db, id, claims, clock.instant(), delayMs))
      claimLoop.released(queue, delayMs)
  }

  /**
   * Releases attempts that the database assigns to this worker and that are unknown here in two comparisons in a row, so that a claim or
   * settle under way does not count. The answer to their claim was lost.
   */
  async reconcile(held: readonly HeldAttempt[]): Promise<void> {
    const unknown = held.filter(each => !this.#held.has(nameOf(each)))
    const lost = unknown.filter(each => this.#unknown.has(nameOf(each)))
    this.#unknown = new Set(unknown.map(nameOf))
    if (lost.length === 0) return
    for (const each of lost) this.#released.add(nameOf(each))
    await this.#release(lost)
    this.#options.log.warn(
      { jobs: lost.map(each => each.id) },
      'the answer to a claim was lost; the worker releases these jobs',
    )
  }

  /** Aborts attempts with a lost lease: the job was cancelled or recovered. */
  lose(lost: readonly HeldAttempt[]): void {
    for (const each of lost) {
      const attempt = this.find(each)
      if (attempt !== undefined) this.#lose(attempt)
    }
  }

  /** The worker was declared dead: aborts every attempt with `lease_lost` and accepts no more leases. */
  loseAll(): void {
    this.#over = true
    for (const each of this.#held.values()) this.#lose(each)
  }

  #lose(attempt: Attempt): void {
    const { id, attempt: number } = attempt.claimed
    if (attempt.running)
      attempt.abort(new RetomaError('lease_lost', { job: id, attempt: number, worker: this.#options.id }))
    else this.delete(attempt)
  }
}
