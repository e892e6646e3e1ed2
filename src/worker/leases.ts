/**
 * The leases of one life: which attempts it holds, and how it gives them back. The database has the last word on whose a job
 * is; this is our side of it, and the two are compared now and then.
 *
 * Invariant: an attempt is held from its claim until its outcome has landed, it was given back, or its lease is known to be
 * lost. Who is no longer held never begins.
 */
import { RetomaError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { extendAttempts, giveBackClaims, renewClaims } from '../store/claim.ts'
import type { Db } from '../store/db.ts'
import { type Held, nameOf } from '../store/heartbeat.ts'
import type { Attempt } from './attempt.ts'

export interface LeasesOptions {
  /** The worker's. */
  id: string
  db: Db
  clock: Clock
  log: Log
  /** Something of that queue was handed back unbegun, and is ready again after so many milliseconds. */
  gaveBack: (queue: string, delayMs: number) => void
}

/** Whoever watches has a minute of patience (core/verdict.ts). */
const worthExtendingMs = 5000

export class Leases {
  readonly #options: LeasesOptions
  readonly #held = new Map<string, Attempt>()
  #over = false
  /** What the database said we hold and we did not know, when last compared. */
  #unknown = new Set<string>()
  readonly #handedBack = new Set<string>()
  /** So much of its time the database knows not to be the attempt's. */
  readonly #extended = new WeakMap<Attempt, number>()

  constructor(options: LeasesOptions) {
    this.#options = options
  }

  [Symbol.iterator](): IterableIterator<Attempt> {
    return this.#held.values()
  }

  get held(): Held[] {
    return Array.from(this.#held.values(), ({ claimed }) => ({ id: claimed.id, attempt: claimed.attempt }))
  }

  find(held: Held): Attempt | undefined {
    return this.#held.get(nameOf(held))
  }

  /** One that has not begun and is not held never will: whoever would start it looks here first. */
  has(attempt: Attempt): boolean {
    return this.#held.get(attempt.name) === attempt
  }

  /**
   * False: the claim was on its way while this life was declared dead, and the watchdog gives the job back; or for so long
   * that it was handed back as one whose answer was lost.
   */
  add(attempt: Attempt): boolean {
    if (this.#over || this.#handedBack.delete(attempt.name)) return false
    this.#held.set(attempt.name, attempt)
    return true
  }

  /** Its outcome has landed, or its lease is lost. */
  delete(attempt: Attempt): void {
    this.#held.delete(attempt.name)
  }

  /** Hands back attempts that have not begun: nothing of them is counted. */
  async giveBack(attempts: readonly Attempt[], delayMs = 0): Promise<void> {
    const claims = attempts.filter(each => !each.started).map(each => each.claimed)
    if (claims.length === 0) return
    for (const claim of claims) this.#held.delete(nameOf(claim))
    // When this fails, beats find them unheld and give them back.
    await this.#handBack(claims, delayMs)
  }

  /** They wait for their turn: until then no time of theirs is counted. */
  async renew(attempts: readonly Attempt[]): Promise<void> {
    const { db, id, clock } = this.#options
    const claims = attempts.map(each => each.claimed)
    if (claims.length > 0) await renewClaims(db, id, claims, clock.instant())
  }

  /** The database learns what of their time was not theirs, so that whoever watches there does not count it. */
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

  /** What a claim brought when nothing more may start. */
  async refuse(claims: readonly Held[]): Promise<void> {
    if (claims.length > 0) await this.#handBack(claims)
  }

  async #handBack(claims: readonly Held[], delayMs = 0): Promise<void> {
    const { db, id, clock, gaveBack } = this.#options
    for (const queue of await giveBackClaims(db, id, claims, clock.instant(), delayMs)) gaveBack(queue, delayMs)
  }

  /**
   * What the database says we hold and we do not know of, twice in a row so that it is no claim or settle on its way: the
   * answer to a claim was lost, and the job goes back.
   */
  async reconcile(held: readonly Held[]): Promise<void> {
    const unknown = held.filter(each => !this.#held.has(nameOf(each)))
    const lost = unknown.filter(each => this.#unknown.has(nameOf(each)))
    this.#unknown = new Set(unknown.map(nameOf))
    if (lost.length === 0) return
    for (const each of lost) this.#handedBack.add(nameOf(each))
    await this.#handBack(lost)
    this.#options.log.warn({ jobs: lost.map(each => each.id) }, 'the answer to a claim was lost; these jobs go back')
  }

  /** Cancelled or recovered: the handlers hear it. */
  lose(lost: readonly Held[]): void {
    for (const each of lost) {
      const attempt = this.find(each)
      if (attempt !== undefined) this.#lose(attempt)
    }
  }

  /** Declared dead: every attempt hears that its lease is gone, and nothing is held any more. */
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
