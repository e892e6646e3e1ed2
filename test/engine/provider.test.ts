/** Services outside that ask jobs to wait, or stop: `ctx.provider` and what all workers make of it. */
import { describe, expect, test } from 'vitest'
import {
  type AnyJob,
  defineBatch,
  defineJob,
  type JobContext,
  minutes,
  providerStop,
  providerWait,
  seconds,
} from '../../src/index.ts'
import type { TestEngine } from '../../src/testing/index.ts'
import { engineOf, gate } from '../support/engine.ts'

const noBackoff = { first: seconds(0.001), factor: 1, max: seconds(1), jitter: 0 }

/** A provider in the hands of a test: it answers what `says` says, and keeps a ledger of when it was asked. */
function service(says: (call: number) => unknown = () => 'ok') {
  const calls: string[] = []
  const service = {
    says,
    calls,
    ask(job: string): unknown {
      calls.push(job)
      const answer = service.says(calls.length)
      if (answer instanceof Error) throw answer
      return answer
    },
  }
  return service
}

const jobAsking = (ask: (id: string) => unknown, more: object = {}): AnyJob =>
  defineJob({
    kind: 'ask',
    queue: 'q',
    attempts: 2,
    backoff: noBackoff,
    ...more,
    run: (ctx: JobContext) => ctx.step('answer', () => ctx.provider('openrouter', () => ask(ctx.id))),
  })

const batchOf = (job: AnyJob, more: object = {}) => defineBatch({ name: 'b', job, ...more })
const items = (count: number) => Array.from({ length: count }, () => undefined)

async function jobsOf({ engine }: TestEngine, batch: string) {
  return (await engine.items(batch, { limit: 500 })).items
}

/** The clock moves on, and everything ticks. */
async function passes(t: TestEngine, duration: Parameters<TestEngine['clock']['advance']>[0]): Promise<number> {
  await t.clock.advance(duration)
  await t.tick()
  return t.run()
}

/** The same, and nobody works. */
async function isWatched(t: TestEngine, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 5000) {
    await t.clock.advance(seconds(5))
    await t.tick()
  }
}

const wait = (retryAfter?: number) =>
  providerWait({
    ...(retryAfter === undefined ? {} : { retryAfter: seconds(retryAfter) }),
    code: '429',
    message: 'slow down',
  })
const stop = () => providerStop({ code: '402', message: 'Insufficient credits' })

