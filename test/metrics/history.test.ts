/** The history of the queues for charts: each attempt is counted once, in its minute and in its hour. */
import { expect, test } from 'vitest'
import { internalsOf } from '../../src/engine/internals.ts'
import { defineJob, type Engine, hours, minutes, seconds, skip, snooze } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { noCounts } from '../../src/metrics/model/histogram.ts'
import { addHistory, type HistoryRow, readHistory, writeHistory } from '../../src/metrics/sql/queue-history.ts'
import { HistoryCounter } from '../../src/worker/history-counter.ts'
import { engineWith, gate, timePasses, until } from '../support/engine.ts'
import { faulty, linkLost } from '../support/faulty-db.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()
const noon = at(0).getTime()

const rowOf = (queue: string, given: Partial<HistoryRow> = {}): HistoryRow => ({
  queue,
  seconds: 60,
  at: noon / 1000,
  started: 1,
  succeeded: 1,
  skipped: 0,
  failed: 0,
  retried: 0,
  deferred: 0,
  durationMs: 10,
  waitingMs: 20,
  durations: noCounts().fill(1),
  waitings: noCounts().fill(2),
  ...given,
})

const stored = async () =>
  (await readHistory(store.db, { from: at(0), to: at(3600), stepSeconds: 60, rowSeconds: 60, limit: 100 })).map(
    ({ queue, started, durations, waitings }) => [queue, started, durations[0], waitings[25]],
  )

const countsOf = async (engine: Engine, options = {}) => {
  const { queues } = await engine.metrics.history(options)
  return queues.map(({ queue, points }) => [
    queue,
    ...points.map(({ at: _, duration, waiting, ...counts }) => ({
      ...counts,
      waited: waiting.count,
      took: duration.count,
    })),
  ])
}

test('attempts are counted by queue and minute, with durations and waiting times; the hour has the same sums', async () => {
  let tries = 0
  const t = await engineWith(
    defineJob({ kind: 'good', queue: 'a', run: () => 1 }),
    defineJob({ kind: 'flaky', queue: 'a', backoff: { first: seconds(1), jitter: 0 }, run: () => { if (++tries < 2) throw new Error('no') } }),
    defineJob({ kind: 'bad', queue: 'b', maxAttempts: 1, run: () => { throw new Error('never') } }),
    defineJob({ kind: 'idle', queue: 'b', run: () => skip('nothing') }),
    defineJob({ kind: 'later', queue: 'b', run: ctx => (ctx.attempt === 1 ? snooze(seconds(1)) : null) }),
  ) // biome-ignore format: a kind a line
  for (const job of internalsOf(t.engine).kinds()) await t.engine.enqueue(job as never, undefined as never)
  await t.clock.advance(seconds(30))
  await t.run()
  await t.clock.advance(minutes(1))
  await t.run()
  const nothing = { started: 0, succeeded: 0, skipped: 0, failed: 0, retried: 0, deferred: 0 }
  expect(await countsOf(t.engine)).toEqual([
    ['a', { ...nothing, started: 2, succeeded: 1, retried: 1, waited: 2, took: 2 }, { ...nothing, started: 1, succeeded: 1, waited: 1, took: 1 }],
    ['b', { ...nothing, started: 3, skipped: 1, failed: 1, deferred: 1, waited: 3, took: 2 }, { ...nothing, started: 1, succeeded: 1, waited: 1, took: 1 }],
  ]) // biome-ignore format: a queue a line
  expect(await countsOf(t.engine, { step: 3600, queue: 'a' })).toEqual([
    ['a', { ...nothing, started: 3, succeeded: 2, retried: 1, waited: 3, took: 3 }],
  ])
  const { total, queues, bucketSeconds } = await t.engine.metrics.history({ step: 3600 })
  expect(total).toMatchObject([{ started: 7, succeeded: 3, failed: 1, waiting: { count: 7 } }])
  expect(bucketSeconds).toHaveLength(25)
  // Each job of the first minute had waited 30 s: the bucket from 20 to 50 s.
  expect(queues[0]!.points[0]!.waiting.p50Seconds).toBeGreaterThan(20)
  expect(queues[0]!.points[0]!.waiting.p50Seconds).toBeLessThanOrEqual(50)
})

test('a worker writes its counts with the next heartbeat, under the minutes in which they occurred', async () => {
  const running = gate()
  const job = defineJob({ kind: 'k', queue: 'q', timeout: hours(1), run: () => running.passed })
  const { engine, clock } = await engineWith(job)
  await engine.work()
  await engine.enqueue(job, undefined)
  await timePasses(clock, async () => (await countsOf(engine)).length > 0)
  await clock.advance(minutes(5))
  running.open()
  await timePasses(clock, async () => (await engine.metrics.history()).total.some(point => point.succeeded === 1))
  const { queues } = await engine.metrics.history()
  const [begun, ended] = queues[0]!.points
  expect([begun!.started, begun!.succeeded, ended!.started, ended!.succeeded]).toEqual([1, 0, 0, 1])
  expect(ended!.at.getTime() - begun!.at.getTime()).toBeGreaterThanOrEqual(minutes(5))
  expect(ended!.duration.meanSeconds).toBeGreaterThanOrEqual(300)
})

