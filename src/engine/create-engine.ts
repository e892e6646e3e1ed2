/**
 * Wires the engine: database, clock and services behind the public API. Applications call `createEngine`; HTTP, the command line
 * and `retoma/testing` use the same object.
 *
 * Invariant: every resolved enqueue is committed (or is part of the caller's transaction); after close() nothing of this engine
 * runs and no connection is open.
 */
import { setMaxListeners } from 'node:events'
import { createGuessThrottle } from '../auth/brute-force-throttle.ts'
import { createTokens } from '../auth/tokens.ts'
import { createBatchActions } from '../batches/batch-actions.ts'
import { BatchCompletion } from '../batches/batch-completion-checks.ts'
import type { AnyBatch } from '../batches/model/batch.ts'
import { checkBatches, createBatchSubmitter, findBatch } from '../batches/submit-batch.ts'
import { createWakeHints } from '../claiming/sql/wake-up.ts'
import { type Db, openDb } from '../database/db.ts'
import { checkSchema, migrateAll, readSystemMigrations } from '../database/migrate.ts'
import { withCode } from '../database/pg-errors.ts'
import { createAppTransactions } from '../database/transactions/app-transaction.ts'
import { Admission } from '../enqueue/admission.ts'
import { createEnqueuer } from '../enqueue/enqueue.ts'
import { createMixedEnqueuer } from '../enqueue/enqueue-mixed.ts'
import { createInsertBatcher } from '../enqueue/insert-batcher.ts'
import { KindRegistry } from '../enqueue/kind-registry.ts'
import { QueueDepths } from '../enqueue/queue-depth.ts'
import { createJobUpdater } from '../enqueue/update-job.ts'
import { createEraser } from '../erasure/erase.ts'
import { EventFeed } from '../events/event-feed.ts'
import { createEvents } from '../events/events.ts'
import { CurrentJobTracker } from '../execution/current-job.ts'
import { NestedCallCheck } from '../execution/nested-call-check.ts'
import { createExplainer } from '../explain/explain.ts'
import { createFiles } from '../files/file-streams.ts'
import { checkGuards, createGuardActions } from '../guards/guard-actions.ts'
import type { Guard } from '../guards/model/guard.ts'
import { createIdempotentRequests } from '../idempotency/idempotent-request.ts'
import { createIncidentReads } from '../incidents/incident-reads.ts'
import { checkNotify, type Notify, notifyJob } from '../incidents/notice-job.ts'
import { noticeJobState } from '../incidents/sql/incident-changes.ts'
import { IsolationMode } from '../isolation/isolation-mode.ts'
import { createBulkActions } from '../jobs/bulk-actions.ts'
import { createJobActions } from '../jobs/job-actions.ts'
import { checkRetention } from '../jobs/model/retention.ts'
import type { FinalJobState } from '../jobs/model/state.ts'
import { SettleListeners } from '../jobs/settle-listeners.ts'
import { viewFailureCauses } from '../jobs/sql/failure-causes.ts'
import { privateKindsIn, privateQueues } from '../jobs/sql/job-kind.ts'
import { databaseNow, pingDatabase, viewWorkers } from '../jobs/sql/job-view.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import { type Log, silentLog } from '../lib/logging/log.ts'
import { randomName } from '../lib/random.ts'
import type { Duration } from '../lib/values/duration.ts'
import { checkLimits } from '../limits/model/queue-limits.ts'
import { applyLimits, createQueues } from '../limits/queue-actions.ts'
import { createRateLimiter, type RateLimits } from '../limits/rate-limiter.ts'
import { readTick } from '../maintenance/sql/read-doctor-facts.ts'
import { createMeter, type MetricSource } from '../metrics/metrics-registry.ts'
import { createStats } from '../metrics/stats.ts'
import { createProviders } from '../providers/provider-actions.ts'
import { createOrphanRecovery } from '../recovery/recover-orphans.ts'
import { viewFindings } from '../recovery/sql/findings.ts'
import type { Schedule } from '../schedules/model/schedule.ts'
import { checkSchedules, createScheduleActions } from '../schedules/schedule-actions.ts'
import { Supervision } from '../supervisor/supervision.ts'
import { WorkerPool } from '../worker/worker-pool.ts'
import { BackgroundServices } from './background-services.ts'
import { ClosedCheck } from './closed-check.ts'
import type { Engine } from './engine-api.ts'
import {
  checkEngineOptions,
  checkRateLimits,
  databaseHome,
  type EngineOptions,
  type ResolvedOptions,
  refuseOwnTables,
  withSettings,
} from './engine-options.ts'
import { type InternalMethods, withInternals } from './internals.ts'
import { type FlatMethods, parameters } from './method-parameters.ts'
import { type SystemParts, withSystems } from './system-parts.ts'

