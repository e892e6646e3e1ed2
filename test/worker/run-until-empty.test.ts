/** Work without a permanent process: `engine.runUntilEmpty` works until nothing is ready or the time is up. */
import { expect, onTestFinished, test } from 'vitest'
import {
  defineBatch,
  defineJob,
  hours,
  minutes,
  type QueueLimits,
  type RunUntilEmptyResult,
  seconds,
  skip,
} from '../../src/index.ts'
import { aborted, engineOf, engineWith, gate, liveEngine, timePasses, until } from '../support/engine.ts'

const none = { attempts: 0, succeeded: 0, skipped: 0, failed: 0, retried: 0, deferred: 0, released: 0 }

test('it runs whatever is ready, the jobs of its own handlers too, and counts the attempts by outcome', async () => {
  const leaf = defineJob({ kind: 'leaf', run: () => 1 })
  const way = defineJob<string>({
    kind: 'way',
    maxAttempts: 2,
    backoff: { first: hours(1) },
    run: async (_, how) => {
      if (how === 'fails') throw new Error('no')
      if (how === 'enqueues') await engine.enqueueMany(leaf, [undefined, undefined])
      return how === 'skips' ? skip('none') : how
    },
  })
  const { engine } = await engineWith(way, leaf)
  await engine.enqueueMany(way, ['fails', 'enqueues', 'skips'])
  await engine.enqueue(leaf, undefined, { delay: hours(2) })
  expect(await engine.runUntilEmpty()).toEqual({
    ...none,
    attempts: 5,
    succeeded: 3,
    skipped: 1,
    retried: 1,
    empty: true,
  })
  expect(await engine.runUntilEmpty({ maxMs: 20_000 })).toEqual({ ...none, empty: true })
})

test('the onComplete job of a batch that it ends runs in the same call', async () => {
  const ends: unknown[] = []
  const report = defineJob<unknown>({ kind: 'report', run: (_, end) => void ends.push(end) })
  const batch = defineBatch({ name: 'b', job: defineJob<number>({ kind: 'item', run: () => 1 }), onComplete: report })
  const { engine } = await engineOf({ batches: [batch] })
  await engine.submit(batch, [1, 2, 3])
  expect(await engine.runUntilEmpty()).toMatchObject({ succeeded: 4, empty: true })
  expect(ends).toHaveLength(1)
})

test('when the time is up, signals abort, what has not ended goes back uncounted, and the next call goes on', async () => {
  const [begun, heard] = [gate(), gate<unknown>()]
  let attempts = 0
  const endless = defineJob({
    kind: 'endless',
    run: async ctx => {
      if (++attempts > 1) return 'done'
      begun.open()
      heard.open(await aborted(ctx.signal))
      return new Promise<string>(() => {})
    },
  })
  const { engine, clock } = await engineWith(endless)
  const { id } = await engine.enqueue(endless, undefined)
  const working = engine.runUntilEmpty({ maxMs: 20_000 })
  await begun.passed
  await clock.advance(seconds(15))
  expect(await heard.passed).toMatchObject({ code: 'worker_stopping' })
  await clock.advance(seconds(5))
  expect(await working).toEqual({ ...none, attempts: 1, released: 1, empty: false })
  expect(await engine.job(id)).toMatchObject({ state: 'waiting', failures: 0 })
  expect(await engine.workers.list()).toEqual([])
  expect(await engine.runUntilEmpty({ maxMs: 20_000 })).toMatchObject({ succeeded: 1, empty: true })
})

test('a slow job does not keep others waiting, and its worker is there with heartbeats meanwhile', async () => {
  const slow = gate()
  const done: string[] = []
  const job = defineJob<string>({
    kind: 'mixed',
    run: async (_, name) => {
      if (name === 'slow') await slow.passed
      done.push(name)
    },
  })
  const { engine } = await liveEngine([job])
  await engine.enqueueMany(job, ['slow', ...Array.from({ length: 60 }, (_, n) => `quick ${n}`)])
  const working = engine.runUntilEmpty({ queues: { default: 2 } })
  await until(() => done.length === 60)
  // The outcomes of the quick jobs are written a little later.
  await until(async () => (await engine.workers.list())[0]?.running === 1)
  expect(await engine.workers.list()).toMatchObject([{ dead: false, running: 1 }])
  slow.open()
  expect(await working).toMatchObject({ succeeded: 61, empty: true })
})

