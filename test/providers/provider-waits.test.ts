/** A provider that asks to wait again and again: how long that may go on, and what people see of it. */
import { expect, test } from 'vitest'
import { internalsOf } from '../../src/engine/internals.ts'
import {
  type AnyJob,
  defineBatch,
  defineJob,
  type JobContext,
  minutes,
  providerWait,
  seconds,
} from '../../src/index.ts'
import { engineOf } from '../support/engine.ts'
import { batchOf, items, jobAsking, jobsOf, passes, service, wait } from '../support/providers.ts'

test('a provider that asks to wait for half an hour without one answer pauses the batch, which goes on by itself when it answers', async () => {
  const outside = service(() => wait())
  const job = jobAsking(id => outside.ask(id))
  const batch = batchOf(job, { stallAfter: minutes(5) })
  const t = await engineOf({ jobs: [job], batches: [batch] })
  const { id } = await t.engine.submit(batch, items(3))
  await t.run()
  for (let passed = 0; passed < 29; passed++) await passes(t, minutes(1))
  expect(await t.engine.batch(id)).toMatchObject({ state: 'running' })
  const [provider] = await t.engine.providers.list()
  expect(provider).toMatchObject({ state: 'waiting', waitsSince: new Date('2030-01-01T12:00:00Z') })
  for (let passed = 0; passed < 5; passed++) await passes(t, minutes(1))
  expect(await t.engine.batch(id)).toMatchObject({
    state: 'paused',
    reason: { code: 'provider', provider: 'openrouter', message: 'slow down' },
  })
  const calls = outside.calls.length
  for (let passed = 0; passed < 10; passed++) await passes(t, minutes(1))
  // One probe a minute, less where its wait is longer.
  expect(outside.calls.length - calls).toBeLessThanOrEqual(10)
  expect(outside.calls.length).toBeGreaterThan(calls)
  for (const each of await jobsOf(t, id)) expect(each).toMatchObject({ state: 'waiting', failures: 0 })
  outside.says = () => 'ok'
  for (let passed = 0; passed < 8; passed++) await passes(t, minutes(1))
  expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded', succeeded: 3 })
  expect((await t.engine.providers.list())[0]).toMatchObject({ state: 'open', consecutiveWaits: 0, waitsSince: null })
})

test('a provider that asks for hours at once pauses the batch after half an hour, and is asked no sooner than it said', async () => {
  const outside = service(() => wait(2 * 3600))
  const job = jobAsking(id => outside.ask(id))
  const batch = batchOf(job)
  const t = await engineOf({ jobs: [job], batches: [batch] })
  const { id } = await t.engine.submit(batch, items(3))
  await t.run()
  const calls = outside.calls.length
  for (let passed = 0; passed < 34; passed++) await passes(t, minutes(1))
  expect(await t.engine.batch(id)).toMatchObject({
    state: 'paused',
    reason: { code: 'provider', provider: 'openrouter' },
  })
  for (let passed = 0; passed < 60; passed += 5) await passes(t, minutes(5))
  expect(outside.calls).toHaveLength(calls)
  outside.says = () => 'ok'
  for (let passed = 0; passed < 60; passed += 5) await passes(t, minutes(5))
  expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded' })
})

test('waits that never count as a stop pause no batch: other jobs of the batch go on, and the wait reaches every job', async () => {
  const outside = service(() => providerWait({ message: 'no calls left today', neverStops: true }))
  const job = defineJob<{ asks: boolean }>({
    kind: 'ask-or-not',
    queue: 'q',
    run: (ctx, { asks }) => (asks ? ctx.provider('fipe', () => outside.ask(ctx.id)) : 'done'),
  })
  const batch = defineBatch({ name: 'b', job })
  const t = await engineOf({ jobs: [job], batches: [batch] })
  const { id } = await t.engine.submit(batch, [{ asks: true }, { asks: false }, { asks: true }])
  await t.run()
  for (let passed = 0; passed < 12 * 60; passed += 5) await passes(t, minutes(5))
  expect(await t.engine.batch(id)).toMatchObject({ state: 'running' })
  const [provider] = await t.engine.providers.list()
  expect(provider).toMatchObject({
    stoppedAt: null,
    waitsSince: new Date('2030-01-01T12:00:00Z'),
    message: 'no calls left today',
  })
  // No deferred job returns before the end of the wait: the wait has grown to 5 minutes, and one job asks at each end.
  expect(outside.calls.length).toBeLessThanOrEqual(12 * 12 + 10)
  expect((await jobsOf(t, id)).map(each => each.state)).toEqual(['waiting', 'succeeded', 'waiting'])
  outside.says = () => 'ok'
  for (let passed = 0; passed < 3; passed++) await passes(t, minutes(5))
  expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded', succeeded: 3 })
})

