/**
 * Runs the workers of this process and exchanges hints with other processes. Code that creates, moves or blocks jobs notifies the
 * worker pool; the pool wakes the local workers at once and the workers of other processes by a hint.
 *
 * Invariant: after stop() nothing of the pool runs. Every wait is bounded, so that an unresponsive database cannot keep a process
 * from ending.
 */

import type { BatchCompletion, FailedItem } from '../batches/batch-completion-checks.ts'
import { type MovedBatch, resumeBatches } from '../batches/sql/provider-pauses.ts'
import { anew, doors, leaseEnds, listen, type WakeHints, type WakeListener } from '../claiming/sql/wake-up.ts'
import type { Db } from '../database/db.ts'
import type { KindRegistry } from '../enqueue/kind-registry.ts'
import { suggestion } from '../errors/did-you-mean.ts'
import type { CurrentJobTracker } from '../execution/current-job.ts'
import type { NestedCallCheck } from '../execution/nested-call-check.ts'
import { notifyQueue } from '../incidents/model/notice.ts'
import type { Notify } from '../incidents/notice-job.ts'
import type { IsolationMode } from '../isolation/isolation-mode.ts'
import type { SettleListeners } from '../jobs/settle-listeners.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { systemRandom } from '../lib/random.ts'
import { seconds } from '../lib/values/duration.ts'
import { withDeadline } from '../lib/with-deadline.ts'
import { recallJobs } from '../providers/sql/clear-provider.ts'
import type { Supervision } from '../supervisor/supervision.ts'
import { recordCrashes } from '../supervisor/suspected-job-recorder.ts'
import { version } from '../version.ts'
import { type RunUntilEmptyOptions, type RunUntilEmptyResult, runUntilEmpty } from './run-until-empty.ts'
import { checkQueues, heartbeatSettings, type WorkOptions } from './work-options.ts'
import { stopOnSignals } from './work-signals.ts'
import { Worker } from './worker.ts'
import type { WorkerEvents } from './worker-events.ts'

/** A running worker; `await using worker = await engine.work()` stops it at the end of the block. */
export interface WorkerHandle extends AsyncDisposable {
  readonly id: string
  /**
   * Resolves when the worker has stopped because too many abandoned handlers still run; another process should replace this
   * process.
   */
  readonly restartNeeded: Promise<void>
  /** Stops claims, waits for running handlers for the stop grace, and releases the rest. */
  stop(): Promise<void>
}

const defaultConcurrency = 10
const pollMs = 5000
/** Notices that are posted at the same time. */
const notices = 10
const deliverMs = 12_000
/** A call waits this long for the end of its listener. */
const disconnectMs = 1000

export interface WorkerPoolOptions {
  db: Db
  clock: Clock
  log: Log
  registry: KindRegistry
  settleListeners: SettleListeners
  completion: BatchCompletion
  supervision: Supervision
  isolationMode: IsolationMode
  currentJob: CurrentJobTracker
  nestedCalls: NestedCallCheck
  /** Keeps the log lines of handlers. */
  jobLogs: boolean
  /** Undefined: no notices are sent. */
  notify: Notify | undefined
  /** Identifies this engine in the hints it sends. */
  sender: string
  /** Notifies the workers of other processes. */
  wakeHints: WakeHints
  /** The cached credentials of this process. */
  credentials: { recheck(): void }
  /** Closes the engine. */
  close: () => Promise<void>
}

export class WorkerPool implements WorkerEvents {
  readonly #given: WorkerPoolOptions
  readonly #workers = new Set<Worker>()
  #listener: WakeListener | undefined
  /** The callers of `runUntilEmpty`, and the pool itself once this process listens until stop(). */
  readonly #listening = new Set<object>()
  /** Listeners that end. */
  readonly #ending = new Set<Promise<void>>()
  #stopRecording: (() => void) | undefined

  constructor(given: WorkerPoolOptions) {
    this.#given = given
  }

