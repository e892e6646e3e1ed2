/**
 * The composition root: store, clock and services behind the verbs people use. `createEngine` is what an application
 * calls; HTTP, the command line and `retoma/testing` stand on the same object.
 *
 * Invariant: every enqueue that resolved is committed (or part of the caller's transaction); after close() nothing of
 * this engine runs and no connection is open.
 */
import { setMaxListeners } from 'node:events'
import type { AnyBatch } from './core/batch.ts'
import type { Duration } from './core/duration.ts'
import type { Guard } from './core/guard.ts'
import type { AnyJob } from './core/job.ts'
import { checkLimits, type Limits } from './core/limits.ts'
import type { ProviderView } from './core/provider.ts'
import { checkRetention, type Retention } from './core/retention.ts'
import type { Schedule } from './core/schedule.ts'
import type { FinalState } from './core/state.ts'
import { Admission } from './engine/admission.ts'
import { BatchEnds } from './engine/batch-ends.ts'
import { type Batches, createBatches } from './engine/batches.ts'
import { type Bulk, createBulk } from './engine/bulk.ts'
import { Crew, type Passed, type WorkerHandle } from './engine/crew.ts'
import { Depths } from './engine/depth.ts'
import { createDesk, type Desk } from './engine/desk.ts'
import { createErasing, type Erasing } from './engine/erase.ts'
import { createEvents, type Events } from './engine/events.ts'
import { createExplains, type Explains } from './engine/explain.ts'
import { Feed } from './engine/feed.ts'
import { createFiles, type Files } from './engine/files.ts'
import { checkGuards, createGuardDesk, type GuardDesk } from './engine/guards.ts'
import { createGuesses, type Guesses } from './engine/guesses.ts'
import { createInbox, type Inbox } from './engine/inbox.ts'
import { createLimits, type LimitDesk, type RateLimits } from './engine/limits.ts'
import { createMeter, type Meter } from './engine/meter.ts'
import { checkNotify, type Notify, type NotifyOptions, notifyJob } from './engine/notify.ts'
import { createOnces, type Onces } from './engine/once.ts'
import { createOwn, type Own } from './engine/own.ts'
import { applyLimits, createQueues, type Queues } from './engine/queues.ts'
import { Registry } from './engine/registry.ts'
import { createSharedWrite } from './engine/shared-write.ts'
import { createStats, type StatsDesk } from './engine/stats.ts'
import { checkBatches, createSubmits, findBatch, type Submits } from './engine/submit.ts'
import { checkSchedules, createTimetable, type Timetable } from './engine/timetable.ts'
import { createTogether, type Together } from './engine/together.ts'
import { createTokens, type Tokens } from './engine/tokens.ts'
import { checkUpstash } from './engine/upstash.ts'
import { Waiters } from './engine/waiters.ts'
import type { WorkOptions } from './engine/work-options.ts'
import { RetomaError } from './errors.ts'
import { type Clock, systemClock } from './lib/clock.ts'
import { withDeadline } from './lib/deadline.ts'
import { type Log, silentLog } from './lib/log.ts'
import { randomName } from './lib/random.ts'
import { type Db, openDb } from './store/db.ts'
import { readTick } from './store/facts.ts'
import { type FindingView, viewFindings } from './store/finding.ts'
import { tellerState } from './store/incident-turn.ts'
import { checkSchema, migrate } from './store/migrate.ts'
import { viewProviders } from './store/provider.ts'
import { probe, viewWorkers, type WorkerView } from './store/view.ts'
import { createHinter } from './store/wake.ts'
import type { Worker } from './worker/worker.ts'

export type { Passed, WorkerHandle } from './engine/crew.ts'
export type { JobDetail, Pressed } from './engine/desk.ts'
export type { RateLimits } from './engine/limits.ts'
export type { NotifyOptions } from './engine/notify.ts'
export type { PressedQueue } from './engine/queues.ts'
export type { Made, Order } from './engine/together.ts'
export type { WorkOptions } from './engine/work-options.ts'
export type { Kept, Once } from './store/idempotency.ts'

