/** The metrics of the whole system, read from any process. */

import pg from 'pg'
import { expect, test } from 'vitest'
import { internalsOf } from '../../src/engine/internals.ts'
import { defineJob, type Engine, seconds, skip, snooze } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { createMeter } from '../../src/metrics/metrics-registry.ts'
import { AttemptMetrics } from '../../src/worker/attempt-metrics.ts'
import { engineWith, liveEngine, until } from '../support/engine.ts'
import { faultyWorker } from '../support/faulty-worker.ts'

async function valuesOf(engine: Engine, name: string): Promise<Record<string, number>> {
  const family = (await engine.metrics.read()).find(each => each.name === name)!
  const named = ({ labels = {}, of }: (typeof family.samples)[number]) =>
    [...Object.values(labels), ...(of === undefined ? [] : [of])].join(' ')
  return Object.fromEntries(family.samples.map(sample => [named(sample), sample.value]))
}

test('how attempts ended and how long they took is counted, retries too, whichever process is asked', async () => {
  let tries = 0
  const t = await engineWith(
    defineJob({ kind: 'good', queue: 'q', run: () => 1 }),
    defineJob({ kind: 'flaky', queue: 'q', backoff: { first: seconds(1) }, run: () => { if (++tries < 3) throw new Error('not yet') } }),
    defineJob({ kind: 'bad', queue: 'q', maxAttempts: 1, run: () => { throw new Error('never') } }),
    defineJob({ kind: 'idle', queue: 'q', run: () => skip('nothing to do') }),
    defineJob({ kind: 'later', queue: 'q', run: ctx => (ctx.attempt === 1 ? snooze(seconds(1)) : null) }),
  ) // biome-ignore format: a kind a line
  for (const job of internalsOf(t.engine).kinds()) await t.engine.enqueue(job as never, {} as never)
  for (let i = 0; i < 4; i++) {
    await t.run()
    await t.clock.advance(seconds(10))
  }
  expect(await valuesOf(t.engine, 'retoma_attempts_total')).toEqual({
    'q bad failed': 1,
    'q flaky retried': 2,
    'q flaky succeeded': 1,
    'q good succeeded': 1,
    'q idle skipped': 1,
    'q later snoozed': 1,
    'q later succeeded': 1,
  })
  expect(await valuesOf(t.engine, 'retoma_retries_total')).toEqual({ 'q flaky': 2 })
  expect(await valuesOf(t.engine, 'retoma_job_duration_seconds')).toMatchObject({
    'q flaky 0.01 bucket': 3,
    'q flaky +Inf bucket': 3,
    'q flaky count': 3,
  })
})

test('counters do not go back when a worker is gone, and what it left is added up by who samples next', async () => {
  const job = defineJob({ kind: 'k', queue: 'q', run: () => 1 })
  const t = await engineWith(job)
  const ended = async () => (await valuesOf(t.engine, 'retoma_attempts_total'))['q k succeeded']
  for (let i = 1; i <= 3; i++) {
    await t.engine.enqueue(job, undefined)
    await t.run()
    expect(await ended()).toBe(i)
    await t.clock.advance(seconds(11))
    await t.sample()
    expect(await ended()).toBe(i)
  }
})

test('a worker that goes on working tells what it has counted every ten seconds, and only when it has', async () => {
  const job = defineJob({ kind: 'k', queue: 'q', run: () => 1 })
  const { engine, clock } = await engineWith(job)
  await engine.work()
  const ended = async () => (await valuesOf(engine, 'retoma_attempts_total'))['q k succeeded'] ?? 0
  const { id } = await engine.enqueue(job, undefined)
  await engine.wait({ job: id })
  expect(await ended()).toBe(0)
  await clock.advance(seconds(11))
  expect(await ended()).toBe(1)
})

test('what the watchdog ends is counted, by what it was', async () => {
  const job = defineJob({ kind: 'k', queue: 'q', run: () => 1 })
  const t = await engineWith(job)
  await t.engine.enqueueMany(job, [undefined, undefined])
  const client = new pg.Client({ connectionString: t.databaseUrl })
  await client.connect()
  await client.query(`update retoma.job set state = 'running', worker_id = 'w-gone', attempt = 1, started_at = run_at`)
  await client.end()
  await t.tick()
  expect(await valuesOf(t.engine, 'retoma_attempts_total')).toEqual({ 'q k orphaned': 2 })
})

