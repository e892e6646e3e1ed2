/**
 * Creates a whole engine for a test: a real PostgreSQL, a database of its own, a virtual clock, and a worker that works on request.
 * Nothing happens in the background, so that a test need not wait.
 */

import type { AnyBatch } from '../batches/model/batch.ts'
import {
  createEngineOn,
  type Engine,
  type NotifyOptions,
  openDb,
  type RateLimits,
  type SystemParts,
} from '../engine/create-engine.ts'
import { checkEngineOptions } from '../engine/engine-options.ts'
import { internalsOf } from '../engine/internals.ts'
import { refuseUnknownOptions } from '../errors/invalid-option.ts'
import type { Guard } from '../guards/model/guard.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import type { Retention } from '../jobs/model/retention.ts'
import type { Log } from '../lib/logging/log.ts'
import type { LimitsByQueue } from '../limits/model/queue-limits.ts'
import type { Schedule } from '../schedules/model/schedule.ts'
import { createTestDatabase } from './test-database.ts'
import { VirtualClock } from './virtual-clock.ts'

/** Options of `testEngine`. */
export interface TestEngineOptions {
  /** As in `createEngine`. Default: none. */
  jobs?: readonly AnyJob[]
  /** As in `createEngine`. Default: none. */
  batches?: readonly AnyBatch[]
  /** As in `createEngine`. Default: none. */
  schedules?: readonly Schedule[]
  /** As in `createEngine`. Default: none. */
  guards?: readonly Guard[]
  /** Whole applications with their jobs, limits and tables. Default: none. */
  systems?: readonly SystemParts[]
  /** A PostgreSQL server that allows creating and dropping databases. Default: a temporary server, started automatically. */
  serverUrl?: string
  /** An existing database to use and to keep. Default: a new database, dropped on close. */
  databaseUrl?: string
  /** The first instant of the virtual clock. Default: 2030-01-01T12:00:00Z. */
  start?: Date
  /** As in `createEngine`. Default: 90 days. */
  retention?: Retention
  /** As in `createEngine`. Default: none. */
  limits?: LimitsByQueue
  /** As in `createEngine`. Default: no webhook. */
  notify?: NotifyOptions
  /** As in `createEngine`. Default: PostgreSQL. */
  rateLimits?: RateLimits
  /** As in `createEngine`. Default: nothing is logged. */
  log?: Log | false
}

/** The answer of `testEngine`. */
export interface TestEngine extends AsyncDisposable {
  readonly engine: Engine
  readonly clock: VirtualClock
  readonly databaseUrl: string
  /**
   * Works until no job is ready; returns the number of attempts. Meanwhile the worker writes heartbeats by the virtual clock: time that
   * passes while a handler runs makes the job overdue or stalled, not an orphan.
   */
  run(): Promise<number>
  /** Runs a check of the watchdog, at the clock's instant. */
  tick(): Promise<void>
  /** Runs the janitor once, at the clock's instant. */
  clean(): Promise<void>
  /** Runs the scheduler once, at the clock's instant: enqueues the jobs of due occurrences. The first run starts the schedules. */
  schedule(): Promise<void>
  /** Runs the due guards once, at the clock's instant. */
  guard(): Promise<void>
  /** Checks once for incidents, at the clock's instant; `run` posts the notices. */
  notify(): Promise<void>
  /** Counts the unfinished jobs, for stats and metrics, unless the last sample is less than 10 s old. */
  sample(): Promise<void>
  /** Closes the engine, and drops a database of its own. */
  close(): Promise<void>
}

const known = Object.keys({
  jobs: true,
  batches: true,
  schedules: true,
  guards: true,
  systems: true,
  serverUrl: true,
  databaseUrl: true,
  start: true,
  retention: true,
  limits: true,
  notify: true,
  rateLimits: true,
  log: true,
} satisfies Record<keyof TestEngineOptions, true>)

/**
 * Creates an engine for a test, on a database of its own and on a virtual clock. The environment has no effect: a test never posts to the
 * webhook of RETOMA_NOTIFY_URL.
 *
 * @example
 * await using t = await testEngine({ jobs: [classify] })
 * const handle = await t.engine.enqueue(classify, { code: 'A-17' })
 * await t.run()
 * const result = await handle.result()
 */
export async function testEngine(options: TestEngineOptions = {}): Promise<TestEngine> {
  refuseUnknownOptions(options, known)
  const { serverUrl: _, start, ...ofEngine } = options
  checkEngineOptions(ofEngine)
  const clock = new VirtualClock(start)
  const { databaseUrl: url } = options
  const database = url ? { url, drop: async () => {} } : await createTestDatabase(options.serverUrl)
  const engine = await createEngineOn(openDb, {
    databaseUrl: database.url,
    jobs: options.jobs ?? [],
    batches: options.batches ?? [],
    schedules: options.schedules ?? [],
    guards: options.guards ?? [],
    systems: options.systems ?? [],
    clock,
    connections: 4,
    ...(options.log ? { log: options.log } : {}),
    ...(options.retention ? { retention: options.retention } : {}),
    ...(options.limits ? { limits: options.limits } : {}),
    ...(options.notify ? { notify: options.notify } : {}),
    ...(options.rateLimits ? { rateLimits: options.rateLimits } : {}),
  }).catch(async error => {
    await database.drop()
    throw error
  })

  const close = async () => {
    await engine.close()
    await database.drop()
  }
  return {
    engine,
    clock,
    databaseUrl: database.url,
    async run() {
      const worker = await internalsOf(engine).begin({}, 'by hand')
      worker.writeHeartbeat()
      try {
        for (let total = 0; ; ) {
          total += await worker.drain()
          // The onComplete job of a completed batch is ready, too.
          if (!(await internalsOf(engine).endBatches())) return total
        }
      } finally {
        await worker.stop()
      }
    },
    tick: () => internalsOf(engine).tick(),
    clean: () => internalsOf(engine).clean(),
    schedule: async () => void (await internalsOf(engine).schedule()),
    guard: async () => void (await internalsOf(engine).guard()),
    notify: async () => void (await internalsOf(engine).notify()),
    sample: async () => void (await internalsOf(engine).sample()),
    close,
    [Symbol.asyncDispose]: close,
  }
}
