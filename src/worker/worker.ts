/**
 * Runs a worker: a row in the database with heartbeats (main-loop-heartbeat.ts), and the jobs of the worker's queues. claim-loop.ts claims jobs
 * of the kinds with a handler here; attempt-runner.ts runs the attempts; graceful-shutdown.ts stops the worker. A worker declared dead
 * starts a new incarnation with a new worker id.
 *
 * Invariant: a worker claims nothing under a worker id before the row of this id exists and is alive; the claim would create an orphan at
 * once. No attempt starts after `stop()`.
 */
import { hostname } from 'node:os'
import { claimJobs } from '../claiming/sql/claim.ts'
import type { Db } from '../database/db.ts'
import type { CurrentJobTracker } from '../execution/current-job.ts'
import type { NestedCallCheck } from '../execution/nested-call-check.ts'
import { LocalFileCopies, removeLeftoverCopies } from '../files/local-file-copies.ts'
import { ChildPool } from '../isolation/child-pool.ts'
import { checkHandlers } from '../isolation/handler-module.ts'
import { IsolatedCalls } from '../isolation/isolated-calls.ts'
import type { IsolationMode } from '../isolation/isolation-mode.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import { type ClaimableKinds, claimableKindsOf } from '../jobs/model/kind-version.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { identityOf, thisProcess } from '../lib/process/process-identity.ts'
import { type Random, randomName } from '../lib/random.ts'
import { temporaryFolder } from '../lib/temporary-folder.ts'
import type { Supervision } from '../supervisor/supervision.ts'
import { AbandonedHandlers } from './abandoned-handlers.ts'
import { noAttempts } from './attempt-metrics.ts'
import { ChildWaiters } from './child-waiters.ts'
import { ClaimLoop, type IdleQueues } from './claim-loop.ts'
import { shutDown } from './graceful-shutdown.ts'
import { HistoryCounter } from './history-counter.ts'
import { WorkerIncarnation } from './incarnation.ts'
import { type HeartbeatSettings, MainLoopHeartbeat, type MonitoredWorker } from './main-loop-heartbeat.ts'
import { MetricsFlusher } from './metrics-flusher.ts'
import { registerWorker, type WorkerProcess } from './sql/lease-heartbeat.ts'
import { settleJobs } from './sql/settle.ts'
import type { WorkerEvents } from './worker-events.ts'

export interface WorkerOptions {
  db: Db
  clock: Clock
  log: Log
  random: Random
  version: string
  jobs: ReadonlyMap<string, AnyJob>
  /** Queue name to the number of jobs of this queue that run at once in this worker. */
  queues: Readonly<Record<string, number>>
  graceMs: number
  pollMs: number
  supervision: Supervision
  isolationMode: IsolationMode
  currentJob: CurrentJobTracker
  nestedCalls: NestedCallCheck
  /** Keeps the log lines of handlers. */
  jobLogs: boolean
  events: WorkerEvents
  /** Undefined: the main loop writes the heartbeats, as with the virtual clock. */
  thread?: HeartbeatSettings | undefined
}

/** Undefined: no other process could find out later whether this process has ended. */
function workerProcess({ reportFolder }: Supervision): WorkerProcess | undefined {
  const self = thisProcess()
  if (self === undefined || reportFolder === undefined) return self && { ...self, supervisor: null }
  const supervisor = identityOf(process.ppid)
  return supervisor && { ...self, supervisor }
}

export class Worker implements MonitoredWorker {
  readonly #options: WorkerOptions
  readonly #takes: Required<ClaimableKinds>
  readonly #claimLoop: ClaimLoop
  readonly #childPool: ChildPool
  readonly #fileCopies = new LocalFileCopies(temporaryFolder())
  readonly #calls: IsolatedCalls
  readonly #childWaiters: ChildWaiters
  #incarnation: WorkerIncarnation
  /** The current incarnation, and incarnations declared dead with a handler still running. */
  readonly #incarnations = new Set<WorkerIncarnation>()
  readonly #heartbeat: MainLoopHeartbeat
  readonly #abandonedHandlers: AbandonedHandlers
  readonly #metricsFlusher: MetricsFlusher
  readonly #history: HistoryCounter
  #stopping: Promise<void> | undefined
  #ended: () => void = () => {}
  /** Resolves when the worker has stopped, for any reason. */
  readonly stopped = new Promise<void>(resolve => {
    this.#ended = resolve
  })
  /** The outcomes of the attempts of this worker. */
  readonly totals = noAttempts()

