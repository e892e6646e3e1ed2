/** Limits as people set them: over all workers, for what is enqueued before and after, and reported when they refuse. */
import { expect, test } from 'vitest'
import {
  type AnyJob,
  createEngine,
  defineJob,
  milliseconds,
  minutes,
  type QueueLimits,
  seconds,
} from '../../src/index.ts'
import { VirtualClock } from '../../src/testing/index.ts'
import { engineOf, engineWith, gate, liveEngine, shareDatabase, timePasses, until } from '../support/engine.ts'
import { englishIn } from '../support/portuguese.ts'

/** A job that counts how many of it run at once, in all and by group. */
function audited() {
  const running = new Map<string, number>()
  const seen = { most: 0, mostOfOne: 0, ended: 0 }
  const job = defineJob({
    kind: 'audited',
    queue: 'q',
    run: async (_, { group }: { group: string }) => {
      running.set(group, (running.get(group) ?? 0) + 1)
      seen.mostOfOne = Math.max(seen.mostOfOne, running.get(group)!)
      seen.most = Math.max(
        seen.most,
        [...running.values()].reduce((a, b) => a + b, 0),
      )
      await new Promise(resolve => setImmediate(resolve))
      running.set(group, running.get(group)! - 1)
      seen.ended++
    },
  })
  return { job, seen }
}

const limited = (job: AnyJob, limits: QueueLimits | undefined, url: string) =>
  liveEngine([job], { connections: 4, ...(limits ? { limits: { q: limits } } : {}) }, url).then(({ engine }) => engine)

test('over several workers no more run at once than queue and group allow, and all of it is used', async () => {
  const { job, seen } = audited()
  const url = await shareDatabase()
  const limits = { concurrency: 5, perGroup: { concurrency: 2 } }
  const all = await Promise.all([1, 2, 3].map(() => limited(job, limits, url)))
  for (const engine of all) await engine.work({ queues: { q: 10 } })
  const groups = ['a', 'b', 'c', 'd']
  const inputs = Array.from({ length: 200 }, (_, i) => ({ group: groups[i % 4]! }))
  await all[0]!.enqueueMany(job, inputs, { each: input => ({ groupKey: input.group }) })
  await until(() => seen.ended === 200)
  expect(seen.most).toBeLessThanOrEqual(5)
  expect(seen.mostOfOne).toBeLessThanOrEqual(2)
  expect(seen.most).toBeGreaterThan(2)
})

test('a place under the limit that one worker frees is used by another, which had found none', async () => {
  const first = gate()
  const started: string[] = []
  const job = defineJob({
    kind: 'k',
    queue: 'q',
    run: async ctx => {
      started.push(ctx.id)
      if (started.length === 1) await first.passed
    },
  })
  const url = await shareDatabase()
  // The clock is stopped, so nobody polls: who hears nothing does nothing.
  const clock = new VirtualClock()
  const options = { limits: { q: { concurrency: 1 } }, clock, connections: 4 }
  const [{ engine: a }, { engine: b }] = [await liveEngine([job], options, url), await liveEngine([job], options, url)]
  const worker = await a.work({ queues: { q: 1 } })
  const one = await a.enqueue(job, undefined)
  await until(() => started.length === 1)
  await b.work({ queues: { q: 1 } })
  const two = await b.enqueue(job, undefined)
  await clock.advance(milliseconds(1)) // by then it has asked
  // The first worker takes nothing more, so only the other can.
  const stopped = worker.stop()
  first.open()
  await stopped
  await until(async () => (await b.job(two.id))?.state === 'succeeded')
  expect(await b.job(one.id)).toMatchObject({ state: 'succeeded' })
})

test('a rate lets jobs start as time passes, by the clock, without a hint', async () => {
  const starts: number[] = []
  const job = defineJob({ kind: 'k', queue: 'q', run: () => void starts.push(clock.elapsed()) })
  const { engine, clock } = await engineOf({ jobs: [job], limits: { q: { rate: { limit: 2, per: seconds(10) } } } })
  await engine.enqueueMany(job, [undefined, undefined, undefined, undefined, undefined])
  await engine.work()
  await until(() => starts.length === 2)
  await clock.advance(milliseconds(9999))
  expect(starts).toHaveLength(2)
  await timePasses(clock, () => starts.length === 5)
  expect(starts[2]! - starts[0]!).toBeGreaterThanOrEqual(10_000)
  expect(starts[4]! - starts[2]!).toBeGreaterThanOrEqual(10_000)
  expect(starts[4]! - starts[0]!).toBeLessThan(22_000)
})