describe('a provider that says wait', () => {
  test('is not asked by any worker until then, and no try is spent', async () => {
    const outside = service(call => (call === 1 ? wait(30) : 'ok'))
    const job = jobAsking(id => outside.ask(id))
    const t = await engineOf({ jobs: [job] })
    const first = await t.engine.enqueue(job, undefined)
    await t.run()
    const others = await t.engine.enqueueMany(job, items(5))
    await t.run()
    expect(outside.calls).toHaveLength(1)
    expect((await t.engine.providers())[0]).toMatchObject({
      name: 'openrouter', state: 'waiting', waits: 1, code: '429', message: 'slow down', kinds: ['ask'],
    }) // biome-ignore format: one row
    await t.clock.advance(seconds(29))
    expect(await t.run()).toBe(0)
    await t.clock.advance(seconds(5))
    expect(await t.run()).toBe(6)
    expect(outside.calls).toHaveLength(7)
    for (const id of [first.id, ...others.ids]) {
      const view = (await t.engine.job(id))!
      expect(view).toMatchObject({ state: 'succeeded', attempt: 2, starts: 1, failures: 0, history: [] })
    }
    expect((await t.engine.providers())[0]).toMatchObject({ state: 'open', waits: 0, waitUntil: null })
  })

  test('many answers of one storm make one wait', async () => {
    const all = gate()
    const outside = service(call => (call <= 20 ? wait() : 'ok'))
    let asked = 0
    const job = jobAsking(async id => {
      if (++asked === 10) all.open()
      if (asked <= 10) await all.passed
      return outside.ask(id)
    })
    const t = await engineOf({ jobs: [job] })
    await t.engine.enqueueMany(job, items(10))
    await t.run()
    expect(outside.calls).toHaveLength(10)
    const [provider] = await t.engine.providers()
    expect(provider).toMatchObject({ state: 'waiting', waits: 1 })
    expect(provider!.waitUntil!.getTime() - t.clock.now().getTime()).toBe(5000)
    // The next storm is the second wait.
    await passes(t, seconds(6))
    expect((await t.engine.providers())[0]).toMatchObject({ state: 'waiting', waits: 2 })
  })

  test('without saying for how long waits grow to five minutes, and an answer ends them', async () => {
    const outside = service(call => (call < 10 ? wait() : 'ok'))
    const job = jobAsking(id => outside.ask(id))
    const t = await engineOf({ jobs: [job] })
    const { id } = await t.engine.enqueue(job, undefined)
    const waits: number[] = []
    for (;;) {
      await t.run()
      const [provider] = await t.engine.providers()
      if (provider!.state === 'open') break
      const ms = provider!.waitUntil!.getTime() - t.clock.now().getTime()
      waits.push(ms / 1000)
      await t.clock.advance(seconds(ms / 1000 + 5))
    }
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300])
    expect(await t.engine.job(id)).toMatchObject({ state: 'succeeded', starts: 1, attempt: 10 })
    outside.says = () => wait()
    await t.engine.enqueue(job, undefined)
    await t.run()
    const [provider] = await t.engine.providers()
    expect(provider!.waitUntil!.getTime() - t.clock.now().getTime()).toBe(5000)
  })

  test('never stalls its batch: a storm of ten minutes', async () => {
    const outside = service(() => wait())
    const job = jobAsking(id => outside.ask(id))
    const batch = batchOf(job, { stallAfter: minutes(5) })
    const t = await engineOf({ batches: [batch] })
    const { id } = await t.engine.submit(batch, items(30))
    await t.run()
    for (let minute = 0; minute < 10; minute++) {
      await isWatched(t, 60_000)
      await t.run()
      expect(await t.engine.batch(id)).toMatchObject({ state: 'running', failed: 0, waiting: 30 })
    }
    outside.says = () => 'ok'
    await t.clock.advance(minutes(6))
    await t.run()
    expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded' })
    for (const each of await jobsOf(t, id)) expect(each).toMatchObject({ starts: 1, failures: 0 })
  })

  test('nor one of which jobs are ready while nobody is there to hand them back; once it is over, that is a stall', async () => {
    const outside = service(() => wait(900))
    const job = jobAsking(id => outside.ask(id))
    const batch = batchOf(job, { stallAfter: minutes(5) })
    const t = await engineOf({ batches: [batch] })
    await t.engine.enqueue(job, undefined)
    await t.run()
    const { id } = await t.engine.submit(batch, items(3))
    await isWatched(t, minutes(14))
    expect(await t.engine.batch(id)).toMatchObject({ state: 'waiting' })
    await isWatched(t, minutes(7))
    expect(await t.engine.batch(id)).toMatchObject({ state: 'stalled', reason: { code: 'no_worker' } })
  })
})

