/**
 * Runs the attempts of an incarnation. `run` is the whole way of an attempt: start, run the handler, judge the outcome, write the outcome,
 * report. The claim loop calls `run` for every claimed job.
 *
 * Invariant: every attempt started here ends here, and is settled before the lease is dropped: written, lease lost, or left to the
 * watchdog. Every attempt frees its slot once, also after an error in this file: a slot that stays occupied would never run a job again.
 */

import type { ClaimedJob } from '../claiming/sql/claim.ts'
import type { Db } from '../database/db.ts'
import type { Attempt, AttemptHost } from '../execution/attempt.ts'
import type { AttemptEnd } from '../execution/attempt-outcome.ts'
import { Deadlines } from '../execution/attempt-timeouts.ts'
import type { WriteResult } from '../execution/model/write-result.ts'
import { OverrunningAttempts } from '../execution/overrunning-attempts.ts'
import type { LocalFileCopies } from '../files/local-file-copies.ts'
import type { PauseReason } from '../jobs/model/deferral.ts'
import { fingerprintOf } from '../jobs/model/error-fingerprint.ts'
import type { Outcome, Trouble } from '../jobs/model/outcome.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { type ProviderAsker, recordProviderWord } from '../providers/sql/provider-state.ts'
import type { InFlightJournal } from '../supervisor/in-flight-journal.ts'
import type { AbandonedHandlers } from './abandoned-handlers.ts'
import { AttemptMetrics, type AttemptTotals } from './attempt-metrics.ts'
import type { ChildWaiters } from './child-waiters.ts'
import type { HistoryCounter } from './history-counter.ts'
import type { JobLogWriter } from './job-log-writer.ts'
import type { Leases } from './leases.ts'
import type { MainLoopHeartbeat } from './main-loop-heartbeat.ts'
import type { OutcomeWriter } from './outcome-writer.ts'
import type { HeldAttempt } from './sql/lease-heartbeat.ts'
import type { WorkerEvents } from './worker-events.ts'

export interface AttemptRunnerOptions {
  /** The worker id. */
  id: string
  db: Db
  clock: Clock
  log: Log
  leases: Leases
  outcomeWriter: OutcomeWriter
  /** Stores the log lines of attempts. */
  logWriter: JobLogWriter
  /** The in-flight journal, read after a crash of this process. */
  journal: InFlightJournal
  fileCopies: LocalFileCopies
  heartbeat: MainLoopHeartbeat
  abandonedHandlers: AbandonedHandlers
  childWaiters: ChildWaiters
  /** The outcomes of all incarnations of the worker. */
  totals: AttemptTotals
  /** Counts the attempts of all incarnations by queue and minute. */
  history: HistoryCounter
  events: WorkerEvents
}

export interface AttemptResult {
  /** Undefined: an error in this file; see the log. */
  outcome: AttemptEnd | undefined
  written: WriteResult | undefined
  /** The job waits again and is ready after `delay` milliseconds; undefined: the job does not wait. */
  delay: number | undefined
}

/** The slot that a handler occupies. */
export interface HandlerSlot {
  /** The handler has ended: the slot is free after `restMs`. `ms` is the duration; undefined: the duration says nothing about the kind. */
  handlerEnded(claimed: ClaimedJob, ms: number | undefined, restMs: number): void
}

/** The slot of a deferred job stays closed until the deferral is over, at most 1 s. */
const longestRestMs = 1000
/** The length of a failure message kept with the batch. */
const mostMessage = 500

export class AttemptRunner implements AttemptHost {
  readonly #options: AttemptRunnerOptions
  readonly deadlines: Deadlines
  readonly overrunning = new OverrunningAttempts()
  /** Counts the outcomes of the attempts. */
  readonly metrics: AttemptMetrics
  #running = 0
  #handling = 0
  #unsettled = 0
  /** Callbacks for the moment when no attempt runs. */
  #idlers: (() => void)[] = []

  constructor(options: AttemptRunnerOptions) {
    this.#options = options
    this.metrics = new AttemptMetrics(options.totals)
    this.deadlines = new Deadlines({ clock: options.clock, attempts: options.leases, host: this })
  }