test('limits that come while jobs wait hold for them, and when they go everything runs', async () => {
  const { job, seen } = audited()
  const url = await shareDatabase()
  const open = await limited(job, undefined, url)
  await open.enqueueMany(
    job,
    Array.from({ length: 40 }, () => ({ group: 'a' })),
  )
  const strict = await limited(job, { concurrency: 1 }, url)
  await strict.work({ queues: { q: 10 } })
  await until(() => seen.ended >= 20)
  expect(seen.most).toBe(1)
  const lifted = await limited(job, {}, url)
  expect(await lifted.queues.list()).toMatchObject([{ queue: 'q', limits: {} }])
  await open.work({ queues: { q: 10 } })
  await until(() => seen.ended === 40)
})

test('a paused queue starts nothing until it goes on; a repeated call changes nothing', async () => {
  const job = defineJob({ kind: 'k', queue: 'q', run: () => 1 })
  const { engine, run } = await engineWith(job)
  expect(await engine.queues.pause('q')).toEqual({ queue: 'q', paused: true, changed: true })
  expect(await engine.queues.pause('q')).toEqual({ queue: 'q', paused: true, changed: false })
  const { id } = await engine.enqueue(job, undefined)
  expect(await run()).toBe(0)
  expect(await engine.queues.list()).toMatchObject([{ queue: 'q', paused: true, ready: 1 }])
  expect(await engine.queues.resume('q')).toEqual({ queue: 'q', paused: false, changed: true })
  expect(await run()).toBe(1)
  expect(await engine.job(id)).toMatchObject({ state: 'succeeded' })
  await expect(engine.queues.pause('nobody')).rejects.toMatchObject({
    code: 'not_found',
    message: expect.stringContaining('no queue "nobody"'),
  })
})

test('a worker of another process goes on by itself when a queue is resumed', async () => {
  const job = defineJob({ kind: 'k', queue: 'q', run: () => 1 })
  const url = await shareDatabase()
  const [a, b] = [await limited(job, undefined, url), await limited(job, undefined, url)]
  await a.queues.pause('q')
  await b.work()
  const { id } = await a.enqueue(job, undefined)
  await a.queues.resume('q')
  expect(await b.wait({ job: id })).toMatchObject({ state: 'succeeded' })
})

test('a full queue refuses with queue_full and takes nothing of a list that does not fit; when some have run it takes more', async () => {
  const job = defineJob({ kind: 'k', queue: 'q', run: () => 1 })
  const { engine, run } = await engineOf({ jobs: [job], limits: { q: { maxDepth: 3, concurrency: 100 } } })
  await engine.enqueueMany(job, [undefined, undefined])
  await expect(engine.enqueueMany(job, [undefined, undefined])).rejects.toMatchObject({
    code: 'queue_full',
    status: 429,
    facts: { queue: 'q', waiting: 2, most: 3 },
  })
  await engine.enqueue(job, undefined)
  await expect(engine.enqueue(job, undefined)).rejects.toMatchObject({ code: 'queue_full' })
  async function* stream() {
    yield undefined
  }
  await expect(engine.enqueueMany(job, stream())).rejects.toMatchObject({ code: 'queue_full' })
  expect(await engine.queues.list()).toMatchObject([{ ready: 3 }])
  expect(await run()).toBe(3)
  await engine.enqueueMany(job, [undefined, undefined, undefined])
})