test('a write that is sent again adds nothing, and a worker without a row adds nothing', async () => {
  await store.worker('w')
  await writeHistory(store.db, 'w', 1, [rowOf('q')])
  await writeHistory(store.db, 'w', 1, [rowOf('q')])
  expect(await stored()).toEqual([['q', 1, 1, 2]])
  await writeHistory(store.db, 'w', 2, [rowOf('q')])
  await writeHistory(store.db, 'gone', 1, [rowOf('q')])
  expect(await stored()).toEqual([['q', 2, 2, 4]])
})

test.each(['before', 'after'] as const)(
  'a connection lost %s the commit loses no count and doubles none, and counts made meanwhile come with the next write',
  async when => {
    await store.worker('w')
    const db = faulty(store.db)
    db.fail('history_write', when, linkLost(), { times: 2 })
    const counter = new HistoryCounter({ db, log: silentLog })
    counter.started('q', noon, 5)
    await counter.flush('w')
    counter.started('q', noon, 5)
    await counter.flush('w')
    // Another incarnation: the write that is repeated keeps the id under which it began.
    await store.worker('w2')
    await counter.flush('w2')
    await counter.last('w2')
    await counter.last('w2')
    expect(await stored()).toEqual([['q', 2, 0, 0]])
  },
)

test('many workers add to the same minutes at once: every count is there, and nobody deadlocks', async () => {
  const dbs = [store.db, store.another(), store.another()]
  const queues = Array.from({ length: 20 }, (_, n) => `q${n}`)
  for (let n = 0; n < 6; n++) await store.worker(`w${n}`)
  const rows = (n: number) => (n % 2 === 0 ? queues : queues.toReversed()).map(queue => rowOf(queue))
  await Promise.all(
    Array.from({ length: 6 }, async (_, n) => {
      for (let seq = 1; seq <= 5; seq++) await writeHistory(dbs[n % 3]!, `w${n}`, seq, rows(n))
      await addHistory(dbs[n % 3]!, rows(n))
    }),
  )
  const found = await stored()
  expect(found).toHaveLength(20)
  expect(new Set(found.map(([, started]) => started))).toEqual(new Set([36]))
})

test('attempts that the watchdog ended are counted by the state they led to', async () => {
  const job = defineJob({ kind: 'k', queue: 'q', run: () => 1 })
  const t = await engineWith(job)
  const { id } = await t.engine.enqueue(job, undefined)
  await t.engine.transaction(async tx => {
    await tx.query(
      `update retoma.job set state = 'running', worker_id = 'w-gone', attempt = 1, started_at = run_at where id = $1`,
      [id],
    )
  })
  await t.tick()
  expect((await t.engine.metrics.history()).total).toMatchObject([{ started: 0, retried: 1, failed: 0 }])
})

test('minutes are kept for 48 hours and hours for 90 days; the janitor removes the rest', async () => {
  const job = defineJob({ kind: 'k', queue: 'q', run: () => 1 })
  const t = await engineWith(job)
  const work = async () => {
    await t.engine.enqueue(job, undefined)
    await t.run()
    await t.clean()
  }
  const rows = async () =>
    (
      await t.engine.query<{ seconds: number; n: number }>(
        `select seconds, count(*)::int as n from retoma.queue_history group by 1 order by 1`,
      )
    ).rows
  await work()
  await t.clock.advance(hours(48))
  await t.clean()
  expect(await rows()).toEqual([
    { seconds: 60, n: 1 },
    { seconds: 3600, n: 1 },
  ])
  await t.clock.advance(hours(4))
  await work()
  expect(await rows()).toEqual([
    { seconds: 60, n: 1 },
    { seconds: 3600, n: 2 },
  ])
  const week = await t.engine.metrics.history({ from: new Date(t.clock.now().getTime() - hours(24 * 7)) })
  expect(week.total.map(point => point.started)).toEqual([1, 1])
  await t.clock.advance(hours(24 * 91))
  await work()
  expect(await rows()).toEqual([
    { seconds: 60, n: 1 },
    { seconds: 3600, n: 1 },
  ])
})

test('a span with too many points over all queues is refused; one queue of it is answered', async () => {
  const job = defineJob({ kind: 'k', queue: 'q', run: () => 1 })
  const t = await engineWith(job)
  await t.engine.transaction(async tx => {
    await tx.query(
      `insert into retoma.queue_history (queue, seconds, at, started, succeeded, skipped, failed, retried, deferred, duration_ms, waiting_ms, durations, waitings)
       select 'q' || q, 60, date_trunc('minute', $1::timestamptz) - n * interval '1 minute', 1, 0, 0, 0, 0, 0, 0, 0, array_fill(0, '{26}'), array_fill(0, '{26}')
       from generate_series(1, 15) q, generate_series(1, 1400) n`,
      [t.clock.now()],
    )
  })
  const day = { from: new Date(t.clock.now().getTime() - hours(24)), step: 60 }
  await expect(t.engine.metrics.history(day)).rejects.toMatchObject({ code: 'bad_option' })
  expect((await t.engine.metrics.history({ ...day, queue: 'q7' })).total).toHaveLength(1400)
  await until(async () => (await t.engine.metrics.history({ ...day, step: 600 })).queues.length === 15)
})