  /** Resolves once the worker row exists, so that the first claim never creates an orphan. */
  static async begin(options: WorkerOptions, mode: 'loops' | 'by hand' = 'loops'): Promise<Worker> {
    await checkHandlers(options.jobs.values())
    const worker = new Worker(options)
    const registered = worker.#register(worker.id)
    if (mode === 'loops') worker.#prepare()
    await registered
    worker.#tidy()
    if (mode === 'loops') worker.#startLoops()
    return worker
  }

  private constructor(options: WorkerOptions) {
    this.#options = options
    this.#takes = claimableKindsOf(options.jobs)
    this.#childPool = new ChildPool(options.log)
    this.#calls = new IsolatedCalls(this.#childPool, options.isolationMode, (calls, line) =>
      this.#childWaiters.recall(calls, line),
    )
    const slots = Object.values(options.queues).reduce((sum, size) => sum + size, 0)
    this.#abandonedHandlers = new AbandonedHandlers({
      log: options.log,
      supervision: options.supervision,
      slots,
      worker: this,
    })
    this.#history = new HistoryCounter(options)
    this.#metricsFlusher = new MetricsFlusher({
      ...options,
      history: this.#history,
      incarnation: () => this.#incarnation,
    })
    this.#heartbeat = new MainLoopHeartbeat({
      ...options,
      thread: options.thread,
      queues: Object.keys(options.queues),
      metricsFlusher: this.#metricsFlusher,
      worker: this,
    })
    this.#claimLoop = new ClaimLoop({ ...options, takes: this.#takes, heartbeat: this.#heartbeat })
    this.#childWaiters = new ChildWaiters({ ...options, isolatedCalls: this.#calls, claimLoop: this.#claimLoop })
    this.#incarnation = this.#newIncarnation()
    this.#begin(this.#incarnation)
  }

  get id(): string {
    return this.#incarnation.id
  }

  /** Resolves when abandoned handlers took half of the slots and the worker has stopped for another worker to take over. */
  get restartNeeded(): Promise<void> {
    return this.#abandonedHandlers.out
  }

  get queues(): readonly string[] {
    return this.#claimLoop.queues
  }

  /** The number of further jobs of this queue that could start now. */
  free(queue: string): number {
    return this.#claimLoop.free(queue)
  }

  /** The number of abandoned handlers that still run. */
  get abandoned(): number {
    return this.#abandonedHandlers.abandoned
  }

  /** Resolves after the first claim without an error; never without a claim loop. */
  get firstClaim(): Promise<void> {
    return this.#claimLoop.firstClaim
  }

  /** Milliseconds since the worker last claimed or had no free slot; undefined: the worker has no claim loop. */
  get unaskedMs(): number | undefined {
    return this.#claimLoop.unaskedMs
  }

  /**
   * Reports possible work: in `queue` or in any queue, now or after `delayMs`. Returns true if the worker has a free slot for the queue.
   */
  wake(queue?: string, delayMs = 0): boolean {
    return this.#claimLoop.wake(queue, delayMs)
  }

  /** Jobs of this queue with blocked claims, skipped by earlier claims, may be claimable again. */
  claimsUnblocked(queue: string): void {
    this.#claimLoop.claimsUnblocked(queue)
  }

  /** Releases the claimed, unstarted jobs of this batch. No further job of the batch may start. */
  async returnUnstarted(queue: string, batch: string): Promise<void> {
    await this.#claimLoop.returnUnstarted(queue, batch)
  }

  /** Asks the database at once, and not at the next heartbeat, which attempts have lost their lease; the handlers of these attempts abort. */
  checkLeases(): void {
    this.#heartbeat.wake()
  }

  /** Writes heartbeats with the virtual clock too: time advanced by a test must not look like a silent worker. */
  writeHeartbeat(): void {
    this.#heartbeat.start()
  }

  /** Resolves once no job can start and no attempt runs. */
  untilEmpty(): Promise<IdleQueues> {
    return this.#claimLoop.untilEmpty()
  }

  /** Claims and runs jobs until none is ready; for tests, which own the clock. */
  drain(): Promise<number> {
    return this.#claimLoop.drain()
  }

  /**
   * Shuts the worker down gracefully, within the stop grace plus 3 s, even if the database does not answer. Safe to call twice.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#shutDown().finally(this.#ended)
    return this.#stopping
  }

  #shutDown(): Promise<void> {
    return shutDown({
      ...this.#options,
      worker: this,
      claimLoop: this.#claimLoop,
      incarnations: this.#incarnations,
      heartbeat: this.#heartbeat,
      metricsFlusher: this.#metricsFlusher,
      isolatedCalls: this.#calls,
      childPool: this.#childPool,
      fileCopies: this.#fileCopies,
    })
  }

  #newIncarnation(): WorkerIncarnation {
    return new WorkerIncarnation({
      ...this.#options,
      id: randomName('w'),
      totals: this.totals,
      history: this.#history,
      childPool: this.#childPool,
      fileCopies: this.#fileCopies,
      isolator: this.#calls,
      memoryBytes: this.#options.thread?.memoryBytes,
      claimLoop: this.#claimLoop,
      heartbeat: this.#heartbeat,
      abandonedHandlers: this.#abandonedHandlers,
      childWaiters: this.#childWaiters,
    })
  }

  #begin(incarnation: WorkerIncarnation): void {
    this.#incarnation = incarnation
    this.#incarnations.add(incarnation)
    this.#heartbeat.live(incarnation)
    this.#claimLoop.claimFor(incarnation)
  }

  /**
   * Sends the claim and settle statements with no jobs while the worker row is being written. PostgreSQL opens connections and plans the
   * statements meanwhile, so that the first jobs do not wait. Errors are only logged: the first real statement reports the same problem.
   */
  #prepare(): void {
    const { db, clock, log } = this.#options
    const claimed = claimJobs(db, { wants: [], worker: this.id, ...this.#takes }, clock.instant())
    const settled = settleJobs(db, this.id, [], clock.instant())
    for (const each of [claimed, settled]) each.catch(error => log.debug({ err: error }, 'cannot prepare statements'))
  }

  /** Runs in the background; no caller awaits the result. */
  #tidy(): void {
    const { log } = this.#options
    removeLeftoverCopies(temporaryFolder()).catch(error => log.debug({ err: error }, 'cannot remove local file copies'))
  }

  async #register(id: string): Promise<void> {
    const { db, version, queues, clock, jobs, supervision } = this.#options
    const { versions } = this.#takes
    const facts = { id, host: hostname(), pid: process.pid, version, queues, kinds: [...jobs.keys()], versions }
    await registerWorker(db, { ...facts, process: workerProcess(supervision) }, clock.instant())
  }

  #startLoops(): void {
    const { log, queues, jobs } = this.#options
    // Start the heartbeat thread first: the first job may block the loop.
    this.#heartbeat.start()
    this.#claimLoop.start()
    log.info({ worker: this.id, queues, kinds: [...jobs.keys()] }, 'worker ready')
  }

  /** Starts a new incarnation after `dead` was declared dead. */
  async startOver(dead: WorkerIncarnation): Promise<void> {
    const attempts = dead.leases.held.length
    this.#claimLoop.suspend()
    this.#options.log.error(
      { worker: dead.id, attempts },
      'this worker was declared dead (paused too long?); it starts a new incarnation',
    )
    dead.end()
    void dead.over().then(() => this.#incarnations.delete(dead))
    const next = this.#newIncarnation()
    await this.#register(next.id).catch(error => {
      // The incarnation has its own in-flight journal, and would leave a file behind at each try.
      next.end()
      throw error
    })
    this.#begin(next)
  }
}