describe('a provider that stops', () => {
  async function stopped(count: number, more: object = {}) {
    const outside = service(() => stop())
    const job = jobAsking(id => outside.ask(id), more)
    const batch = batchOf(job)
    const t = await engineOf({ batches: [batch] })
    const { id } = await t.engine.submit(batch, items(count))
    await t.run()
    return { t, outside, job, batch, id }
  }

  test('pauses the batch in its words, charges nobody, and at most what was in flight is asked again', async () => {
    const all = gate()
    let inFlight = 0
    const outside = service(() => stop())
    const job = jobAsking(async id => {
      if (++inFlight === 10) all.open()
      await all.passed
      return outside.ask(id)
    })
    const batch = batchOf(job)
    const t = await engineOf({ batches: [batch] })
    const { id } = await t.engine.submit(batch, items(60))
    await t.run()
    expect(outside.calls).toHaveLength(10)
    const view = (await t.engine.batch(id))!
    expect(view).toMatchObject({
      state: 'paused', failed: 0, waiting: 60, running: 0,
      reason: { code: 'provider', provider: 'openrouter', message: 'Insufficient credits', answer: '402' },
    }) // biome-ignore format: one row
    for (const each of await jobsOf(t, id)) expect(each).toMatchObject({ state: 'waiting', starts: 0, failures: 0 })
    // The person goes on, and it is asked at once.
    outside.says = () => 'ok'
    await t.engine.unpause(id)
    expect((await t.engine.providers())[0]).toMatchObject({ state: 'open', waits: 0 })
    await t.run()
    expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded', succeeded: 60 })
    for (const each of await jobsOf(t, id)) expect(each).toMatchObject({ starts: 1, failures: 0, crashes: 0 })
  })

  test('is asked by one job a minute, and when it answers every batch that waits for it goes on by itself', async () => {
    const { t, outside, batch, id } = await stopped(4)
    const other = await t.engine.submit(batch, items(3))
    await t.run()
    expect(await t.engine.batch(other.id)).toMatchObject({ state: 'paused' })
    const before = outside.calls.length
    for (let minute = 0; minute < 5; minute++) for (let look = 0; look < 12; look++) await passes(t, seconds(5))
    expect(outside.calls.length - before).toBe(5)
    expect(await t.engine.batch(id)).toMatchObject({ state: 'paused', failed: 0 })
    outside.says = () => 'ok'
    for (let look = 0; look < 13; look++) await passes(t, seconds(5))
    for (const each of [id, other.id])
      expect(await t.engine.batch(each)).toMatchObject({ state: 'succeeded', failed: 0 })
    for (const each of [...(await jobsOf(t, id)), ...(await jobsOf(t, other.id))])
      expect(each).toMatchObject({ starts: 1, failures: 0 })
  })

  test('in a queue with limits likewise', async () => {
    const outside = service(() => stop())
    const job = jobAsking(id => outside.ask(id))
    const batch = batchOf(job)
    const t = await engineOf({ batches: [batch], limits: { q: { concurrency: 2 } } })
    const { id } = await t.engine.submit(batch, items(6))
    await t.run()
    expect(await t.engine.batch(id)).toMatchObject({ state: 'paused', waiting: 6 })
    const before = outside.calls.length
    await passes(t, seconds(61))
    expect(outside.calls.length - before).toBe(1)
    outside.says = () => 'ok'
    await passes(t, seconds(61))
    await t.run()
    expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded' })
  })

  test('does not have a batch go on that a person has paused meanwhile', async () => {
    const { t, outside, id } = await stopped(4)
    await t.engine.pause(id)
    expect(await t.engine.batch(id)).toMatchObject({ state: 'paused', reason: { code: 'person' } })
    const before = outside.calls.length
    await passes(t, seconds(61))
    expect(outside.calls).toHaveLength(before)
    outside.says = () => 'ok'
    await passes(t, seconds(61))
    expect(await t.engine.batch(id)).toMatchObject({ state: 'paused', reason: { code: 'person' } })
  })

  test('leaves a batch alone that a person paused or cancelled while it was being asked', async () => {
    for (const verb of ['pause', 'cancel'] as const) {
      const [asking, answer] = [gate(), gate()]
      const job = jobAsking(async () => {
        asking.open()
        await answer.passed
        throw stop()
      })
      const batch = batchOf(job)
      const t = await engineOf({ batches: [batch] })
      const { id } = await t.engine.submit(batch, items(1))
      const run = t.run()
      await asking.passed
      await t.engine[verb](id)
      answer.open()
      await run
      const { state, reason } = (await t.engine.batch(id))!
      expect({ state, code: reason?.code ?? null }).toEqual(
        verb === 'pause' ? { state: 'paused', code: 'person' } : { state: 'cancelled', code: null },
      )
    }
  })

  test('is asked again by a single job when its minute is over, and by no other', async () => {
    const outside = service(() => stop())
    const job = jobAsking(id => outside.ask(id))
    const t = await engineOf({ jobs: [job] })
    const { ids } = await t.engine.enqueueMany(job, items(5))
    await t.run()
    const before = outside.calls.length
    await passes(t, seconds(70))
    expect(outside.calls.length - before).toBe(1)
    outside.says = () => 'ok'
    for (let minute = 0; minute < 3; minute++) await passes(t, seconds(70))
    for (const id of ids) expect(await t.engine.job(id)).toMatchObject({ state: 'succeeded', starts: 1, failures: 0 })
  })
})