export { openDb } from '../database/db.ts'
export { checkedInputs } from '../enqueue/check-inputs.ts'
export type { EnqueuedJob, JobRequest } from '../enqueue/enqueue-mixed.ts'
export type { Replayable } from '../idempotency/idempotent-request.ts'
export { forgotten, type IdempotencyKey, type StoredResponse } from '../idempotency/stored-response.sql.ts'
export type { WebhookNotice } from '../incidents/model/notice.ts'
export { deliverNotice, deliveryPolicy, isWebAddress, type NotifyOptions } from '../incidents/notice-job.ts'
export type { Webhook } from '../incidents/webhook.ts'
export type { JobActionResult, JobDetail } from '../jobs/job-actions.ts'
export type { QueueActionResult } from '../limits/queue-actions.ts'
export type { RateLimits } from '../limits/rate-limiter.ts'
export type { RunUntilEmptyOptions, RunUntilEmptyResult } from '../worker/run-until-empty.ts'
export type { WorkOptions } from '../worker/work-options.ts'
export type { WorkerHandle } from '../worker/worker-pool.ts'
export type { MaintenanceReport } from './background-services.ts'
export type { BatchesApi, Engine, JobsApi, MetricsApi, WorkersApi } from './engine-api.ts'
export { type EngineOptions, rateLimitsOf } from './engine-options.ts'
export { internalsOf } from './internals.ts'
export type { SystemParts } from './system-parts.ts'

/**
 * Opens the database, applies the migrations and returns an engine. Missing options come from the environment and from `.env` in the
 * working folder, as for the command line. Throws `bad_option`, `bad_setting`, `no_database`, and the errors of the database.
 *
 * @example
 * const engine = await createEngine({ databaseUrl: process.env.DATABASE_URL, jobs: [classify] })
 * await engine.enqueue(classify, { code: 'A-17' })
 * await engine.work()
 */
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  checkEngineOptions(options)
  return createEngineOn(openDb, withSettings(options))
}

/** Ignores the environment, and opens the database with `open`: the simulation injects faults there. */
export async function createEngineOn(open: typeof openDb, options: ResolvedOptions): Promise<Engine> {
  const { log = silentLog, clock = systemClock, connections, systems = [] } = options
  const { jobs, batches, schedules, guards, limits: ofQueues } = withSystems(options, systems)
  const retention = checkRetention(options.retention)
  checkLimits(options.limits ?? {})
  const limits = checkLimits(ofQueues)
  const rateLimits = checkRateLimits(options.rateLimits)
  await checkSchedules(schedules, clock.now())
  checkGuards(guards)
  const ofBatches = checkBatches(batches)
  const notify = options.notify && checkNotify(options.notify)
  refuseOwnTables(guards, options.schema)
  const migrations = await readSystemMigrations(systems, options.schema)
  const home = await databaseHome(options, log)
  const { leave, ...place } = home
  const db = open({
    ...place,
    schema: options.schema,
    log,
    clock,
    ...(connections === undefined ? {} : { connections }),
  })
  try {
    if (options.migrate === false) await checkSchema(db, migrations)
    else await migrateAll(db, migrations)
    const registry = new KindRegistry(db, clock)
    const ofGuards = guards.flatMap(({ enqueue }) => (enqueue === null ? [] : [enqueue.job]))
    await registry.add(...jobs, ...schedules.map(schedule => schedule.job), ...ofBatches, ...ofGuards)
    for (const { options } of schedules) if (options.queue !== null) await registry.addQueue(options.queue)
    if (notify !== undefined)
      await registry.add(notifyJob({ ...notify, clock, stateOf: job => noticeJobState(db, job) }))
    const changed = await applyLimits(db, limits, clock.instant())
    const parts = {
      db,
      log,
      clock,
      registry,
      retention,
      batches,
      schedules,
      guards,
      notify,
      rateLimits,
      workerMemory: options.workerMemory,
      supervision: options.supervision ?? new Supervision(),
      isolationMode: new IsolationMode(options.handlers),
      currentJob: new CurrentJobTracker(),
      nestedCalls: new NestedCallCheck(),
      jobLogs: options.jobLogs !== false,
      systems,
      hasDirectUrl: place.directUrl !== undefined,
    }
    const engine = assemble(parts, changed, leave)
    for (const system of systems) system.attach?.(engine)
    return engine
  } catch (error) {
    await db.close()
    await leave()
    return withCode(error)
  }
}