  /** Attempts with an ended handler and an outcome under way. */
  get unsettled(): number {
    return this.#unsettled
  }

  /** The number of running handlers, without overrunning handlers of ended attempts. */
  get handling(): number {
    return this.#handling
  }

  /**
   * Runs an attempt that has a lease. The first synchronous part of the handler runs before this method returns. Never rejects. `trackAsync`:
   * the async context of the handler is tracked after the first `await` too.
   */
  async run(attempt: Attempt, trackAsync: boolean, slot: HandlerSlot): Promise<AttemptResult> {
    const { claimed } = attempt
    const { clock, heartbeat, log } = this.#options
    const result: AttemptResult = { outcome: undefined, written: undefined, delay: undefined }
    let entry: number | undefined
    this.#running++
    this.#handling++
    try {
      entry = this.#start(attempt)
      const startedAt = clock.elapsed()
      const ended = await attempt.run(trackAsync || heartbeat.trackAll)
      const outcome = attempt.judge(ended)
      const ms = clock.elapsed() - startedAt
      result.outcome = outcome
      this.#freeSlot(attempt, outcome, ms, slot)
      if (attempt.lines !== undefined) await this.#options.logWriter.end(attempt.lines)
      const written = await this.#write(claimed, outcome)
      result.written = written
      result.delay = written === 'written' ? delayOf(outcome) : undefined
      this.#count(attempt, outcome, written, ms)
      this.#reportOutcome(claimed, outcome, written)
    } catch (error) {
      // A bug here must not end the process: a later heartbeat finds the job without a lease here and releases the job.
      log.error({ job: claimed.id, attempt: claimed.attempt, err: error }, 'cannot end an attempt')
    } finally {
      if (result.outcome === undefined) {
        this.#handling--
        slot.handlerEnded(claimed, undefined, 0)
      }
    }
    this.#end(attempt, entry, result)
    return result
  }

  /** Resolves when no attempt runs. */
  async idle(): Promise<void> {
    while (this.#running > 0) await new Promise<void>(resolve => void this.#idlers.push(resolve))
  }

  /** Called before attempts time out. */
  checkLoop(): void {
    this.#options.heartbeat.turn()
  }

  resumed(attempt: Attempt): void {
    this.deadlines.watch(attempt)
  }

  abandoned(more: 1 | -1): void {
    this.#options.abandonedHandlers.count(more)
  }

  /** Returns the line of the attempt in the in-flight journal. */
  #start(attempt: Attempt): number {
    const entry = this.#options.journal.note(attempt.name)
    // Set the deadline before the handler begins: the first synchronous part may block the loop forever, and the heartbeat thread must know
    // the deadline by then.
    attempt.allow()
    this.deadlines.watch(attempt)
    this.#options.heartbeat.started(attempt)
    const { databaseNow, claimed } = attempt
    this.#options.history.started(claimed.queue, databaseNow, databaseNow - utcMs(claimed.run_at))
    return entry
  }

