/**
 * A whole engine for one test: real PostgreSQL, a database of its own, a clock the test moves, and a worker that works
 * when told to. Nothing happens behind the test's back, so nothing has to be waited for.
 */
import type { AnyBatch } from '../core/batch.ts'
import type { Guard } from '../core/guard.ts'
import type { AnyJob } from '../core/job.ts'
import type { Limits } from '../core/limits.ts'
import { refuseUnknownOptions } from '../core/refuse.ts'
import type { Retention } from '../core/retention.ts'
import type { Schedule } from '../core/schedule.ts'
import { checkEngineOptions } from '../engine/options.ts'
import {
  createEngineOn,
  type DrivenEngine,
  type Engine,
  type NotifyOptions,
  openDb,
  type RateLimits,
} from '../engine.ts'
import type { Log } from '../lib/log.ts'
import { createTestDatabase } from './test-database.ts'
import { VirtualClock } from './virtual-clock.ts'

export interface TestEngineOptions {
  jobs?: readonly AnyJob[]
  batches?: readonly AnyBatch[]
  schedules?: readonly Schedule[]
  guards?: readonly Guard[]
  /** A PostgreSQL on which databases may be made and dropped. Default: a throw-away server, started by itself. */
  serverUrl?: string
  /** A database to use as it is, and to leave. Default: one of its own, dropped when it closes. */
  databaseUrl?: string
  start?: Date
  retention?: Retention
  limits?: Limits
  notify?: NotifyOptions
  rateLimits?: RateLimits
  log?: Log
}

export interface TestEngine extends AsyncDisposable {
  readonly engine: Engine
  readonly clock: VirtualClock
  readonly databaseUrl: string
  /**
   * Works until no job is ready; answers how many attempts it ran. Meanwhile its worker beats with the clock: time that passes while a
   * handler runs makes its job late or stalled, not an orphan.
   */
  run(): Promise<number>
  /** One pass of the watchdog, at the clock's instant. */
  tick(): Promise<void>
  /** One pass of the janitor, likewise. */
  clean(): Promise<void>
  /** One pass of the scheduler, likewise: makes the jobs of the slots that are due. The first one begins the schedules. */
  schedule(): Promise<void>
  /** One pass of the guards, likewise: looks at the tables of those that are due. */
  guard(): Promise<void>
  /** One look for what a person should be told, likewise; `run` posts it. */
  notify(): Promise<void>
  /** Counts what is live, for stats and metrics, if it was not in the last ten seconds. */
  sample(): Promise<void>
  close(): Promise<void>
}

const known = Object.keys({
  jobs: true,
  batches: true,
  schedules: true,
  guards: true,
  serverUrl: true,
  databaseUrl: true,
  start: true,
  retention: true,
  limits: true,
  notify: true,
  rateLimits: true,
  log: true,
} satisfies Record<keyof TestEngineOptions, true>)

/** Nothing of the environment reaches it: a test does not tell the webhook of RETOMA_NOTIFY_URL. */
export async function testEngine(options: TestEngineOptions = {}): Promise<TestEngine> {
  refuseUnknownOptions(options, known)
  const { serverUrl: _, start, ...ofEngine } = options
  checkEngineOptions(ofEngine)
  const clock = new VirtualClock(start)
  const { databaseUrl: url } = options
  const database = url ? { url, drop: async () => {} } : await createTestDatabase(options.serverUrl)
  const engine = (await createEngineOn(openDb, {
    databaseUrl: database.url,
    jobs: options.jobs ?? [],
    batches: options.batches ?? [],
    schedules: options.schedules ?? [],
    guards: options.guards ?? [],
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
  })) as DrivenEngine

  const close = async () => {
    await engine.close()
    await database.drop()
  }
  return {
    engine,
    clock,
    databaseUrl: database.url,
    async run() {
      const worker = await engine.begin({}, 'by hand')
      worker.beat()
      try {
        for (let total = 0; ; ) {
          total += await worker.drain()
          // The onComplete job of one that ended is ready, too.
          if (!(await engine.endBatches())) return total
        }
      } finally {
        await worker.stop()
      }
    },
    tick: () => engine.tick(),
    clean: () => engine.clean(),
    schedule: async () => void (await engine.schedule()),
    guard: async () => void (await engine.guard()),
    notify: async () => void (await engine.notify()),
    sample: async () => void (await engine.sample()),
    close,
    [Symbol.asyncDispose]: close,
  }
}
