/**
 * Runs an incarnation of a worker: a worker id, a row in the database, the leases (leases.ts) and the running attempts. A worker declared
 * dead ends the incarnation and starts another, so that writes of the old id cannot be mistaken for writes of the new id.
 *
 * Invariant: every attempt started here ends here, and is settled before the lease is dropped: written, lease lost, or left to the
 * watchdog.
 */

import type { MovedBatch } from '../batches/sql/provider-pauses.ts'
import type { ClaimedJob } from '../claiming/sql/claim.ts'
import type { Db } from '../database/db.ts'
import { RetomaError } from '../errors/errors.ts'
import { Attempt, type AttemptOptions } from '../execution/attempt.ts'
import type { AttemptEnd } from '../execution/attempt-outcome.ts'
import { Deadlines } from '../execution/attempt-timeouts.ts'
import type { CurrentJobTracker } from '../execution/current-job.ts'
import type { WriteResult } from '../execution/model/write-result.ts'
import type { NestedCallCheck } from '../execution/nested-call-check.ts'
import { OverrunningAttempts } from '../execution/overrunning-attempts.ts'
import type { LocalFileCopies } from '../files/local-file-copies.ts'
import type { ChildPool } from '../isolation/child-pool.ts'
import type { Isolate } from '../isolation/isolated-calls.ts'
import type { IsolationMode } from '../isolation/isolation-mode.ts'
import type { PauseReason } from '../jobs/model/deferral.ts'
import { fingerprintOf } from '../jobs/model/error-fingerprint.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import type { Outcome, Trouble } from '../jobs/model/outcome.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import type { Random } from '../lib/random.ts'
import { type ProviderAsker, recordProviderWord } from '../providers/sql/provider-state.ts'
import { type InFlightJournal, openInFlightJournal } from '../supervisor/in-flight-journal.ts'
import type { Supervision } from '../supervisor/supervision.ts'
import { AttemptMetrics, type AttemptTotals } from './attempt-metrics.ts'
import { createAttemptStorage } from './attempt-storage.ts'
import { Leases } from './leases.ts'
import { createOutcomeWriter, type OutcomeWriter } from './outcome-writer.ts'
import type { HeldAttempt } from './sql/heartbeat.ts'

export interface WorkerIncarnationOptions {
  id: string
  db: Db
  clock: Clock
  log: Log
  random: Random
  graceMs: number
  supervision: Supervision
  isolationMode: IsolationMode
  currentJob: CurrentJobTracker
  nestedCalls: NestedCallCheck
  childPool: ChildPool
  fileCopies: LocalFileCopies
  isolate: Isolate
  memoryBytes?: number | undefined
  /** The outcomes of all incarnations of the worker. */
  totals: AttemptTotals
  /** The handler has ended: the slot is free after `restMs`. `ms` is the duration; undefined: the duration says nothing about the kind. */
  ended: (claimed: ClaimedJob, ms: number | undefined, restMs: number) => void
  /** An attempt of a job of a batch has failed, and the failure is committed. */
  failed: (failed: { batch: string; id: string; cause: string; code: string | null; message: string }) => void
  /** An attempt of a job of this batch has succeeded, or was skipped. */
  succeeded: (batchId: string) => void
  /** The job was deferred because no child process was free. */
  waitsForChild: (claimed: ClaimedJob) => void
  /** The outcome is written, the lease is lost, or nothing could be written. `delay`: the job waits again for `delay` milliseconds. */
  settled: (claimed: ClaimedJob, delay: number | undefined) => void
  /** A job of this queue was released unstarted and is ready again after `delayMs`. */
  gaveBack: (queue: string, delayMs: number) => void
  /** A handler starts. */
  started: (attempt: Attempt) => void
  /** Called before attempts time out, to find out whether the loop was blocked. */
  isTime: () => void
  /** True if the async context of every handler is tracked. */
  follows: () => boolean
  /** A handler was abandoned (1), or an abandoned handler has ended (-1). */
  abandoned: (more: 1 | -1) => void
  /** A job of this batch has paused the batch. */
  paused: (batch: MovedBatch) => void
  /** A stopped provider answers again. */
  answered: () => Promise<void>
}

/** The slot of a deferred job stays closed until the deferral is over, at most 1 s. */
const longestRestMs = 1000
/** The length of a failure message kept with the batch. */
const mostMessage = 500
/** The time until a child is killed when its job may run elsewhere. */
const lastWordMs = 500

export class WorkerIncarnation {
  readonly id: string
  readonly #options: WorkerIncarnationOptions
  readonly #outcomeWriter: OutcomeWriter
  readonly #forAttempts: AttemptOptions
  /** The in-flight journal, read after a crash of this process. */
  readonly #journal: InFlightJournal
  readonly leases: Leases
  /** Counts the outcomes of the attempts. */
  readonly metrics: AttemptMetrics
  #running = 0
  #handling = 0
  readonly #overrunning = new OverrunningAttempts()
  /** Callbacks for the moment when no attempt runs. */
  #idlers: (() => void)[] = []
  #unsettled = 0
  readonly #deadlines: Deadlines

