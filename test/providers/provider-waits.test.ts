/** A provider that asks to wait again and again: how long that may go on, and what people see of it. */
import { expect, test } from 'vitest'
import { type AnyJob, defineBatch, defineJob, type JobContext, minutes, seconds } from '../../src/index.ts'
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
