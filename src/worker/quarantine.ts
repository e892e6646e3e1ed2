/**
 * Jobs that may have killed a process (core/care.ts), in one worker: beside the normal slots, and at most two at a time.
 *
 * Invariant: no two suspects of one death run here at once. One that must be alone, and cannot run in a process of its own,
 * runs while nothing else does: from its turn on nothing else starts, until it has ended. So that nobody starves, what waits
 * for its turn too long goes back, for another worker; and after the worker stood still for one that must be alone, it
 * works for the others for as long. It is more patient each time that was in vain: handlers end, at their time-out at last.
 */
import type { Care } from '../core/care.ts'
import { runsInProcess } from '../isolation/able.ts'
import type { Clock } from '../lib/clock.ts'
import type { Random } from '../lib/random.ts'
import type { Claimed } from '../store/claim.ts'
import { nameOf } from '../store/heartbeat.ts'
import type { Attempt } from './attempt.ts'

const most = 2
/** How long one waits for its turn here; one that must be alone up to the other, when it was in vain before. */
const patienceMs = 30_000
const mostPatienceMs = 15 * 60_000
/** Handed back, it may be claimed again after one to two times this; while the worker rests from standing still, later. */
const delayMs = 1000
const restingDelayMs = 5000

export const isSuspect = (care: Partial<Care> | null): boolean => care !== null && (care.level ?? 0) > 0

const mustBeAlone = ({ claimed, job }: Attempt): boolean => claimed.care?.level === 2 && !runsInProcess(job)

export class Quarantine {
  readonly #clock: Clock
  readonly #random: Random
  #waiting: Attempt[] = []
  readonly #running = new Map<string, Attempt>()
  /** Waits for all others to end, or runs: from then on. */
  #alone: { attempt: Attempt; since: number } | undefined
  #patience = patienceMs
  #freeAt = Number.NEGATIVE_INFINITY
  #restUntil = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, random: Random) {
    this.#clock = clock
    this.#random = random
  }

  /** One runs alone, or waits for that: nothing else may start. */
  get holds(): boolean {
    return this.#alone !== undefined
  }

  get waiting(): readonly Attempt[] {
    return this.#waiting
  }

  /** Takes it in, or answers after how many milliseconds it may be claimed again. `quiet`: nothing runs here. */
  admit(attempt: Attempt, quiet: boolean): number | undefined {
    if (this.#waiting.length + this.#running.size >= most) return this.#delay(delayMs)
    if (mustBeAlone(attempt)) {
      if (this.holds) return this.#delay(delayMs)
      const now = this.#clock.elapsed()
      // There may be nobody to rest for.
      if (now < this.#restUntil && !(quiet && now >= this.#freeAt + delayMs)) return this.#delay(restingDelayMs)
      this.#alone = { attempt, since: now }
    }
    this.#waiting.push(attempt)
    return undefined
  }

  /** The next one to start, counted as running from here on. `quiet`: nothing runs here, and no outcome is on its way. */
  next(quiet: boolean): Attempt | undefined {
    const next = this.#waiting.find(each => this.#mayStart(each, quiet))
    if (next === undefined) return undefined
    this.#waiting = this.#waiting.filter(each => each !== next)
    this.#running.set(next.name, next)
    return next
  }

  #mayStart(attempt: Attempt, quiet: boolean): boolean {
    if (this.#alone !== undefined) return this.#alone.attempt === attempt && quiet
    if (attempt.claimed.care!.level === 2) return true
    const { death } = attempt.claimed.care!
    return ![...this.#running.values()].some(({ claimed }) => claimed.care!.death === death)
  }

  /** Its handler has ended, or it never began; answers whether it was one of these. */
  ended(claimed: Claimed): boolean {
    const attempt = this.#running.get(nameOf(claimed))
    if (attempt === undefined) return false
    this.#running.delete(attempt.name)
    this.#release(attempt, patienceMs)
    return true
  }

  /** Takes out those that have waited for too long; `delayMs`: when they may be claimed again. */
  overdue(): { late: Attempt[]; delayMs: number } {
    const now = this.#clock.elapsed()
    const late = this.takeOut(
      each => now - each.claimedAt >= (each === this.#alone?.attempt ? this.#patience : patienceMs),
    )
    return { late, delayMs: this.#delay(delayMs) }
  }

  /** Takes out those that wait and shall not start. */
  takeOut(which: (attempt: Attempt) => boolean): Attempt[] {
    const out = this.#waiting.filter(which)
    this.#waiting = this.#waiting.filter(each => !out.includes(each))
    for (const each of out) this.#release(each, Math.min(this.#patience * 2, mostPatienceMs))
    return out
  }

  /** The worker works for the others again, for as long as it stood still. */
  #release(attempt: Attempt, patience: number): void {
    if (this.#alone?.attempt !== attempt) return
    this.#freeAt = this.#clock.elapsed()
    this.#restUntil = this.#freeAt + Math.min(this.#freeAt - this.#alone.since, mostPatienceMs)
    this.#patience = patience
    this.#alone = undefined
  }

  #delay(ms: number): number {
    return Math.round(ms * (1 + this.#random()))
  }
}