  constructor(options: WorkerIncarnationOptions) {
    this.id = options.id
    this.#options = options
    this.metrics = new AttemptMetrics(options.totals)
    this.leases = new Leases(options)
    this.#deadlines = new Deadlines({ ...options, attempts: this.leases })
    this.#journal = openInFlightJournal(options.supervision.reportFolder, options.id)
    this.#outcomeWriter = createOutcomeWriter({ ...options, worker: options.id })
    this.#forAttempts = {
      ...options,
      storage: createAttemptStorage({ ...options, worker: options.id, outcomeWriter: this.#outcomeWriter }),
      resumed: attempt => this.#deadlines.watch(attempt),
    }
  }

  /** Attempts with an ended handler and an outcome under way. */
  get unsettled(): number {
    return this.#unsettled
  }

  /** The number of running handlers, without overrunning handlers of ended attempts. */
  get handling(): number {
    return this.#handling
  }

  /** The attempt of the running handler if exactly one handler runs. */
  get sole(): Attempt | undefined {
    if (this.#handling !== 1) return undefined
    for (const attempt of this.leases) if (attempt.running) return attempt
    return undefined
  }

  /** The first deadline, at the earliest. */
  get due(): number {
    return this.#deadlines.first
  }

  /**
   * The latest deadline of all handlers running in this process. If the event loop is still blocked then, every handler that could block
   * the loop has timed out. A handler that still runs after its attempt ended has already timed out, so counts as `now`. Undefined: no
   * handler runs.
   */
  allDue(now: number): number | undefined {
    const last = this.#deadlines.lastHere(now)
    return this.#overrunning.size > 0 ? Math.max(last ?? 0, now) : last
  }

  get writeLagMs(): number {
    return this.#outcomeWriter.writeLagMs
  }

  /** Discounts a blocked loop of `ms` milliseconds for all attempts except `culprit`, if known. */
  discountBlockedTime(ms: number, culprit: string | undefined): void {
    // A handler that runs alone has blocked the loop itself.
    if (this.#handling > 1) this.#deadlines.discountBlockedTime(ms, culprit)
  }

  /** Discounts a pause of the whole process, which no attempt caused. */
  stopped(ms: number): void {
    this.#deadlines.discountBlockedTime(ms)
  }

  /**
   * Aborts isolated attempts: this worker cannot write heartbeats and will be declared dead. A handler in a child must not run beside the
   * next attempt elsewhere.
   */
  cannotBeat(): void {
    for (const attempt of this.leases) {
      if (!attempt.isAway) continue
      attempt.abort(new RetomaError('worker_stopping', { job: attempt.claimed.id }), false)
      void attempt.killChild(lastWordMs)
    }
  }

  /** Undefined: the lease is already lost. */
  hold(claimed: ClaimedJob, job: AnyJob): Attempt | undefined {
    const attempt = new Attempt(claimed, job, this.#forAttempts)
    return this.leases.add(attempt) ? attempt : undefined
  }

  /** `follow`: the async context of the handler is tracked after the first `await` too. */
  start(attempt: Attempt, follow: boolean): void {
    this.#running++
    this.#handling++
    const place = this.#journal.note(attempt.name)
    // Set the deadline before the handler begins: the first synchronous part may block the loop forever, and the heartbeat thread must know
    // the deadline by then.
    attempt.allow()
    this.#deadlines.watch(attempt)
    this.#options.started(attempt)
    void this.#run(attempt, follow || this.#options.follows(), place)
  }

  async #run(attempt: Attempt, follow: boolean, place: number): Promise<void> {
    const { claimed } = attempt
    const { log, clock, ended, settled } = this.#options
    const startedAt = clock.elapsed()
    let delay: number | undefined
    let how: WriteResult | undefined
    try {
      // `run` always ends and never throws.
      const end = await attempt.run(follow)
      this.#handling--
      void this.#options.fileCopies.drop(attempt.name)
      const ms = clock.elapsed() - startedAt
      // Count the outcome before the slot is free: a job that must run alone waits for outcomes too.
      this.#unsettled++
      // A deferred attempt says nothing about the duration of its kind.
      const isBack = end.state === 'handed_back'
      const took = isBack ? undefined : ms
      // The next jobs would most likely be deferred too, so the slot pauses for as long as this job waits.
      const rest = isBack && !end.forChild ? Math.min(end.delay, longestRestMs) : 0
      if (attempt.isOverrunning) void this.#overrunning.outlive(attempt).then(() => ended(claimed, took, rest))
      else ended(claimed, took, rest)
      try {
        how = await this.#settle(claimed, end)
      } finally {
        this.#unsettled--
      }
      if (how === 'written') this.metrics.ended(claimed, end, ms)
      if (how === 'lease_lost') this.metrics.ended(claimed, { state: 'lost' }, ms)
      if (how === 'written' && (end.state === 'waiting' || end.state === 'handed_back')) delay = end.delay
      if (how === 'written' && end.state === 'released') delay = 0
      if (how === 'written') this.#reportToBatch(claimed, end)
      if (how === 'written' && isBack && end.forChild) this.#options.waitsForChild(claimed)
      if (how === 'lease_lost') {
        const facts = {
          job: claimed.id,
          kind: claimed.kind,
          attempt: claimed.attempt,
          code: 'lease_lost',
          worker: this.id,
        }
        log.warn(facts, 'lease lost; the outcome of this attempt was not accepted')
      }
    } catch (error) {
      // A bug here must not end the process: a later heartbeat finds the job without a lease here and releases the job.
      log.error({ job: claimed.id, attempt: claimed.attempt, err: error }, 'this attempt could not be ended')
    }
    // An unwritten attempt keeps its lease: if released, the job would run again without counting the attempt.
    if (how !== 'unwritten' && how !== 'rejected') {
      this.leases.delete(attempt)
      this.#journal.free(place)
    }
    settled(claimed, delay)
    if (--this.#running > 0) return
    for (const told of this.#idlers.splice(0)) told()
  }

  #reportToBatch({ id, batch_id: batch }: ClaimedJob, end: AttemptEnd): void {
    if (batch === null) return
    if (end.state === 'succeeded' || end.state === 'skipped') this.#options.succeeded(batch)
    if (!('failure' in end) || end.failure === null) return
    const { code, message } = end.failure
    const cause = fingerprintOf(end.failure)
    this.#options.failed({ batch, id, cause, code, message: message.slice(0, mostMessage) })
  }

  #settle(claimed: ClaimedJob, end: AttemptEnd): Promise<WriteResult> | 'lease_lost' {
    if (end.state === 'lost') return 'lease_lost'
    if (end.state === 'handed_back') return this.#defer(claimed, end)
    return this.#outcomeWriter.settle({ id: claimed.id, attempt: claimed.attempt, outcome: end })
  }

  async #defer(
    { id, attempt, kind }: ClaimedJob,
    end: Extract<Outcome, { state: 'handed_back' }>,
  ): Promise<WriteResult> {
    if (end.trouble) await this.#recordProvider({ job: id, kind }, end.trouble)
    if (end.pause !== null) return this.#pause({ id, attempt }, end, end.pause)
    return this.#outcomeWriter.settle({ id, attempt, outcome: end })
  }

  /** Reports the trouble if the database is reachable; otherwise the next probe meets the same trouble. */
  async #recordProvider(asker: ProviderAsker, { provider, message }: Trouble): Promise<void> {
    const { db, clock, log } = this.#options
    await recordProviderWord(db, provider, asker, { how: 'silent', message }, clock.instant()).catch(error =>
      log.debug({ provider, err: error }, 'what a stopped provider was met with was not written'),
    )
  }

  /**
   * Pauses the batch before releasing the job, because another worker could claim the released job first. If this process crashes in
   * between, the job is recovered as an orphan of a paused batch.
   */
  async #pause(held: HeldAttempt, outcome: Outcome, pause: PauseReason): Promise<WriteResult> {
    const how = await this.#outcomeWriter.pause({ ...held, reason: JSON.stringify(pause) })
    return how === 'unwritten' ? how : this.#outcomeWriter.settle({ ...held, outcome })
  }

