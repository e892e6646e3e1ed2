/**
 * Runs jobs with a crash suspicion (jobs/model/crash-suspicion.ts) beside the normal slots of a worker, at most two at a time.
 *
 * Invariant: two suspects of the same crash never run here at once. A job that must run alone, and cannot run in its own process, runs
 * while no other job does: from its turn on no other job starts until the job has ended. Against starvation, a job that waits too long is
 * released for another worker, and after a time of running alone the worker runs other jobs for as long. The wait for running alone doubles
 * each time it was in vain, because handlers end, by their timeout at the latest.
 */

import type { Attempt } from '../execution/attempt.ts'
import type { IsolationMode } from '../isolation/isolation-mode.ts'
import type { CrashSuspicion } from '../jobs/model/crash-suspicion.ts'
import type { Clock } from '../lib/clock.ts'
import type { Random } from '../lib/random.ts'
import { nameOf } from '../worker/sql/lease-heartbeat.ts'
import type { ClaimedJob } from './sql/claim.ts'

const most = 2
/** The wait of a job for its turn; for a job that must run alone up to 15 minutes, after waits in vain. */
const waitLimitMs = 30_000
const mostPatienceMs = 15 * 60_000
/**
 * The delay before a released job may be claimed again, times a random factor of 1 to 2; longer while the worker runs other jobs after an
 * alone run.
 */
const delayMs = 1000
const restingDelayMs = 5000

export const isSuspect = (suspicion: Partial<CrashSuspicion> | null): boolean =>
  suspicion !== null && (suspicion.level ?? 0) > 0

export class SuspectJobs {
  readonly #clock: Clock
  readonly #random: Random
  readonly #isolationMode: IsolationMode
  #waiting: Attempt[] = []
  readonly #running = new Map<string, Attempt>()
  /** The job that waits for all others to end, or runs alone, and the instant this began. */
  #alone: { attempt: Attempt; since: number } | undefined
  #waitLimit = waitLimitMs
  #freeAt = Number.NEGATIVE_INFINITY
  #restUntil = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, random: Random, isolationMode: IsolationMode) {
    this.#clock = clock
    this.#random = random
    this.#isolationMode = isolationMode
  }

  /** A job runs alone or waits to run alone: no other job may start. */
  get holds(): boolean {
    return this.#alone !== undefined
  }

  get waiting(): readonly Attempt[] {
    return this.#waiting
  }

  /** Accepts the attempt, or returns the milliseconds before the job may be claimed again. `quiet`: no handler runs here. */
  admit(attempt: Attempt, quiet: boolean): number | undefined {
    if (this.#waiting.length + this.#running.size >= most) return this.#delay(delayMs)
    if (this.#mustBeAlone(attempt)) {
      if (this.holds) return this.#delay(delayMs)
      const now = this.#clock.elapsed()
      // There may be no other jobs to run.
      if (now < this.#restUntil && !(quiet && now >= this.#freeAt + delayMs)) return this.#delay(restingDelayMs)
      this.#alone = { attempt, since: now }
    }
    this.#waiting.push(attempt)
    return undefined
  }

  #mustBeAlone({ claimed, job }: Attempt): boolean {
    return claimed.crash_suspicion?.level === 2 && !this.#isolationMode.runsInProcess(job)
  }

  /** The next attempt to start, counted as running from here on. `quiet`: no handler runs here, and no outcome is under way. */
  next(quiet: boolean): Attempt | undefined {
    const next = this.#waiting.find(each => this.#mayStart(each, quiet))
    if (next === undefined) return undefined
    this.#waiting = this.#waiting.filter(each => each !== next)
    this.#running.set(next.name, next)
    return next
  }

  #mayStart(attempt: Attempt, quiet: boolean): boolean {
    if (this.#alone !== undefined) return this.#alone.attempt === attempt && quiet
    if (attempt.claimed.crash_suspicion!.level === 2) return true
    const { crashedWorker } = attempt.claimed.crash_suspicion!
    return ![...this.#running.values()].some(({ claimed }) => claimed.crash_suspicion!.crashedWorker === crashedWorker)
  }

  /** The handler has ended, or never began; returns false for an attempt that is not in quarantine. */
  ended(claimed: ClaimedJob): boolean {
    const attempt = this.#running.get(nameOf(claimed))
    if (attempt === undefined) return false
    this.#running.delete(attempt.name)
    this.#release(attempt, waitLimitMs)
    return true
  }

  /** Removes attempts that waited too long; `delayMs`: the delay before the jobs may be claimed again. */
  overdue(): { late: Attempt[]; delayMs: number } {
    const now = this.#clock.elapsed()
    const late = this.takeOut(
      each => now - each.claimedAt >= (each === this.#alone?.attempt ? this.#waitLimit : waitLimitMs),
    )
    return { late, delayMs: this.#delay(delayMs) }
  }

  /** Removes matching attempts that wait. */
  takeOut(which: (attempt: Attempt) => boolean): Attempt[] {
    const out = this.#waiting.filter(which)
    this.#waiting = this.#waiting.filter(each => !out.includes(each))
    for (const each of out) this.#release(each, Math.min(this.#waitLimit * 2, mostPatienceMs))
    return out
  }

  /** Lets the worker run other jobs again, for as long as it ran nothing else. */
  #release(attempt: Attempt, waitLimit: number): void {
    if (this.#alone?.attempt !== attempt) return
    this.#freeAt = this.#clock.elapsed()
    this.#restUntil = this.#freeAt + Math.min(this.#freeAt - this.#alone.since, mostPatienceMs)
    this.#waitLimit = waitLimit
    this.#alone = undefined
  }

  #delay(ms: number): number {
    return Math.round(ms * (1 + this.#random()))
  }
}