export interface EngineOptions {
  /** Default: DATABASE_URL; without either, the embedded PostgreSQL of this folder (RETOMA_DATA_DIR, `.retoma`). */
  databaseUrl?: string | undefined
  /** For LISTEN and for heartbeats, where `databaseUrl` is a PgBouncer in transaction mode. Default: DATABASE_DIRECT_URL. */
  databaseDirectUrl?: string | undefined
  jobs?: readonly AnyJob[]
  /** Their jobs, and what they have run at their end, need not be among `jobs`. */
  batches?: readonly AnyBatch[]
  /** What queues allow over all workers: at once, within a time, waiting. A queue not named keeps its limits; `{}` lifts them. */
  limits?: Limits
  /**
   * Where `engine.limit` keeps its windows. Default: in Upstash Redis when UPSTASH_REDIS_REST_URL and
   * UPSTASH_REDIS_REST_TOKEN are set, else in PostgreSQL. 'off': everything passes, for development.
   */
  rateLimits?: RateLimits
  /** They fire while this engine works or watches; their jobs need not be among `jobs`. */
  schedules?: readonly Schedule[]
  /** They look at tables that are not ours while this engine works or watches; their jobs need not be among `jobs`. */
  guards?: readonly Guard[]
  /** A webhook that tells a person when something is stuck, and when it is over: docs/notify.md. */
  notify?: NotifyOptions | undefined
  /** false: do not bring the schema up to date; refuse when it is not. Default true. */
  migrate?: boolean
  /**
   * Most connections this engine opens besides the one that listens and the one of a worker's heart, and as many again for
   * `ctx.transaction`. Default 10.
   */
  connections?: number
  /** How long finished jobs are kept, for all or by how they ended. Default 90 days. */
  retention?: Retention
  log?: Log
  clock?: Clock
}

export interface Engine
  extends Inbox,
    Together,
    Onces,
    Submits,
    Desk,
    Bulk,
    Batches,
    Queues,
    Timetable,
    GuardDesk,
    LimitDesk,
    Guesses,
    Tokens,
    Events,
    Explains,
    StatsDesk,
    Own,
    Erasing,
    AsyncDisposable {
  /** Files, in PostgreSQL: every process of every host sees them. */
  readonly files: Files
  /** What this process counts of itself. */
  readonly meter: Meter
  /** The kind of job with this name; throws unknown_kind. */
  kind(name: string): AnyJob
  /** The kinds this engine knows. */
  kinds(): AnyJob[]
  /** The batch with this name that this engine was made with; throws unknown_batch. */
  batchNamed(name: string): AnyBatch
  workers(): Promise<WorkerView[]>
  /** Services outside that have ever asked jobs to wait, or stopped, and how they stand. */
  providers(): Promise<ProviderView[]>
  /** Throws database_unreachable or database_timeout. */
  ping(): Promise<void>
  /** Seconds since a watchdog looked, anywhere; null: none ever has. They look every 5 s. */
  watchdogLag(): Promise<number | null>
  /** Seconds since the workers of this process could last ask for jobs; null: none works here. They ask every 5 s. */
  claimLag(): Promise<number | null>
  work(options?: WorkOptions): Promise<WorkerHandle>
  /** Keeps watchdog, janitor, scheduler and guards ticking in this process until the engine closes; a worker does so by itself. */
  watch(): void
  /**
   * One pass of all that, for an outside cron. Where a worker is silent it takes the ten seconds between suspecting it and
   * declaring it dead; otherwise it ends at once.
   */
  watchOnce(): Promise<Passed>
  /** What the watchdog has found and only reports: hung, slow, starved; for as long as it is so. At most 500. */
  findings(): Promise<FindingView[]>
  /** Where its time comes from. */
  readonly clock: Clock
  close(): Promise<void>
}

/** What `retoma/testing` drives besides: a worker by hand, one pass of the watchdog, of the janitor, of the scheduler, of the guards, of the sampler. */
export interface DrivenEngine extends Engine {
  begin(options: WorkOptions, mode: 'by hand'): Promise<Worker>
  tick(): Promise<void>
  clean(): Promise<void>
  schedule(): Promise<unknown>
  guard(): Promise<unknown>
  notify(): Promise<unknown>
  sample(): Promise<unknown>
  /** Asks now whether the batches that something of has ended are over; answers whether one was. */
  endBatches(): Promise<boolean>
}

const lastAnswersMs = 5000