test('an ordinary wait after waits that never count as a stop begins the half hour', async () => {
  const outside = service(() => providerWait({ neverStops: true }))
  const job = jobAsking(id => outside.ask(id))
  const batch = batchOf(job)
  const t = await engineOf({ jobs: [job], batches: [batch] })
  const { id } = await t.engine.submit(batch, items(2))
  await t.run()
  for (let passed = 0; passed < 60; passed += 5) await passes(t, minutes(5))
  expect(await t.engine.batch(id)).toMatchObject({ state: 'running' })
  outside.says = () => wait()
  for (let passed = 0; passed < 20; passed += 5) await passes(t, minutes(5))
  expect(await t.engine.batch(id)).toMatchObject({ state: 'running' })
  for (let passed = 0; passed < 30; passed += 5) await passes(t, minutes(5))
  expect(await t.engine.batch(id)).toMatchObject({ state: 'paused', reason: { code: 'provider' } })
})

test('an answer in between begins the half hour anew', async () => {
  const outside = service(call => (call % 4 === 0 ? 'ok' : wait(120)))
  const job = jobAsking(id => outside.ask(id))
  const batch = batchOf(job)
  const t = await engineOf({ jobs: [job], batches: [batch] })
  const { id } = await t.engine.submit(batch, items(12))
  await t.run()
  for (let passed = 0; passed < 120; passed += 3) {
    await passes(t, minutes(3))
    expect((await t.engine.batch(id))!.state).not.toBe('paused')
  }
})

test('a model that waits keeps nobody from asking another model of the same provider', async () => {
  const asked: string[] = []
  const job: AnyJob = defineJob<{ model: string }>({
    kind: 'ask-model',
    queue: 'q',
    run: (ctx: JobContext, { model }) =>
      ctx.provider(`openrouter:${model}`, async () => {
        const answer = await ctx.provider('openrouter', () => {
          asked.push(model)
          return model
        })
        if (answer === 'busy') throw wait(60)
        return answer
      }),
  })
  const batch = defineBatch({ name: 'b', job })
  const t = await engineOf({ jobs: [job], batches: [batch] })
  const busy = await t.engine.submit(batch, [{ model: 'busy' }])
  await t.run()
  const free = await t.engine.submit(batch, [{ model: 'free' }])
  await t.clock.advance(seconds(1))
  await t.run()
  expect(asked).toEqual(['busy', 'free'])
  expect(await t.engine.batch(free.id)).toMatchObject({ state: 'succeeded' })
  expect(await t.engine.batch(busy.id)).toMatchObject({ state: 'running' })
})

/** A kind that asks the model of its input; the model `busy` asks for ten minutes. */
function jobOfModels() {
  const job = defineJob<{ model: string }>({
    kind: 'ask-model',
    queue: 'q',
    run: (ctx, { model }) =>
      ctx.provider(`openrouter:${model}`, () => {
        if (model === 'busy') throw wait(600)
        return model
      }),
  })
  return { job, batch: defineBatch({ name: 'b', job, stallAfter: minutes(5), onStall: 'stall' }) }
}

test('a wait of one model explains the batch and the job that met it, and no batch or job of another model', async () => {
  const { job, batch } = jobOfModels()
  const t = await engineOf({ jobs: [job], batches: [batch] })
  const busy = await t.engine.submit(batch, [{ model: 'busy' }])
  const { id: busyJob } = await t.engine.enqueue(job, { model: 'busy' })
  await t.run()
  const free = await t.engine.submit(batch, [{ model: 'free' }])
  const { id: freeJob } = await t.engine.enqueue(job, { model: 'free' })
  const worker = await internalsOf(t.engine).begin({}, 'by hand')
  const factsOf = async (of: { batch: string } | { job: string }) => {
    const { sentence, facts } = await t.engine.explain(of)
    return { sentence, provider: (facts.provider as { name: string } | null)?.name ?? null }
  }
  const [busyItem] = await jobsOf(t, busy.id)
  const [freeItem] = await jobsOf(t, free.id)
  for (const of of [{ batch: busy.id }, { job: busyItem!.id }, { job: busyJob }])
    expect(await factsOf(of)).toEqual({
      sentence: expect.stringContaining('provider "openrouter:busy" asks to wait'),
      provider: 'openrouter:busy',
    })
  for (const of of [{ batch: free.id }, { job: freeItem!.id }, { job: freeJob }]) {
    const explained = await factsOf(of)
    expect(explained).toMatchObject({ provider: null })
    expect(explained.sentence).not.toMatch(/^(batch|job) \d+ waits: provider/)
  }
  await worker.stop()
})

test('without a worker a batch of one model stalls after five minutes, while another model of the kind waits', async () => {
  const { job, batch } = jobOfModels()
  const t = await engineOf({ jobs: [job], batches: [batch] })
  const busy = await t.engine.submit(batch, [{ model: 'busy' }, { model: 'busy' }])
  await t.run()
  const free = await t.engine.submit(batch, [{ model: 'free' }])
  for (let passed = 0; passed < 320; passed += 5) {
    await t.clock.advance(seconds(5))
    await t.tick()
  }
  expect(await t.engine.batch(free.id)).toMatchObject({ state: 'stalled' })
  expect(await t.engine.batch(busy.id)).toMatchObject({ state: 'running' })
})