  async work(options: WorkOptions): Promise<WorkerHandle> {
    const { supervision, currentJob } = this.#given
    const { reportFolder } = supervision
    if (reportFolder !== undefined)
      this.#stopRecording ??= recordCrashes({ reportFolder, current: () => currentJob.current })
    const worker = await this.begin(options, 'loops')
    this.#warnIfIdle(worker)
    this.listen()
    if (options.signals) stopOnSignals(worker, this.#given.close, this.#given.log)
    const stop = () => worker.stop()
    return {
      get id() {
        return worker.id
      },
      restartNeeded: worker.restartNeeded,
      stop,
      [Symbol.asyncDispose]: stop,
    }
  }

  async begin(options: WorkOptions, mode: 'loops' | 'by hand'): Promise<Worker> {
    const { queues, grace = seconds(5) } = options
    const { db, clock, log, registry, notify } = this.#given
    const { supervision, isolationMode, currentJob, nestedCalls, jobLogs } = this.#given
    const { jobs } = registry
    const all = Object.fromEntries(Array.from(registry.queues, queue => [queue, defaultConcurrency]))
    const worker = await Worker.begin(
      {
        db,
        clock,
        log,
        random: systemRandom,
        version,
        jobs,
        queues: { ...(notify === undefined ? {} : { [notifyQueue]: notices }), ...checkQueues(queues ?? all) },
        graceMs: grace,
        pollMs,
        supervision,
        isolationMode,
        currentJob,
        nestedCalls,
        jobLogs,
        events: this,
        // No heartbeat thread on a virtual clock.
        thread: clock.instant() === null ? heartbeatSettings(options, db, registry, supervision.place.of) : undefined,
      },
      mode,
    )
    this.#workers.add(worker)
    void worker.stopped.then(() => this.#workers.delete(worker))
    return worker
  }

  /** Runs ready jobs until none is left or the time is up. Receives the hints of other processes meanwhile, so that a cancel aborts a handler. */
  async runUntilEmpty(options: RunUntilEmptyOptions): Promise<RunUntilEmptyResult> {
    const user = {}
    const begin = async (ofWork: WorkOptions) => {
      const worker = await this.begin(ofWork, 'loops')
      this.listen(user)
      return worker
    }
    try {
      return await runUntilEmpty({ ...this.#given, begin }, options)
    } finally {
      await this.#stopListening(user)
    }
  }

  /** Warns at start: an idle worker without any kind to run looks the same as a worker that waits for jobs. */
  #warnIfIdle(worker: Worker): void {
    const { registry, log } = this.#given
    const home = registry.queues
    const facts = { worker: worker.id, kinds: [...registry.jobs.keys()] }
    if (worker.queues.length === 0)
      log.warn(
        facts,
        'this worker serves no queue and will run nothing: give createEngine its jobs before work(), or work({ queues }) a queue',
      )
    for (const queue of worker.queues.filter(each => !home.has(each))) {
      const hint = suggestion(queue, [...home]).en
      log.warn(
        { ...facts, queue },
        `this worker serves queue "${queue}", but no kind of this engine is in it: only an enqueue with this queue puts jobs there${hint}`,
      )
    }
  }

  /** Receives the hints of other processes while at least one user listens. Without a `user`: until stop(). */
  listen(user: object = this): void {
    this.#listening.add(user)
    this.#listener ??= listen({
      ...this.#given,
      woken: (queue, delayMs, held) => {
        // A wake without a queue also follows each connect, because any hint may have been missed.
        if (queue === undefined) this.#given.credentials.recheck()
        if (held === doors) return
        if (queue === undefined)
          for (const worker of this.#workers) for (const each of worker.queues) worker.claimsUnblocked(each)
        if (queue !== undefined && held === anew) this.claimsUnblocked(queue)
        else if (queue !== undefined && held === leaseEnds) this.leasesEnded(queue)
        else if (queue !== undefined && held !== undefined) this.returnUnstarted(queue, held)
        else this.#wake(queue, delayMs)
      },
    })
  }

  async #stopListening(user: object): Promise<void> {
    if (!this.#listening.delete(user) || this.#listening.size > 0) return
    const ended = this.#listener!.stop()
    this.#listener = undefined
    this.#ending.add(ended)
    void ended.finally(() => this.#ending.delete(ended))
    // A connection under way may take seconds; its end is no part of the call.
    await withDeadline(ended, disconnectMs, () => new Error('the listener still connects')).catch(() => {})
  }

  /** Wakes workers of `queue`, or all workers, now or after `delayMs`. Answers whether a slot is free. */
  #wake(queue?: string, delayMs = 0): boolean {
    return Array.from(this.#workers, worker => worker.wake(queue, delayMs)).includes(true)
  }

  claimed(queue: string, jobId: string): void {
    this.#given.wakeHints.claimed(queue, jobId)
  }

  settled(jobId: string): void {
    this.#given.settleListeners.settled(jobId)
  }

  released(queue: string, delayMs: number): void {
    this.wake(queue, delayMs)
  }

  batchTouched(batchId: string): void {
    this.#given.completion.touched(batchId)
  }

  attemptFailed(failed: FailedItem): void {
    this.#given.completion.failed(failed)
  }

  attemptSucceeded(batchId: string): void {
    this.#given.completion.answered(batchId)
  }

  /** A job of the batch asked for the pause, or the failure streak became too long. */
  batchPaused({ id, queue }: MovedBatch): void {
    const { wakeHints, settleListeners, log } = this.#given
    this.returnUnstarted(queue, id)
    wakeHints.claimsBlocked(queue, id)
    settleListeners.settled(id)
    log.warn({ batch: id, queue }, 'a job paused its batch')
  }

  /** Resumes the batches and jobs that waited for a provider that answers again. */
  async providerAnswered(): Promise<void> {
    const { db, clock, completion, settleListeners, wakeHints, log } = this.#given
    const moved = await resumeBatches(db, clock.instant())
    for (const { id, queue } of moved) {
      this.claimsUnblocked(queue)
      wakeHints.claimsUnblocked(queue)
      settleListeners.settled(id)
      log.info({ batch: id }, 'the provider answers again; the batch resumes')
    }
    if (moved.length > 0) await completion.check(moved.map(each => each.id))
    for (const queue of await recallJobs(db, clock.instant())) this.wake(queue)
  }

  /** Returns claimed jobs of the batch that have not started here. */
  returnUnstarted(queue: string, batch: string): void {
    for (const worker of this.#workers) void worker.returnUnstarted(queue, batch)
  }

  /** Claims of the queue are no longer blocked. */
  claimsUnblocked(queue: string): void {
    for (const worker of this.#workers) if (worker.queues.includes(queue)) worker.claimsUnblocked(queue)
  }

  /** Running jobs of the queue were cancelled or skipped: the workers of this process abort the attempts without a lease. */
  leasesEnded(queue: string): void {
    for (const worker of this.#workers) if (worker.queues.includes(queue)) worker.checkLeases()
  }

  /** Wakes workers here and in other processes: the queue has work, now or after `delayMs`, perhaps only `job`. */
  readonly wake = (queue: string, delayMs = 0, job?: string): void => {
    const taken = this.#wake(queue, delayMs)
    this.#given.wakeHints.hint(queue, delayMs, taken, job)
  }

  /** The longest time in seconds since a worker of this process could last claim; null: this process has no worker. */
  claimLag(): number | null {
    const lags = Array.from(this.#workers, worker => worker.unaskedMs).filter(ms => ms !== undefined)
    return lags.length === 0 ? null : Math.max(...lags) / 1000
  }

  /** Resolves once every worker of this process has claimed without an error, or has stopped. */
  async firstClaim(): Promise<void> {
    await Promise.all(Array.from(this.#workers, worker => Promise.race([worker.firstClaim, worker.stopped])))
  }

  get isEmpty(): boolean {
    return this.#workers.size === 0
  }

  /**
   * Sends the ready notices once, in this process. The time limit is shorter than the time after which a worker is declared dead,
   * because this worker sends no heartbeat; unfinished notices are released.
   */
  async deliver(): Promise<void> {
    const { clock } = this.#given
    const worker = await this.begin({ queues: { [notifyQueue]: notices } }, 'by hand')
    const over = new AbortController()
    try {
      await Promise.race([worker.drain(), clock.sleep(deliverMs, over.signal)])
    } finally {
      over.abort()
      await worker.stop()
    }
  }

  async stop(): Promise<void> {
    const workers = Array.from(this.#workers, worker => worker.stop())
    await Promise.all([...workers, this.#listener?.stop(), ...this.#ending])
    this.#stopRecording?.()
  }
}