export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  const { log = silentLog, clock = systemClock, connections, schedules = [], guards = [] } = options
  const retention = checkRetention(options.retention)
  const limits = checkLimits(options.limits ?? {})
  const rateLimits = rateLimitsOf(options)
  await checkSchedules(schedules, clock.now())
  checkGuards(guards)
  const notify = options.notify && checkNotify(options.notify)
  const home = await databaseHome(options)
  const directUrl = options.databaseDirectUrl ?? process.env.DATABASE_DIRECT_URL
  const db = openDb({
    url: home.url,
    log,
    clock,
    ...(directUrl ? { directUrl } : {}),
    ...(connections === undefined ? {} : { connections }),
  })
  try {
    if (options.migrate === false) await checkSchema(db)
    else await migrate(db)
    const registry = new Registry(db, clock)
    const ofBatches = checkBatches(options.batches ?? [])
    const ofGuards = guards.flatMap(({ enqueue }) => (enqueue === null ? [] : [enqueue.job]))
    await registry.add(...(options.jobs ?? []), ...schedules.map(schedule => schedule.job), ...ofBatches, ...ofGuards)
    if (notify !== undefined) await registry.add(notifyJob({ ...notify, clock, stateOf: job => tellerState(db, job) }))
    const changed = await applyLimits(db, limits, clock.instant())
    const { batches = [] } = options
    const parts = {
      db,
      directUrl: directUrl || home.url,
      log,
      clock,
      registry,
      retention,
      batches,
      schedules,
      guards,
      notify,
      rateLimits,
    }
    return assemble(parts, changed, home.leave)
  } catch (error) {
    await db.close()
    await home.leave()
    throw error
  }
}

/** A database URL, or the embedded server: started or attached to here, left at close. */
async function databaseHome(options: EngineOptions): Promise<{ url: string; leave: () => Promise<void> }> {
  const url = options.databaseUrl ?? process.env.DATABASE_URL
  if (url) return { url, leave: async () => {} }
  const { openEmbedded } = await import('./postgres/index.ts')
  const dataDir = process.env.RETOMA_DATA_DIR || '.retoma'
  const server = await openEmbedded({ dataDir, ...(options.log ? { log: options.log } : {}) })
  return { url: server.url, leave: () => server.leave() }
}

function rateLimitsOf({ rateLimits }: EngineOptions): RateLimits {
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = process.env
  const chosen = rateLimits ?? (url && token ? { url, token } : 'postgresql')
  if (chosen !== 'postgresql' && chosen !== 'off') checkUpstash(chosen)
  return chosen
}

interface Parts {
  db: Db
  directUrl: string
  log: Log
  clock: Clock
  registry: Registry
  retention: Record<FinalState, Duration>
  batches: readonly AnyBatch[]
  schedules: readonly Schedule[]
  guards: readonly Guard[]
  notify: Notify | undefined
  rateLimits: RateLimits
}