test('limits that are none are refused with their name, and nothing is written', async () => {
  const { engine, databaseUrl } = await engineWith()
  const bad = [
    [{ q: { concurrency: 0 } }, 'limits.q.concurrency'],
    [{ q: { concurrency: 1.5 } }, 'limits.q.concurrency'],
    [{ q: { rate: { limit: 5 } } }, 'limits.q.rate'],
    [{ q: { rate: { limit: 5, per: -1 } } }, 'limits.q.rate.per'],
    [{ q: { rate: { limit: 5, per: 60 } } }, 'limits.q.rate.per'],
    [{ q: { rate: { limit: 5, per: minutes(60 * 25) } } }, 'limits.q.rate.per'],
    [{ q: { perGroup: { maxDepth: 5 } } }, 'limits.q.perGroup.maxDepth'],
    [{ q: { perGroup: { concurency: 5 } } }, 'limits.q.perGroup.concurency'],
    [{ q: { perGroup: { a: { concurrency: 0 } } } }, 'limits.q.perGroup.a.concurrency'],
    [{ q: { perGroup: { a: { admit: { limit: 5, per: 60_000 } } } } }, 'limits.q.perGroup.a.admit'],
    [{ q: { perGroup: { a: { rate: { limit: 5 } } } } }, 'limits.q.perGroup.a.rate'],
    [{ q: { perGroup: { 'x\0': { concurrency: 1 } } } }, 'limits.q.perGroup'],
    [{ q: { fair: 'tenant' } }, 'limits.q.fair'],
    [{ q: { fair: 'batch', perGroup: { a: { concurrency: 1 } } } }, 'limits.q.fair'],
    [{ q: { weights: { a: 2 } } }, 'limits.q.weights'],
    [{ q: { fair: 'group', weights: { a: 0 } } }, 'limits.q.weights.a'],
    [{ q: { fair: 'group', weights: { a: 101 } } }, 'limits.q.weights.a'],
    [{ q: { fair: 'group', weights: 2 } }, 'limits.q.weights'],
    [{ q: { concurency: 5 } }, 'limits.q.concurency'],
    [{ q: { maxDepth: '5' } }, 'limits.q.maxDepth'],
    [{ q: 5 }, 'limits.q'],
    [[], 'limits'],
    [new Map(), 'limits'],
    [{ 'a b': {} }, 'limits.a b'],
    [{ 'x\0': {} }, 'limits.x\0'],
  ] as const
  for (const [limits, option] of bad) {
    const made = createEngine({ databaseUrl, limits: limits as never })
    const error = await made.catch((refusal: unknown) => refusal)
    expect(error).toMatchObject({ code: 'bad_option', facts: { option } })
    expect(englishIn(error)).toEqual([])
  }
  expect(await engine.queues.list()).toEqual([])
})

test('groups have their turns, whatever the limit of the queue and whatever their keys', async () => {
  for (const [first, second] of [
    ['a', 'b'],
    ['～', '😀'],
  ] as const) {
    const order: string[] = []
    const job = defineJob({ kind: 'k', queue: 'q', run: (_, group: string) => void order.push(group) })
    const limits = { q: { concurrency: 2, perGroup: { concurrency: 2 } } }
    const { engine, run } = await engineOf({ jobs: [job], limits })
    const inputs = [...Array.from({ length: 20 }, () => first), second]
    await engine.enqueueMany(job, inputs, { each: group => ({ groupKey: group }) })
    await run()
    expect(order.indexOf(second)).toBeLessThan(5)
  }
})

test('the ten jobs of one tenant start while thousands of another wait, and weights share the slots', async () => {
  const started: string[] = []
  const hold = gate()
  const job = defineJob({
    kind: 'k',
    queue: 'q',
    run: async (_, group: string) => {
      started.push(group)
      await hold.passed
    },
  })
  const { engine } = await liveEngine([job], { limits: { q: { fair: 'group', weights: { big: 3 } } } })
  await engine.enqueueMany(
    job,
    Array.from({ length: 2000 }, () => 'big'),
    { groupKey: 'big' },
  )
  await engine.enqueueMany(
    job,
    Array.from({ length: 10 }, () => 'small'),
    { groupKey: 'small' },
  )
  await engine.work({ queues: { q: 20 } })
  await until(() => started.length === 20)
  expect(started.filter(group => group === 'small')).toHaveLength(5)
  hold.open()
  await until(() => started.filter(group => group === 'small').length === 10)
  expect(started.length).toBeLessThan(2010)
})

