/**
 * Holds an incarnation of a worker: a worker id, a row in the database, the leases (leases.ts) and the attempt runner (attempt-runner.ts).
 * A worker declared dead ends the incarnation and starts another, so that writes of the old id cannot be mistaken for writes of the new id.
 *
 * Invariant: an incarnation that has ended starts no attempt, and its attempts write nothing that the database accepts.
 */

import type { ClaimedJob } from '../claiming/sql/claim.ts'
import type { Db } from '../database/db.ts'
import { RetomaError } from '../errors/errors.ts'
import { Attempt, type AttemptOptions } from '../execution/attempt.ts'
import type { CurrentJobTracker } from '../execution/current-job.ts'
import type { NestedCallCheck } from '../execution/nested-call-check.ts'
import type { LocalFileCopies } from '../files/local-file-copies.ts'
import type { ChildPool } from '../isolation/child-pool.ts'
import type { Isolator } from '../isolation/isolated-calls.ts'
import type { IsolationMode } from '../isolation/isolation-mode.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import type { Random } from '../lib/random.ts'
import { type InFlightJournal, openInFlightJournal } from '../supervisor/in-flight-journal.ts'
import type { Supervision } from '../supervisor/supervision.ts'
import type { AbandonedHandlers } from './abandoned-handlers.ts'
import type { AttemptTotals } from './attempt-metrics.ts'
import { AttemptRunner } from './attempt-runner.ts'
import { createAttemptStorages } from './attempt-storage.ts'
import type { ChildWaiters } from './child-waiters.ts'
import type { ClaimLoop } from './claim-loop.ts'
import type { HistoryCounter } from './history-counter.ts'
import { JobLogWriter } from './job-log-writer.ts'
import { Leases } from './leases.ts'
import type { MainLoopHeartbeat } from './main-loop-heartbeat.ts'
import { createOutcomeWriter, type OutcomeWriter } from './outcome-writer.ts'
import type { WorkerEvents } from './worker-events.ts'

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
  isolator: Isolator
  memoryBytes?: number | undefined
  /** The outcomes of all incarnations of the worker. */
  totals: AttemptTotals
  /** Counts the attempts of all incarnations by queue and minute. */
  history: HistoryCounter
  /** Keeps the log lines of handlers. */
  jobLogs: boolean
  claimLoop: ClaimLoop
  heartbeat: MainLoopHeartbeat
  abandonedHandlers: AbandonedHandlers
  childWaiters: ChildWaiters
  events: WorkerEvents
}

/** The time until a child is killed when its job may run elsewhere. */
const lastWordMs = 500

export class WorkerIncarnation {
  readonly id: string
  readonly #log: Log
  readonly #outcomeWriter: OutcomeWriter
  readonly #forAttempts: AttemptOptions
  readonly #journal: InFlightJournal
  readonly #logWriter: JobLogWriter
  readonly leases: Leases
  readonly runner: AttemptRunner

  constructor(options: WorkerIncarnationOptions) {
    const { id: worker, events } = options
    this.id = worker
    this.#log = options.log
    this.leases = new Leases(options)
    this.#journal = openInFlightJournal(options.supervision.reportFolder, worker)
    const outcomeWriter = createOutcomeWriter({ ...options, worker, events })
    this.#outcomeWriter = outcomeWriter
    const logWriter = new JobLogWriter({ ...options, outcomeWriter })
    this.#logWriter = logWriter
    this.runner = new AttemptRunner({
      ...options,
      leases: this.leases,
      outcomeWriter,
      logWriter,
      journal: this.#journal,
    })
    this.#forAttempts = {
      ...options,
      storages: createAttemptStorages({ ...options, worker, outcomeWriter }),
      host: this.runner,
      logs: options.jobLogs ? logWriter : undefined,
    }
  }

  /** The attempt of the running handler if exactly one handler runs. */
  get sole(): Attempt | undefined {
    if (this.runner.handling !== 1) return undefined
    for (const attempt of this.leases) if (attempt.running) return attempt
    return undefined
  }

  /** The first deadline, at the earliest. */
  get due(): number {
    return this.runner.deadlines.first
  }

  /**
   * The latest deadline of all handlers running in this process. If the event loop is still blocked then, every handler that could block
   * the loop has timed out. A handler that still runs after its attempt ended has already timed out, so counts as `now`. Undefined: no
   * handler runs.
   */
  allDue(now: number): number | undefined {
    const last = this.runner.deadlines.lastHere(now)
    return this.runner.overrunning.size > 0 ? Math.max(last ?? 0, now) : last
  }

  get writeLagMs(): number {
    return this.#outcomeWriter.writeLagMs
  }

  /** Discounts a blocked loop of `ms` milliseconds for all attempts except `suspectedJob`, if known. */
  discountBlockedTime(ms: number, suspectedJob: string | undefined): void {
    // A handler that runs alone has blocked the loop itself.
    if (this.runner.handling > 1) this.runner.deadlines.discountBlockedTime(ms, suspectedJob)
  }

  /** Discounts a pause of the whole process, which no attempt caused. */
  stopped(ms: number): void {
    this.runner.deadlines.discountBlockedTime(ms)
  }

  /**
   * Aborts isolated attempts: this worker cannot write heartbeats and will be declared dead. A handler in a child must not run beside the
   * next attempt elsewhere.
   */
  heartbeatsFailed(): void {
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

  /** The worker was declared dead: aborts every attempt with `lease_lost`. */
  end(): void {
    this.runner.deadlines.off()
    this.leases.loseAll()
    void this.runner.idle().then(() => {
      this.#journal.close()
      this.#logWriter.stop()
    })
    // The jobs may run elsewhere soon: the signal of every isolated attempt has aborted, and the child is killed 500 ms later.
    for (const each of this.leases) if (each.isAway) void each.killChild(lastWordMs)
  }

  /** Aborts every handler; resolves when each attempt has ended or was released. */
  async stop(): Promise<void> {
    for (const attempt of this.leases) {
      if (attempt.started) attempt.abort(new RetomaError('worker_stopping', { job: attempt.claimed.id }))
    }
    await this.leases
      .release([...this.leases])
      .catch(error => this.#log.warn({ err: error }, 'cannot release claimed jobs; the watchdog recovers them'))
    await this.runner.idle()
    this.runner.deadlines.off()
    this.runner.overrunning.forget()
    this.#journal.close()
    this.#logWriter.stop()
  }

  /** Stops waiting for the database: unwritten outcomes are left to the watchdog. */
  giveUp(): void {
    this.runner.deadlines.off()
    this.#outcomeWriter.giveUp()
    this.#logWriter.stop()
    this.runner.overrunning.forget()
  }

  /** Resolves when no attempt runs and no handler of an ended attempt is watched. */
  async over(): Promise<void> {
    await this.runner.idle()
    await this.runner.overrunning.over()
  }
}
