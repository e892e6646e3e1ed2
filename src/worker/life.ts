/**
 * One life of a worker: an id, its row in the database, the attempts it holds. A worker that was declared dead ends its
 * life and begins another, so nothing of the old id can be mistaken for the new one's.
 *
 * Invariant: an attempt is in `held` from its claim until its outcome has landed or its lease is known to be lost.
 */
import type { AnyJob } from '../core/job.ts'
import { RetomaError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Random } from '../lib/random.ts'
import { type Claimed, giveBackClaims } from '../store/claim.ts'
import type { Db } from '../store/db.ts'
import { type Held, nameOf } from '../store/heartbeat.ts'
import { type Committer, createCommitter } from './committer.ts'
import { type Attempt, runAttempt } from './run.ts'

/** How much longer than a handler's grace a worker that stops waits for the database to take its last outcomes. */
const lastWriteMs = 3000

export interface LifeOptions {
  id: string
  db: Db
  clock: Clock
  log: Log
  random: Random
  graceMs: number
  /** Called when an attempt's outcome is in the database (or its lease lost) and its slot is free; `back`: it waits again. */
  freed: (attempt: Claimed, back: boolean) => void
}

export class Life {
  readonly id: string
  readonly #options: LifeOptions
  readonly #committer: Committer
  readonly #held = new Map<string, Attempt>()
  readonly #running = new Set<Promise<void>>()
  #over = false
  /** What the database said we hold and we did not know, when last compared. */
  #unknown = new Set<string>()

  constructor(options: LifeOptions) {
    this.id = options.id
    this.#options = options
    this.#committer = createCommitter({ db: options.db, worker: options.id, clock: options.clock, log: options.log })
  }

  get held(): Held[] {
    return [...this.#held.values()].map(({ claimed }) => ({ id: claimed.id, attempt: claimed.attempt }))
  }

  start(claimed: Claimed, job: AnyJob): void {
    // A claim that was on its way while this life was declared dead: the watchdog gives the job back.
    if (this.#over) {
      this.#options.freed(claimed, false)
      return
    }
    const attempt: Attempt = { claimed, job, stop: new AbortController() }
    this.#held.set(nameOf(claimed), attempt)
    const run = this.#run(attempt).finally(() => this.#running.delete(run))
    this.#running.add(run)
  }

  async #run(attempt: Attempt): Promise<void> {
    const { claimed } = attempt
    const { log, freed } = this.#options
    let back = false
    try {
      const end = await runAttempt(attempt, this.#options)
      const landed =
        end.state !== 'lost' &&
        (await this.#committer.settle({ id: claimed.id, attempt: claimed.attempt, outcome: end }))
      const facts = { job: claimed.id, kind: claimed.kind, attempt: claimed.attempt }
      if (!landed)
        log.warn(
          { ...facts, code: 'lease_lost', worker: this.id },
          'lease lost; the outcome of this attempt was not accepted',
        )
      else log.debug({ ...facts, state: end.state }, 'attempt ended')
      back = landed && end.state === 'waiting'
    } catch (error) {
      // A mistake of ours must not end the process: the next beats find the job unheld and give it back.
      log.error({ job: claimed.id, attempt: claimed.attempt, err: error }, 'this attempt could not be ended')
    } finally {
      this.#held.delete(nameOf(claimed))
      freed(claimed, back)
    }
  }

  /**
   * Compares what the database says we hold with what we held before asking. Ours and not there: the lease is lost
   * (cancelled, recovered), the handler hears it. There and not ours, twice in a row so that it is no claim or settle on
   * its way: the answer to a claim was lost, and the job goes back.
   */
  async reconcile(before: readonly Held[], held: readonly Held[]): Promise<void> {
    const { db, clock, log } = this.#options
    const there = new Set(held.map(nameOf))
    for (const each of before) {
      const attempt = this.#held.get(nameOf(each))
      if (attempt !== undefined && !there.has(nameOf(each))) this.#lose(attempt)
    }
    const unknown = held.filter(each => !this.#held.has(nameOf(each)))
    const lost = unknown.filter(each => this.#unknown.has(nameOf(each)))
    this.#unknown = new Set(unknown.map(nameOf))
    if (lost.length === 0) return
    await giveBackClaims(db, this.id, lost, clock.instant())
    log.warn({ jobs: lost.map(each => each.id) }, 'the answer to a claim was lost; these jobs go back')
  }

  /** Declared dead: every attempt hears that its lease is gone. */
  end(): void {
    this.#over = true
    for (const each of this.#held.values()) this.#lose(each)
  }

  #lose({ claimed, stop }: Attempt): void {
    stop.abort(new RetomaError('lease_lost', { job: claimed.id, attempt: claimed.attempt, worker: this.id }))
  }

  /** Tells every handler to stop and resolves when each has ended or been handed back. */
  async stop(): Promise<void> {
    for (const { claimed, stop } of this.#held.values())
      stop.abort(new RetomaError('worker_stopping', { job: claimed.id }))
    const { clock, graceMs } = this.#options
    const idle = new AbortController()
    void clock.sleep(graceMs + lastWriteMs, idle.signal).then(() => this.#committer.giveUp())
    await this.idle()
    idle.abort()
  }

  /** Resolves when nothing runs. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
  }
}