  /** Frees the slot of the handler while the outcome is being written. */
  #freeSlot(attempt: Attempt, outcome: AttemptEnd, ms: number, slot: HandlerSlot): void {
    const { claimed } = attempt
    this.#handling--
    // Count the outcome before the slot is free: a job that must run alone waits for outcomes too.
    this.#unsettled++
    void this.#options.fileCopies.drop(attempt.name)
    const isDeferred = outcome.state === 'deferred'
    // A deferred attempt says nothing about the duration of its kind.
    const took = isDeferred ? undefined : ms
    // The next jobs would most likely be deferred too, so the slot pauses for as long as this job waits.
    const rest = isDeferred && !outcome.forChild ? Math.min(outcome.delay, longestRestMs) : 0
    if (attempt.isOverrunning) void this.overrunning.outlive(attempt).then(() => slot.handlerEnded(claimed, took, rest))
    else slot.handlerEnded(claimed, took, rest)
  }

  #write({ id, attempt, kind, batch_id: batch }: ClaimedJob, outcome: AttemptEnd): Promise<WriteResult> | 'lease_lost' {
    if (outcome.state === 'lost') return 'lease_lost'
    if (outcome.state === 'deferred') return this.#defer({ id, attempt }, { job: id, kind, batch }, outcome)
    return this.#options.outcomeWriter.settle({ id, attempt, outcome })
  }

  async #defer(
    held: HeldAttempt,
    asker: ProviderAsker,
    outcome: Extract<Outcome, { state: 'deferred' }>,
  ): Promise<WriteResult> {
    if (outcome.trouble) await this.#recordProvider(asker, outcome.trouble)
    if (outcome.pause !== null) return this.#pause(held, outcome, outcome.pause)
    return this.#options.outcomeWriter.settle({ ...held, outcome })
  }

  /** Reports the trouble if the database is reachable; otherwise the next probe meets the same trouble. */
  async #recordProvider(asker: ProviderAsker, { provider, message }: Trouble): Promise<void> {
    const { db, clock, log } = this.#options
    await recordProviderWord(db, provider, asker, { how: 'silent', message }, clock.instant()).catch(error =>
      log.debug({ provider, err: error }, 'cannot write the result of a probe'),
    )
  }

  /**
   * Pauses the batch before releasing the job, because another worker could claim the released job first. If this process crashes in
   * between, the job is recovered as an orphan of a paused batch.
   */
  async #pause(held: HeldAttempt, outcome: Outcome, pause: PauseReason): Promise<WriteResult> {
    const { outcomeWriter } = this.#options
    const how = await outcomeWriter.pause({ ...held, reason: JSON.stringify(pause) })
    return how === 'unwritten' ? how : outcomeWriter.settle({ ...held, outcome })
  }

  #count({ claimed, databaseNow }: Attempt, outcome: AttemptEnd, written: WriteResult, ms: number): void {
    if (written === 'written') {
      this.metrics.ended(claimed, outcome, ms)
      this.#options.history.ended(claimed.queue, databaseNow, outcome, ms)
    }
    if (written === 'lease_lost') this.metrics.ended(claimed, { state: 'lost' }, ms)
  }

  #reportOutcome(claimed: ClaimedJob, outcome: AttemptEnd, written: WriteResult): void {
    const { childWaiters, log, id: worker } = this.#options
    const { id: job, kind, attempt } = claimed
    if (written === 'lease_lost')
      log.warn(
        { job, kind, attempt, code: 'lease_lost', worker },
        'lease lost; the database rejected the outcome of this attempt',
      )
    if (written !== 'written') return
    this.#reportToBatch(claimed, outcome)
    if (outcome.state === 'deferred' && outcome.forChild !== undefined) childWaiters.add(claimed, outcome.forChild)
  }

  #reportToBatch({ id, batch_id: batch }: ClaimedJob, outcome: AttemptEnd): void {
    const { events } = this.#options
    if (batch === null) return
    if (outcome.state === 'succeeded' || outcome.state === 'skipped') events.attemptSucceeded(batch)
    if (!('failure' in outcome) || outcome.failure === null) return
    const { code, message } = outcome.failure
    const cause = fingerprintOf(outcome.failure)
    events.attemptFailed({ batch, id, cause, code, message: message.slice(0, mostMessage) })
  }

  /** Drops the lease, and reports the end of the attempt. */
  #end(attempt: Attempt, entry: number | undefined, { outcome, written, delay }: AttemptResult): void {
    const { leases, journal, events } = this.#options
    const { id, batch_id: batch } = attempt.claimed
    if (outcome !== undefined) this.#unsettled--
    // An unwritten attempt keeps its lease: if released, the job would run again without counting the attempt.
    if (written !== 'unwritten' && written !== 'rejected') {
      leases.delete(attempt)
      if (entry !== undefined) journal.free(entry)
    }
    events.settled(id)
    if (delay === undefined && batch !== null) events.batchTouched(batch)
    if (--this.#running > 0) return
    for (const resolve of this.#idlers.splice(0)) resolve()
  }
}

/** An instant as PostgreSQL prints a timestamp, in milliseconds. */
const utcMs = (text: string): number => Date.parse(`${text.slice(0, 10)}T${text.slice(11)}Z`)

function delayOf(outcome: AttemptEnd): number | undefined {
  if (outcome.state === 'released') return 0
  return outcome.state === 'waiting' || outcome.state === 'deferred' ? outcome.delay : undefined
}