test('limits that change while a worker of another process is idle or full hold there at once, without a poll', async () => {
  const running = new Map<string, number>()
  let hold = gate()
  const job = defineJob({
    kind: 'k',
    queue: 'q',
    run: async (_, group: string) => {
      running.set(group, (running.get(group) ?? 0) + 1)
      await hold.passed
      running.set(group, running.get(group)! - 1)
    },
  })
  const url = await shareDatabase()
  // The clock is stopped, so nobody polls: who hears nothing does nothing.
  const clock = new VirtualClock()
  const [{ engine: a }, { engine: b }] = [
    await liveEngine([job], { clock, connections: 4 }, url),
    await liveEngine([job], { clock, connections: 4 }, url),
  ]
  await b.work({ queues: { q: 100 } })
  // Idle: the queue gets its first limit before its first jobs.
  await a.queues.setLimits('q', { perGroup: { 'tenant-7': { concurrency: 2 } } })
  const inputs = Array.from({ length: 40 }, (_, i) => (i % 2 ? 'tenant-7' : 'tenant-8'))
  await a.enqueueMany(job, inputs, { each: group => ({ groupKey: group }) })
  await until(() => running.get('tenant-8') === 20)
  expect(running.get('tenant-7')).toBe(2)
  // Full: the limit rises while no job ends.
  await a.queues.setLimits('q', { perGroup: { 'tenant-7': { concurrency: 5 } } })
  await until(() => running.get('tenant-7') === 5)
  const passed = hold
  hold = gate()
  // The limit falls: as jobs end, no more than two start.
  await a.queues.setLimits('q', { perGroup: { 'tenant-7': { concurrency: 2 } } })
  passed.open()
  await until(() => running.get('tenant-7') === 2)
  expect(running.get('tenant-8')).toBe(0)
  // No limit at all: the rest starts.
  await a.queues.setLimits('q', {})
  await until(() => running.get('tenant-7') === 15)
  hold.open()
  await until(async () => (await a.queues.list())[0]?.running === 0)
})

test('jobs that run count in the first limit of their group: the next starts when fewer run than the limit allows', async () => {
  const ends: (() => void)[] = []
  const besides: number[] = []
  let running = 0
  const job = defineJob({
    kind: 'k',
    queue: 'q',
    run: async () => {
      besides.push(running++)
      await new Promise<void>(resolve => ends.push(resolve))
      running--
    },
  })
  const { engine } = await liveEngine([job])
  const inputs = Array.from({ length: 8 }, () => undefined)
  await engine.enqueueMany(job, inputs, { groupKey: 'tenant-7' })
  await engine.work({ queues: { q: 6 } })
  await until(() => running === 6)
  await engine.queues.setLimits('q', { perGroup: { 'tenant-7': { concurrency: 2 } } })
  // Another worker has free slots.
  await engine.work({ queues: { q: 6 } })
  for (const left of [5, 4, 3, 2]) {
    ends.shift()!()
    await until(async () => (await engine.queues.list())[0]!.running === left)
  }
  for (const started of [7, 8]) {
    ends.shift()!()
    await until(() => besides.length === started)
  }
  for (const end of ends) end()
  expect(besides).toEqual([0, 1, 2, 3, 4, 5, 1, 1])
})

test('a restart keeps the limits that an operator set; other limits in the code replace them, once', async () => {
  const job = defineJob({ kind: 'k', queue: 'q', run: () => {} })
  const url = await shareDatabase()
  const limitsAfter = async (limits: QueueLimits | undefined) => {
    const engine = await limited(job, limits, url)
    const [queue] = await engine.queues.list()
    await engine.close()
    return queue!.limits
  }
  expect(await limitsAfter({ concurrency: 5 })).toEqual({ concurrency: 5 })
  const operator = await limited(job, undefined, url)
  await operator.queues.setLimits('q', { concurrency: 2 })
  for (const limits of [{ concurrency: 5 }, undefined, { concurrency: 5 }])
    expect(await limitsAfter(limits)).toEqual({ concurrency: 2 })
  expect(await limitsAfter({ concurrency: 7 })).toEqual({ concurrency: 7 })
  await operator.queues.setLimits('q', {})
  expect(await limitsAfter({ concurrency: 7 })).toEqual({})
})