test('a handler hears a cancel of another process before any heartbeat, and after the call no connection listens', async () => {
  const [begun, heard] = [gate(), gate<unknown>()]
  const long = defineJob({
    kind: 'long',
    run: async ctx => {
      begun.open()
      heard.open(await aborted(ctx.signal))
    },
  })
  // On a virtual clock that nobody moves there is no heartbeat.
  const { engine, databaseUrl } = await engineWith(long)
  const other = await liveEngine([], {}, databaseUrl)
  const listeners = async () =>
    (
      await other.engine.query(
        `select from pg_stat_activity where datname = current_database() and query = 'listen retoma_wake'`,
      )
    ).rowCount
  const { id } = await engine.enqueue(long, undefined)
  const calls = [engine.runUntilEmpty(), engine.runUntilEmpty()]
  await begun.passed
  await until(async () => (await listeners()) === 1)
  // The call without a job ends, and the other call still listens.
  await Promise.race(calls)
  expect(await listeners()).toBe(1)
  await other.engine.jobs.cancel(id)
  expect(await heard.passed).toMatchObject({ code: 'lease_lost' })
  expect(await Promise.all(calls)).toMatchObject([{ empty: true }, { empty: true }])
  await until(async () => (await listeners()) === 0)
})

test('a call ends when its engine closes', async () => {
  const begun = gate()
  const job = defineJob({
    kind: 'waits',
    run: async ctx => {
      begun.open()
      await aborted(ctx.signal)
    },
  })
  const { engine } = await liveEngine([job])
  await engine.enqueue(job, undefined)
  const working = engine.runUntilEmpty()
  await begun.passed
  await engine.close()
  expect((await working).empty).toBe(false)
})

/** Jobs of a queue with a rate, and the instants of their starts. */
async function withRate(limits: QueueLimits, jobs: number) {
  const starts: number[] = []
  const job = defineJob({ kind: 'sent', queue: 'q', run: () => void starts.push(clock.elapsed()) })
  const { engine, clock } = await engineOf({ jobs: [job], limits: { q: limits } })
  await engine.enqueueMany(
    job,
    Array.from({ length: jobs }, () => undefined),
    { groupKey: 'a' },
  )
  return { engine, clock, job, starts }
}

test.each<[string, QueueLimits]>([
  ['queue', { rate: { limit: 1, per: seconds(1) } }],
  ['group', { perGroup: { rate: { limit: 1, per: seconds(1) } } }],
])('a call waits for the rate of a %s, and is empty only when no ready job is left', async (_, limits) => {
  const { engine, clock, starts } = await withRate(limits, 4)
  let result: RunUntilEmptyResult | undefined
  const working = engine.runUntilEmpty().then(answer => {
    result = answer
  })
  await timePasses(clock, () => result !== undefined)
  await working
  expect(result).toMatchObject({ attempts: 4, succeeded: 4, empty: true })
  expect(starts.every((at, n) => n === 0 || at - starts[n - 1]! >= 1000)).toBe(true)
})

test('ready jobs whose rate allows no start within the time are left, and the call says so at once', async () => {
  const { engine } = await withRate({ rate: { limit: 1, per: minutes(1) } }, 3)
  // Nobody moves the clock.
  expect(await engine.runUntilEmpty({ maxMs: 20_000 })).toMatchObject({ succeeded: 1, empty: false })
  expect(await engine.runUntilEmpty({ maxMs: 20_000 })).toMatchObject({ attempts: 0, empty: false })
})

test('a rate without further ready jobs keeps no call waiting', async () => {
  const { engine, job, starts } = await withRate({ rate: { limit: 1, per: hours(1) } }, 1)
  await engine.enqueue(job, undefined, { delay: seconds(5) })
  expect(await engine.runUntilEmpty()).toMatchObject({ succeeded: 1, empty: true })
  expect(starts).toHaveLength(1)
})

test('a call whose worker cannot begin leaves no timer behind', async () => {
  const { engine, clock } = await engineWith()
  const sleepers = clock.sleepers
  await engine.query('alter table retoma.worker rename to worker_gone')
  onTestFinished(async () => void (await engine.query('alter table retoma.worker_gone rename to worker')))
  await expect(engine.runUntilEmpty({ maxMs: 20_000 })).rejects.toThrow()
  expect(clock.sleepers).toBe(sleepers)
})

test.each([[0], [-1], [Number.NaN], ['20s'], [Number.POSITIVE_INFINITY]])('maxMs %s is refused', async maxMs => {
  const { engine } = await engineWith()
  await expect(engine.runUntilEmpty({ maxMs: maxMs as number })).rejects.toMatchObject({
    code: 'bad_option',
    facts: { option: 'maxMs' },
  })
})