test('while somebody works, what is live is counted with the checks of the watchdog', async () => {
  const job = defineJob({ kind: 'k', queue: 'q', run: () => 1 })
  const { engine, clock } = await engineWith(job)
  await engine.work()
  await engine.enqueue(job, undefined, { delay: seconds(3600) })
  await clock.advance(seconds(6))
  expect(await engine.metrics.stats()).toMatchObject({ queues: [{ queue: 'q', scheduled: 1 }], workers: 1 })
  await engine.enqueue(job, undefined, { delay: seconds(3600) })
  await clock.advance(seconds(11))
  expect(await engine.metrics.stats()).toMatchObject({ queues: [{ queue: 'q', scheduled: 2 }] })
})

test('stats tell each queue and kind as they were last counted, and who works', async () => {
  const job = defineJob({ kind: 'k', queue: 'q', run: () => 1 })
  const t = await engineWith(job)
  expect(await t.engine.metrics.stats()).toMatchObject({ sampledAt: null, workers: 0, oldestReadySeconds: null })
  await t.engine.enqueueMany(job, [undefined, undefined])
  await t.engine.enqueue(job, undefined, { delay: seconds(100) })
  await t.clock.advance(seconds(30))
  await t.sample()
  await t.clock.advance(seconds(5))
  expect(await t.engine.metrics.stats()).toMatchObject({
    queues: [{ queue: 'q', paused: false, ready: 2, scheduled: 1, running: 0, stalled: 0, oldestReadySeconds: 35 }],
    kinds: [{ queue: 'q', kind: 'k', ready: 2, scheduled: 1, running: 0, stalled: 0 }],
    oldestReadySeconds: 35,
    sampledAt: new Date(t.clock.now().getTime() - 5000),
  })
})

test('a flood of kinds and of names that others choose ends in one series for the rest', () => {
  const metrics = new AttemptMetrics()
  for (let i = 0; i < 1000; i++) metrics.ended({ queue: 'q', kind: `k${i}` }, { state: 'skipped', reason: '' }, 1)
  const series = metrics.take()
  expect(series.length).toBeLessThan(1000)
  expect(series.find(each => each.labels.kind === 'other' && each.labels.outcome === 'skipped')?.value).toEqual([700])

  const meter = createMeter()
  const hits = { name: 'hits', type: 'counter', help: 'Hits' } as const
  for (let i = 0; i < 1000; i++) meter.add(hits, 1, { bucket: `b${i}` })
  return expect(meter.families(silentLog)).resolves.toContainEqual(
    expect.objectContaining({
      name: 'hits',
      samples: expect.arrayContaining([{ labels: { bucket: 'other' }, value: 700 }]),
    }),
  )
})

test('a source of an app that fails takes nothing else with it', async () => {
  const meter = createMeter()
  meter.include(() => {
    throw new Error('away')
  })
  meter.include(async () => [{ name: 'mine', type: 'gauge', help: 'Mine', samples: [{ value: 3 }] }])
  const names = (await meter.families(silentLog)).map(each => each.name)
  expect(names).toContain('mine')
  expect(names).toContain('process_resident_memory_bytes')
})

test('whether a process can claim is known of one that works, and of no other', async () => {
  const job = defineJob({ kind: 'k', run: () => 1 })
  const { engine } = await liveEngine([job])
  expect(await internalsOf(engine).claimLag()).toBeNull()
  const worker = await engine.work()
  await until(async () => ((await internalsOf(engine).claimLag()) ?? 99) < 5)
  await worker.stop()
  expect(await internalsOf(engine).claimLag()).toBeNull()
})

test('a worker whose claims fail says since when', async () => {
  const { db, clock, begin, enqueue } = await faultyWorker()
  const worker = await begin()
  await clock.advance(seconds(1))
  db.fail('claim', 'before', new Error('no'), { times: 1000 })
  await enqueue()
  await clock.advance(seconds(20))
  expect(worker.unaskedMs).toBeGreaterThan(15_000)
})

test('what a worker could not write is written with the next, and a write whose answer was lost counts once', async () => {
  const { db, clock, begin, enqueue, ended, sql } = await faultyWorker()
  // Enqueue before the worker starts: the worker gets no wake-up, and the clock stands until the test advances it.
  const id = await enqueue()
  const reported = async () =>
    (
      await sql<{ n: number }>(`select (value -> 0)::int as n from retoma.metric where name = 'retoma_attempts_total'`)
    ).map(each => each.n)
  db.fail('metric_write', 'before', new Error('no'))
  await begin()
  await ended(id)
  await clock.advance(seconds(11))
  expect(await reported()).toEqual([])
  db.fail('metric_write', 'after', new Error('lost'))
  await clock.advance(seconds(10))
  expect(await reported()).toEqual([1])
  await clock.advance(seconds(10))
  expect(await reported()).toEqual([1])
  expect(db.asked.filter(each => each === 'metric_write')).toHaveLength(3)
  await clock.advance(seconds(30))
  expect(db.asked.filter(each => each === 'metric_write')).toHaveLength(3)
})