  /** The worker was declared dead: aborts every attempt with `lease_lost`. */
  end(): void {
    this.#deadlines.off()
    this.leases.loseAll()
    void this.idle().then(() => this.#journal.close())
    // The jobs may run elsewhere soon: the signal of every isolated attempt has aborted, and the child is killed 500 ms later.
    for (const each of this.leases) if (each.isAway) void each.killChild(lastWordMs)
  }

  /** Aborts every handler; resolves when each attempt has ended or was released. */
  async stop(): Promise<void> {
    for (const attempt of this.leases) {
      if (attempt.started) attempt.abort(new RetomaError('worker_stopping', { job: attempt.claimed.id }))
    }
    await this.leases
      .giveBack([...this.leases])
      .catch(error => this.#options.log.warn({ err: error }, 'claimed jobs were not handed back; the watchdog does'))
    await this.idle()
    this.#deadlines.off()
    this.#overrunning.forget()
    this.#journal.close()
  }

  /** Stops waiting for the database: unwritten outcomes are left to the watchdog. */
  giveUp(): void {
    this.#deadlines.off()
    this.#outcomeWriter.giveUp()
    this.#overrunning.forget()
  }

  /** Resolves when no attempt runs and no handler of an ended attempt is watched. */
  async over(): Promise<void> {
    await this.idle()
    await this.#overrunning.over()
  }

  /** Resolves when no attempt runs. */
  async idle(): Promise<void> {
    while (this.#running > 0) await new Promise<void>(resolve => void this.#idlers.push(resolve))
  }
}