interface Parts {
  db: Db
  log: Log
  clock: Clock
  registry: KindRegistry
  retention: Record<FinalJobState, Duration>
  batches: readonly AnyBatch[]
  schedules: readonly Schedule[]
  guards: readonly Guard[]
  notify: Notify | undefined
  rateLimits: RateLimits
  workerMemory: number | undefined
  supervision: Supervision
  isolationMode: IsolationMode
  currentJob: CurrentJobTracker
  nestedCalls: NestedCallCheck
  jobLogs: boolean
  systems: readonly SystemParts[]
  /** LISTEN and heartbeats have an address of their own. */
  hasDirectUrl: boolean
}

function assemble(parts: Parts, changed: readonly string[], leave: () => Promise<void>): Engine {
  const { db, log, clock, registry, schedules, guards, workerMemory } = parts
  const closing = new AbortController()
  setMaxListeners(0, closing.signal) // every enqueue in a transaction listens for half a second
  const settleListeners = new SettleListeners()
  const sender = randomName('e')
  const wakeHints = createWakeHints({ db, clock, log, sender })
  const eventFeed = new EventFeed(parts)
  const completion = new BatchCompletion({
    db,
    clock,
    log,
    wake: queue => workerPool.wake(queue),
    providerAnswered: () => workerPool.providerAnswered(),
    paused: batch => workerPool.batchPaused(batch),
    changed: batch => settleListeners.settled(batch),
    closing: closing.signal,
  })
  const { limit, peekLimit } = createRateLimiter(parts)
  const guessThrottle = createGuessThrottle({ limit, peekLimit })
  const { recheck, tokens, ...authentication } = createTokens({
    db,
    clock,
    log,
    guessThrottle,
    changed: () => wakeHints.doors(),
  })
  const workerPool: WorkerPool = new WorkerPool({
    ...parts,
    settleListeners,
    completion,
    sender,
    wakeHints,
    credentials: { recheck },
    close: () => closedCheck.close(),
  })
  /** Running jobs of the queue were cancelled or skipped: tells the workers of this process and of the others. */
  const leasesEnded = (queue: string) => {
    workerPool.leasesEnded(queue)
    wakeHints.leasesEnded(queue)
  }
  const backgroundServices = new BackgroundServices({ ...parts, workerPool, settleListeners, completion, leasesEnded })
  const stop = () => Promise.all([workerPool.stop(), backgroundServices.stop()])
  const wake = workerPool.wake
  for (const queue of changed) wake(queue)
  const closedCheck = new ClosedCheck(close)

  async function close(): Promise<void> {
    closing.abort()
    settleListeners.end()
    await stop()
    // Calls under way get their answer, within a bounded time, before the connections close.
    await closedCheck.lastAnswers()
    await stop()
    await completion.settled()
    await completion
      .now()
      .catch(error => log.debug({ err: error }, 'cannot check the completion of a batch; the next tick checks'))
    await eventFeed.stop()
    await wakeHints.settled()
    await db.close()
    await leave()
  }

  const queueDepths = new QueueDepths(db, clock)
  const writeShared = createInsertBatcher({ db, clock })
  const admission = new Admission({ db, clock, queueDepths, isOff: parts.rateLimits === 'off' })
  /** The claims of the queue are unblocked: tells the workers of this process and of the others. */
  const wakeUnblocked = (queue: string) => {
    workerPool.claimsUnblocked(queue)
    wakeHints.claimsUnblocked(queue)
  }
  const { batch, batches } = createBatchActions({
    db,
    clock,
    completion,
    wake,
    wakeUnblocked,
    blockClaims(queue, batch) {
      workerPool.returnUnstarted(queue, batch)
      wakeHints.claimsBlocked(queue, batch)
    },
    leasesEnded,
    changed: batch => settleListeners.settled(batch),
  })
  const batchMoved = (batch: string) => completion.check([batch])
  const appTransactions = createAppTransactions({ db })
  const { jobs, job, wait, jobAsText, jobAsShortText, checkpointAsText, jobListed, resultOf } = createJobActions({
    db,
    clock,
    settleListeners,
    batch,
    batchMoved,
    wake,
    leasesEnded,
    closing: closing.signal,
  })
  const eraser = createEraser({ db, clock, log, leasesEnded })
  const {
    schedules: scheduleActions,
    runScheduleOnce,
    scheduleRuns,
  } = createScheduleActions({
    db,
    clock,
    schedules,
    queueDepths,
    wake,
  })
  const meter = createMeter()

  const results = closedCheck.open({ resultOf }, parameters.results)

  const flat: FlatMethods = {
    ...createEnqueuer({ db, clock, registry, writeShared, admission, wake, closing: closing.signal, ...results }),
    ...createBatchSubmitter({ db, clock, registry, queueDepths, wake, ask: batchMoved, closing: closing.signal }),
    job,
    batch,
    wait,
    ...createExplainer({ db, clock }),
    ...createEvents({ db, clock, eventFeed, closing: closing.signal }),
    ...appTransactions,
    limit,
    async work(options = {}) {
      // First recover the jobs of the previous process by its crash reports, now instead of after a missed heartbeat.
      await backgroundServices.applyCrashReports()
      const worker = await workerPool.work(workerMemory === undefined ? options : { memory: workerMemory, ...options })
      backgroundServices.watch()
      return worker
    },
    runUntilEmpty: (options = {}) => workerPool.runUntilEmpty(options),
    watch: ((options?: { once: true }) =>
      options?.once ? backgroundServices.once() : backgroundServices.watch()) as Engine['watch'],
  }

  const internalMethods: InternalMethods = {
    ...createMixedEnqueuer({
      db,
      clock,
      registry,
      writeShared,
      admit: (queue, groups) => admission.admit(queue, groups),
      wake,
    }),
    ...createIdempotentRequests({ db, clock, transaction: appTransactions.transaction }),
    runScheduleOnce,
    scheduleRuns,
    jobAsText,
    jobAsShortText,
    checkpointAsText,
    jobListed,
    peekLimit,
    ...guessThrottle,
    ...authentication,
    kind: name => registry.find(name),
    kinds: () => [...registry.jobs.values()],
    kindFlags: () => registry.flags(),
    privateKindsIn: queue => privateKindsIn(db, queue),
    privateQueues: () => privateQueues(db),
    batchNamed: name => findBatch(parts.batches, name),
    findQueue: name => registry.findQueue(name),
    ping: () => pingDatabase(db, 2000),
    databaseNow: () => databaseNow(db, clock.instant()),
    watchdogLag: () => readTick(db, clock.instant()),
    claimLag: async () => workerPool.claimLag(),
    firstClaim: () => workerPool.firstClaim(),
    begin: (options, mode) => workerPool.begin(options, mode),
    tick: () => backgroundServices.tick(),
    clean: async () => void (await backgroundServices.clean()),
    schedule: () => backgroundServices.schedule(),
    guard: () => backgroundServices.guard(),
    notify: () => backgroundServices.notify(),
    sample: () => backgroundServices.sample(),
    endBatches: () => completion.now(),
    async doctor() {
      const { checkAll } = await import('../maintenance/doctor.ts')
      const { address } = db.direct
      const { checks } = await checkAll(db, {
        address,
        clock,
        systems: parts.systems,
        ...(parts.hasDirectUrl ? { databaseDirectUrl: address } : {}),
      })
      return checks
    },
  }

  const checked = closedCheck.open.bind(closedCheck) as typeof closedCheck.open
  const end = () => closedCheck.close()
  const engine: Engine = {
    ...checked(flat, parameters.flat),
    jobs: checked(
      {
        ...jobs,
        ...createBulkActions({ db, clock, batchMoved, wake, leasesEnded, erase: eraser.jobs }),
        ...createJobUpdater({ db, clock, registry, wake }),
        recoverOrphans: createOrphanRecovery({ db, clock, wake }),
        erase: eraser.job,
        failures: ({ except = [] } = {}) => viewFailureCauses(db, except),
      },
      parameters.jobs,
    ),
    batches: checked({ ...batches, erase: eraser.batch }, parameters.batches),
    queues: checked(createQueues({ db, clock, wake: wakeUnblocked, batchMoved }), parameters.queues),
    schedules: checked(scheduleActions, parameters.schedules),
    guards: checked(createGuardActions({ db, clock, guards, wake, closing: closing.signal }), parameters.guards),
    providers: checked(
      createProviders({ db, clock, providerAnswered: () => workerPool.providerAnswered() }),
      parameters.providers,
    ),
    workers: checked({ list: () => viewWorkers(db, clock.instant()) }, parameters.workers),
    tokens: checked(tokens, parameters.tokens),
    metrics: checked(
      {
        ...createStats({ db, clock }),
        ...createIncidentReads({ db, clock }),
        findings: () => viewFindings(db),
        include: (source: MetricSource) => meter.include(source),
      },
      parameters.metrics,
    ),
    files: checked(createFiles({ db, clock, closing: closing.signal }), parameters.files),
    close: end,
    [Symbol.asyncDispose]: end,
  }
  return withInternals(engine, { ...checked(internalMethods, parameters.internals), clock, log, meter })
}
