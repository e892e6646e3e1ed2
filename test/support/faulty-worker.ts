/** A worker with loops on a virtual clock, and faults between it and its database. */
import { onTestFinished } from 'vitest'
import { type Db, openDb } from '../../src/database/db.ts'
import { enqueueJobs, type NewJob } from '../../src/enqueue/enqueue.sql.ts'
import { CurrentJobTracker } from '../../src/execution/current-job.ts'
import { NestedCallCheck } from '../../src/execution/nested-call-check.ts'
import { defineJob, type JobContext, minutes, seconds } from '../../src/index.ts'
import { IsolationMode } from '../../src/isolation/isolation-mode.ts'
import { createLog, silentLog } from '../../src/lib/logging/log.ts'
import { recoverOrphans } from '../../src/recovery/sql/recover-jobs-of-dead-worker.ts'
import { Supervision } from '../../src/supervisor/supervision.ts'
import { VirtualClock } from '../../src/testing/index.ts'
import { Worker } from '../../src/worker/worker.ts'
import { borrowDatabase, until } from './engine.ts'
import { faulty } from './faulty-db.ts'
import { newJob } from './store.ts'

interface Row {
  state: string
  attempt: number
  failures: number
  restarts: number
}

export async function faultyWorker(
  given: {
    run?: (context: JobContext) => unknown
    queues?: Record<string, number>
    clock?: VirtualClock
    isolationMode?: IsolationMode
  } = {},
) {
  const database = await borrowDatabase()
  const clock = given.clock ?? new VirtualClock()
  const real = openDb({ url: database.url, log: silentLog, clock })
  const db = faulty(real)
  const runs: { id: string; attempt: number }[] = []
  const lines: string[] = []
  const log = createLog({ level: 'debug', format: 'json', write: line => void lines.push(line) })
  const hints: [queue: string, delayMs: number][] = []
  const job = defineJob({
    kind: 'k',
    queue: 'q',
    timeout: minutes(1),
    run: ctx => {
      runs.push({ id: ctx.id, attempt: ctx.attempt })
      return given.run?.(ctx)
    },
  })
  let worker: Worker | undefined
  let closed: Promise<void> | undefined
  /** Of a test with many of them: each has connections of its own. */
  const close = () => {
    closed ??= (async () => {
      await worker?.stop()
      await real.close()
      await database.giveBack()
    })()
    return closed
  }
  onTestFinished(close)
  /** `on`: another way to the database, for one that takes over. */
  const begin = async (on: Db = db) => {
    worker = await Worker.begin({
      db: on,
      clock,
      log,
      random: () => 0,
      version: '0',
      jobs: new Map([['k', job]]),
      queues: given.queues ?? { q: 5 },
      graceMs: 1000,
      pollMs: 5000,
      supervision: new Supervision(),
      isolationMode: given.isolationMode ?? new IsolationMode(),
      currentJob: new CurrentJobTracker(),
      nestedCalls: new NestedCallCheck(),
      jobLogs: true,
      events: {
        claimed: () => {},
        settled: () => {},
        released: (queue, delayMs) => void hints.push([queue, delayMs]),
        batchTouched: () => {},
        attemptFailed: () => {},
        attemptSucceeded: () => {},
        batchPaused: () => {},
        providerAnswered: async () => {},
      },
    })
    return worker
  }
  const enqueueMany = async (count: number, about: Partial<NewJob> = {}) => {
    const jobs = Array.from({ length: count }, () => newJob(about))
    return (await enqueueJobs(real.run, jobs, clock.instant())).map(each => each.id)
  }
  const enqueue = async (about: Partial<NewJob> = {}) => (await enqueueMany(1, about))[0]!
  const sql = <T = Row>(text: string, values: unknown[] = []) => real.run<T>({ name: '', text }, values)
  const row = async (id: string) => (await sql(`select * from retoma.job where id = $1`, [id]))[0]!
  const ended = (id: string) => until(async () => (await row(id)).state === 'succeeded')
  /** It is final; the clock goes on meanwhile, for what backs off and what beats. */
  const settles = (id: string) =>
    until(async () => {
      await clock.advance(seconds(1))
      return ['succeeded', 'failed'].includes((await row(id)).state)
    }).then(() => clock.advance(seconds(10)))
  /** Begins one that dies as was arranged with `db.dieAt`, and lets time pass until it has. */
  const beginAndDie = async (death: Promise<void>) => {
    let dead = false
    void death.then(() => {
      dead = true
    })
    await begin()
    await until(async () => {
      if (!dead) await clock.advance(seconds(1))
      return dead
    })
  }
  /** Another process, on a database without faults, after the first was declared dead. */
  const takeOver = async () => {
    await sql(`update retoma.worker set dead_at = now()`)
    await begin(real)
  }
  /** A claim of the dead one may still have been on its way: the watchdog checks more than once. */
  const recovers = (id: string) =>
    until(async () => {
      await recoverOrphans(real, 10, clock.instant())
      await clock.advance(seconds(1))
      return (await row(id)).state === 'succeeded'
    })
  /** Both loops have done what they had to do and sleep; once a job has run, its time-out does too. */
  const asleep = () => until(() => clock.sleepers === 2 + (runs.length > 0 ? 1 : 0))
  return {
    ...{ db, real, clock, begin, beginAndDie, takeOver, recovers, close },
    ...{ enqueue, enqueueMany, sql, row, ended, settles, asleep, runs, hints, lines },
  }
}