function assemble(parts: Parts, changed: readonly string[], leave: () => Promise<void>): DrivenEngine {
  const { db, log, clock, registry, schedules, guards } = parts
  const closing = new AbortController()
  setMaxListeners(0, closing.signal) // every enqueue in a transaction waits for it, for half a second
  const waiters = new Waiters()
  const sender = randomName('e')
  const hinter = createHinter({ db, clock, log, sender })
  const feed = new Feed(parts)
  const ends = new BatchEnds({
    db,
    clock,
    log,
    tell: queue => crew.tell(queue),
    changed: batch => waiters.settled(batch),
    closing: closing.signal,
  })
  const { hint, claimed, held, unheld } = hinter
  const crew: Crew = new Crew({ ...parts, waiters, ends, sender, hint, claimed, held, unheld, doors: () => recheck() })
  const tell = crew.tell
  for (const queue of changed) tell(queue)
  let closed: Promise<void> | undefined

  const underWay = new Set<Promise<unknown>>()

  async function close(): Promise<void> {
    closing.abort()
    waiters.end()
    await crew.stop()
    // What was asked before is answered, within reason, before its connections go.
    await withDeadline(Promise.allSettled(underWay), lastAnswersMs, () => new Error('too late')).catch(() => {})
    await crew.stop()
    await ends.settled()
    await ends.now().catch(error => log.debug({ err: error }, 'whether batches are over is left to the next tick'))
    await feed.stop()
    await hinter.settled()
    await db.close()
    await leave()
  }

  /** The verbs that answer without a promise. */
  const atOnce = ['kind', 'kinds', 'batchNamed', 'watch', 'events']
  /** Every verb refuses once the engine is closed, instead of failing on an ended pool. */
  const open = <T extends object>(part: T): T =>
    Object.fromEntries(
      Object.entries(part).map(([name, verb]) => [
        name,
        (...given: unknown[]) => {
          const refusal = closed === undefined ? undefined : new RetomaError('engine_closed', {})
          if (atOnce.includes(name)) {
            if (refusal) throw refusal
            return verb(...given)
          }
          if (refusal) return Promise.reject(refusal)
          const answer = verb(...given) as Promise<unknown>
          underWay.add(answer)
          const done = () => void underWay.delete(answer)
          answer.then(done, done)
          return answer
        },
      ]),
    ) as T

  const depths = new Depths(db, clock)
  const writeShared = createSharedWrite({ db, clock })
  const admission = new Admission({ db, clock, depths, isOff: parts.rateLimits === 'off' })
  /** What was held in that queue is no more. */
  const tellAnew = (queue: string) => {
    crew.unheld(queue)
    hinter.unheld(queue)
  }
  const { cancelBatch, resumeBatch, ...batches } = createBatches({
    db,
    clock,
    ends,
    tell,
    tellAnew,
    hold(queue, batch) {
      crew.holdBack(queue, batch)
      hinter.held(queue, batch)
    },
    changed: batch => waiters.settled(batch),
  })
  const batchMoved = (batch: string) => ends.ask([batch])
  const limitDesk = createLimits(parts)
  const guesses = createGuesses(limitDesk)
  const { recheck, ...tokens } = createTokens({ db, clock, log, guesses, changed: () => hinter.doors() })
  const verbs: Omit<DrivenEngine, 'clock' | 'close' | 'meter' | 'files' | typeof Symbol.asyncDispose> = {
    ...createInbox({ db, clock, registry, writeShared, admission, tell, closing: closing.signal }),
    ...createTogether({
      db,
      clock,
      registry,
      writeShared,
      admit: (queue, groups) => admission.admit(queue, groups),
      tell,
    }),
    ...createOnces({ db, clock }),
    ...createOwn({ db }),
    ...createQueues({ db, clock, tell: tellAnew }),
    ...createSubmits({ db, clock, registry, depths, tell, ask: batchMoved }),
    ...createDesk({
      db,
      clock,
      waiters,
      batches: { ...batches, cancelBatch, resumeBatch },
      batchMoved,
      tell,
      closing: closing.signal,
    }),
    ...batches,
    ...createErasing({ db, clock }),
    ...createBulk({ db, clock, batchMoved, tell }),
    ...createEvents({ db, clock, feed, closing: closing.signal }),
    ...createExplains({ db, clock }),
    ...createStats({ db, clock }),
    ...createTimetable({ db, clock, schedules, depths, tell }),
    ...createGuardDesk({ db, clock, guards, tell, closing: closing.signal }),
    ...limitDesk,
    ...guesses,
    ...tokens,
    kind: name => registry.find(name),
    kinds: () => [...registry.jobs.values()],
    batchNamed: name => findBatch(parts.batches, name),
    workers: () => viewWorkers(db, clock.instant()),
    providers: () => viewProviders(db, clock.instant()),
    ping: () => probe(db, 2000),
    watchdogLag: () => readTick(db, clock.instant()),
    claimLag: async () => crew.claimLag(),
    work: (options = {}) => crew.work(options),
    watch: () => crew.watch(),
    watchOnce: () => crew.once(),
    findings: () => viewFindings(db),
    begin: (options, mode) => crew.begin(options, mode),
    tick: () => crew.tick(),
    clean: async () => void (await crew.clean()),
    schedule: () => crew.schedule(),
    guard: () => crew.guard(),
    notify: () => crew.notify(),
    sample: () => crew.sample(),
    endBatches: () => ends.now(),
  }
  const end = () => {
    closed ??= close()
    return closed
  }
  const files = open(createFiles({ db, clock, closing: closing.signal }))
  return { ...open(verbs), files, clock, meter: createMeter(), close: end, [Symbol.asyncDispose]: end }
}
