/** Services outside that ask jobs to wait, or stop: `ctx.provider` and what all workers make of it. */

import { describe, expect, test } from 'vitest'
import { internalsOf } from '../../src/engine/internals.ts'
import {
  type AnyJob,
  defineBatch,
  defineJob,
  doNotRetry,
  type JobContext,
  minutes,
  pauseBatch,
  providerStop,
  providerWait,
  seconds,
} from '../../src/index.ts'
import { type TestEngine, testEngine } from '../../src/testing/index.ts'
import { engineOf, gate, liveEngine, shareDatabase, until } from '../support/engine.ts'
import { batchOf, items, jobAsking, jobsOf, passes, service, sqlOf, stop, wait } from '../support/providers.ts'

/** The same, and nobody works. */
async function isWatched(t: TestEngine, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 5000) {
    await t.clock.advance(seconds(5))
    await t.tick()
  }
}

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
    expect((await t.engine.providers.list())[0]).toMatchObject({
      name: 'openrouter', state: 'waiting', consecutiveWaits: 1, code: '429', message: 'slow down', kinds: ['ask'],
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
    expect((await t.engine.providers.list())[0]).toMatchObject({ state: 'open', consecutiveWaits: 0, waitUntil: null })
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
    const [provider] = await t.engine.providers.list()
    expect(provider).toMatchObject({ state: 'waiting', consecutiveWaits: 1 })
    expect(provider!.waitUntil!.getTime() - t.clock.now().getTime()).toBe(1000)
    // The next storm is the second wait.
    await passes(t, seconds(6))
    expect((await t.engine.providers.list())[0]).toMatchObject({ state: 'waiting', consecutiveWaits: 2 })
  })

  test('without saying for how long waits grow to five minutes, and an answer ends them', async () => {
    const outside = service(call => (call < 12 ? wait() : 'ok'))
    const job = jobAsking(id => outside.ask(id))
    const t = await engineOf({ jobs: [job] })
    const { id } = await t.engine.enqueue(job, undefined)
    const waits: number[] = []
    for (;;) {
      await t.run()
      const [provider] = await t.engine.providers.list()
      if (provider!.state === 'open') break
      const ms = provider!.waitUntil!.getTime() - t.clock.now().getTime()
      waits.push(ms / 1000)
      await t.clock.advance(seconds(ms / 1000 + 5))
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
    expect(await t.engine.job(id)).toMatchObject({ state: 'succeeded', starts: 1, attempt: 12 })
    outside.says = () => wait()
    await t.engine.enqueue(job, undefined)
    await t.run()
    const [provider] = await t.engine.providers.list()
    expect(provider!.waitUntil!.getTime() - t.clock.now().getTime()).toBe(1000)
  })

  test('that says for how long does not have the next one grow that does not say', async () => {
    const said = [20, undefined, 20, 20, undefined, undefined]
    const outside = service(call => wait(said[call - 1]))
    const job = jobAsking(id => outside.ask(id))
    const t = await engineOf({ jobs: [job] })
    await t.engine.enqueue(job, undefined)
    const waits: number[] = []
    for (const _ of said) {
      await t.run()
      const [provider] = await t.engine.providers.list()
      const ms = provider!.waitUntil!.getTime() - t.clock.now().getTime()
      waits.push(ms / 1000)
      await t.clock.advance(seconds(ms / 1000 + 5))
    }
    expect(waits).toEqual([20, 1, 20, 20, 2, 4])
  })

  test('does not have the waits grow while it answers others of the same round', async () => {
    // Of every round the first to ask is asked to wait, once three more have asked; those are answered after it.
    let asked = 0
    let [others, said] = [gate(), gate()]
    const job = jobAsking(async () => {
      if (++asked === 4) others.open()
      if (asked > 1) return said.passed
      await others.passed
      throw wait()
    })
    const t = await engineOf({ jobs: [job] })
    await t.engine.enqueueMany(job, items(60))
    const waits: number[] = []
    for (let round = 0; round < 4; round++) {
      const running = t.run()
      await until(async () => (await t.engine.providers.list())[0]?.state === 'waiting')
      const [provider] = await t.engine.providers.list()
      waits.push(provider!.waitUntil!.getTime() - t.clock.now().getTime())
      said.open()
      await running
      asked = 0
      ;[others, said] = [gate(), gate()]
      await t.clock.advance(seconds(20))
    }
    expect(waits).toEqual([1000, 2000, 1000, 2000])
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
    const { id } = await t.engine.submit(batch, items(3))
    await t.run()
    await sqlOf(t, `update retoma.job set run_at = created_at`)
    await isWatched(t, minutes(14))
    expect(await t.engine.batch(id)).toMatchObject({ state: 'running' })
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
    await t.engine.batches.resume(id)
    expect((await t.engine.providers.list())[0]).toMatchObject({ state: 'open', consecutiveWaits: 0 })
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
    for (let minute = 0; minute < 5; minute++) for (let check = 0; check < 12; check++) await passes(t, seconds(5))
    expect(outside.calls.length - before).toBe(5)
    expect(await t.engine.batch(id)).toMatchObject({ state: 'paused', failed: 0 })
    outside.says = () => 'ok'
    for (let check = 0; check < 13; check++) await passes(t, seconds(5))
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

  test('that a person has one batch go on for stops no other one for longer than a tick', async () => {
    const { t, outside, batch, id } = await stopped(2)
    const other = await t.engine.submit(batch, items(2))
    await t.run()
    outside.says = () => 'ok'
    await t.engine.batches.resume(id)
    await passes(t, seconds(5))
    for (const each of [id, other.id]) expect(await t.engine.batch(each)).toMatchObject({ state: 'succeeded' })
  })

  test('does not have a batch go on that a person has paused meanwhile', async () => {
    const { t, outside, id } = await stopped(4)
    await t.engine.batches.pause(id)
    expect(await t.engine.batch(id)).toMatchObject({ state: 'paused', reason: { code: 'person' } })
    const before = outside.calls.length
    await passes(t, seconds(61))
    expect(outside.calls).toHaveLength(before)
    outside.says = () => 'ok'
    await passes(t, seconds(61))
    expect(await t.engine.batch(id)).toMatchObject({ state: 'paused', reason: { code: 'person' } })
  })

  test('leaves a batch alone that a person paused or cancelled while it was being asked', async () => {
    for (const actionName of ['pause', 'cancel'] as const) {
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
      await t.engine.batches[actionName](id)
      answer.open()
      await run
      const { state, reason } = (await t.engine.batch(id))!
      expect({ state, code: reason?.code ?? null }).toEqual(
        actionName === 'pause' ? { state: 'paused', code: 'person' } : { state: 'cancelled', code: null },
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

  test('is asked by another when the one that was to ask dies over it', async () => {
    const { t, outside, id } = await stopped(4)
    const before = outside.calls.length
    await t.clock.advance(seconds(61))
    await t.tick()
    // Acts as a worker that claims the job, takes the probe, and crashes.
    await sqlOf(
      t,
      `
      with taken as (
        update retoma.job set state = 'running', attempt = attempt + 1, worker_id = 'gone', started_at = run_at
        where id = (select probe_job from retoma.provider) returning id
      )
      update retoma.provider p set probe_job = null from taken`,
    )
    outside.says = () => 'ok'
    await passes(t, seconds(30))
    expect(outside.calls).toHaveLength(before)
    await passes(t, seconds(31))
    await t.run()
    expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded', succeeded: 4 })
    for (const each of await jobsOf(t, id)) expect(each.failures).toBe(0)
  })

  test('is asked for another batch when nobody runs the jobs of the first', async () => {
    const outside = service(() => stop())
    const [gone, here] = ['gone', 'here'].map(kind => jobAsking(id => outside.ask(id), { kind })) as [AnyJob, AnyJob]
    const [first, second] = [defineBatch({ name: 'first', job: gone }), defineBatch({ name: 'second', job: here })]
    const t = await engineOf({ batches: [first, second] })
    const ids = [await t.engine.submit(first, items(2)), await t.engine.submit(second, items(2))].map(each => each.id)
    await t.run()
    for (const id of ids) expect((await t.engine.batch(id))!.state).toBe('paused')
    // The next version knows the second kind only.
    const next = await testEngine({ batches: [second], databaseUrl: t.databaseUrl, start: t.clock.now() })
    outside.says = () => 'ok'
    for (let minute = 0; minute < 3; minute++) await passes(next, seconds(61))
    expect(await next.engine.batch(ids[1]!)).toMatchObject({ state: 'succeeded', succeeded: 2 })
    await next.close()
  })

  test('is asked by the others in turn when the one that was to ask does not', async () => {
    const { t, id } = await stopped(4)
    const passed = new Set<unknown>()
    for (let minute = 0; minute < 3; minute++) {
      await t.clock.advance(seconds(61))
      await t.tick()
      for (const row of (await sqlOf(t, `select probe_job from retoma.provider`)) as { probe_job: unknown }[])
        passed.add(row.probe_job)
    }
    expect(passed.size).toBeGreaterThan(1)
    expect((await t.engine.batch(id))!.state).toBe('paused')
  })

  test('is asked by one that takes more than a minute until it asks', async () => {
    const outside = service(() => stop())
    let slow = async (_: string) => {}
    const job = defineJob({
      kind: 'ask',
      queue: 'q',
      async run(ctx) {
        await slow(ctx.id)
        return ctx.provider('openrouter', () => outside.ask(ctx.id))
      },
    })
    const batch = batchOf(job)
    const t = await engineOf({ batches: [batch] })
    const { id } = await t.engine.submit(batch, items(3))
    await t.run()
    const before = outside.calls.length
    const [began, goOn] = [gate<string>(), gate()]
    slow = id => {
      began.open(id)
      return goOn.passed
    }
    await t.clock.advance(seconds(61))
    await t.tick()
    const run = t.run()
    const holder = await began.passed
    await t.clock.advance(seconds(61))
    await t.tick()
    outside.says = () => 'ok'
    goOn.open()
    await run
    expect(outside.calls[before]).toBe(holder)
    await t.run()
    expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded', succeeded: 3 })
  })

  test('does not keep a batch that has nothing left to ask it with', async () => {
    const { t, outside, id } = await stopped(1)
    outside.says = () => doNotRetry(new Error('400'))
    for (let minute = 0; minute < 4; minute++) await passes(t, seconds(61))
    expect(await t.engine.batch(id)).toMatchObject({ state: 'completed_with_failures', failed: 1, reason: null })
  })

  test('is asked at once when a person has a batch go on that waited for another reason', async () => {
    const outside = service(() => stop())
    const batch = batchOf(jobAsking(id => outside.ask(id)))
    const t = await engineOf({ batches: [batch] })
    const [one, other] = [await t.engine.submit(batch, items(2)), await t.engine.submit(batch, items(2))]
    await t.engine.batches.pause(one.id)
    await t.run()
    expect(await t.engine.batch(other.id)).toMatchObject({ state: 'paused', reason: { code: 'provider' } })
    outside.says = () => 'ok'
    await t.engine.batches.resume(one.id)
    await t.run()
    expect(await t.engine.batch(one.id)).toMatchObject({ state: 'succeeded', succeeded: 2 })
    await passes(t, seconds(5))
    expect(await t.engine.batch(other.id)).toMatchObject({ state: 'succeeded', succeeded: 2 })
  })

  test('is not stopped again by what was asked before a person had it go on', async () => {
    const [first, second, asked] = [gate(), gate(), gate()]
    let calls = 0
    const job = jobAsking(async () => {
      if (++calls === 2) asked.open()
      if (calls <= 2) await (calls === 1 ? first : second).passed
      if (calls <= 2) throw stop()
      return 'ok'
    })
    const batch = batchOf(job)
    const t = await engineOf({ batches: [batch] })
    const { id } = await t.engine.submit(batch, items(2))
    const run = t.run()
    await asked.passed
    await t.clock.advance(seconds(1))
    first.open()
    await until(async () => (await t.engine.batch(id))!.state === 'paused')
    await t.engine.batches.resume(id)
    second.open()
    await run
    await t.clock.advance(seconds(10))
    await t.run()
    expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded' })
  })

  test('leaves nothing of its batch begun: what workers of two processes had claimed ahead goes back, and is no start', async () => {
    const url = await shareDatabase()
    const outside = service(() => stop())
    const make = async () => {
      const job = jobAsking(id => outside.ask(id))
      const batch = batchOf(job)
      return { batch, ...(await liveEngine([], { batches: [batch] }, url)) }
    }
    const [one, other] = [await make(), await make()]
    const { id } = await one.engine.submit(one.batch, items(120))
    await Promise.all([one, other].map(({ engine }) => engine.work({ queues: { q: 10 } })))
    await until(async () => {
      const { state, running } = (await one.engine.batch(id))!
      return state === 'paused' && running === 0
    })
    expect(outside.calls.length).toBeLessThanOrEqual(20)
    outside.says = () => 'ok'
    await other.engine.batches.resume(id)
    expect(await one.engine.wait({ batch: id })).toMatchObject({ state: 'succeeded', failed: 0 })
    for (const each of (await one.engine.batches.items(id, { limit: 500 })).items)
      expect(each).toMatchObject({ starts: 1, failures: 0 })
  })
})

describe('the words', () => {
  const passing = {
    waits: () => wait(1),
    stops: () => stop(),
    pauses: () => pauseBatch({ code: 'cost_limit', message: 'US$ 5' }),
  }

  test.each(Object.keys(passing) as (keyof typeof passing)[])(
    '%s: are the same out of a step, a list, a transaction, or as the cause of another error; none of them is tried again there',
    async word => {
      const ways: Record<string, (ctx: JobContext, fail: () => never) => unknown> = {
        bare: (_, fail) => fail(),
        step: (ctx, fail) => ctx.step('s', fail, { maxAttempts: 5 }),
        each: (ctx, fail) => ctx.each('l', [1, 2], fail),
        transaction: (ctx, fail) => ctx.transaction('t', fail, { maxAttempts: 5 }),
        cause: async (ctx, fail) => {
          try {
            await ctx.step('s', fail)
          } catch (error) {
            throw doNotRetry(new Error('could not', { cause: error }))
          }
        },
      }
      let calls = 0
      const job = defineJob<string>({
        kind: 'k',
        queue: 'q',
        maxAttempts: 1,
        run: (ctx, way) =>
          ctx.attempt > 1
            ? 'ok'
            : ways[way]!(ctx, () => {
                calls++
                throw passing[word]()
              }),
      })
      const batch = defineBatch({ name: 'b', job })
      const t = await engineOf({ batches: [batch] })
      for (const way of Object.keys(ways)) {
        calls = 0
        const { id } = await t.engine.submit(batch, [way])
        await t.run()
        expect({ way, calls }).toEqual({ way, calls: 1 })
        const view = (await t.engine.batch(id))!
        if (word !== 'waits') {
          expect(view).toMatchObject({ state: 'paused' })
          expect(view.reason).toMatchObject(
            word === 'stops'
              ? { code: 'provider', message: 'Insufficient credits' }
              : { code: 'cost_limit', message: 'US$ 5' },
          )
          await t.engine.batches.resume(id)
        }
        await t.clock.advance(seconds(2))
        await t.run()
        expect(await jobsOf(t, id)).toMatchObject([{ state: 'succeeded', starts: 1, failures: 0, error: null }])
      }
      expect(await t.engine.providers.list()).toEqual([])
    },
  )

  test('may be caught: the job goes on without, and its batch too', async () => {
    const outside = service(() => stop())
    const job = defineJob({
      kind: 'k',
      queue: 'q',
      run: ctx => ctx.provider('first', () => outside.ask(ctx.id)).catch(() => ctx.provider('second', () => 'other')),
    })
    const batch = batchOf(job)
    const t = await engineOf({ batches: [batch] })
    const { id } = await t.engine.submit(batch, items(3))
    await t.run()
    expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded', succeeded: 3 })
    expect(await t.engine.providers.list()).toMatchObject([{ name: 'first', state: 'stopped' }])
  })

  test('are refused where they make no sense, and a provider inside a transaction is, too', async () => {
    expect(() => providerWait({ retryAfter: Number.NaN as never })).toThrow(/bad_option/)
    expect(() => providerWait({ after: 1 } as never)).toThrow(/bad_option/)
    for (const code of ['person', 'provider', 'stop_after', 'same_cause'])
      expect(() => pauseBatch({ code, message: '' })).toThrow(/bad_option/)
    const job = defineJob<boolean>({
      kind: 'k',
      queue: 'q',
      maxAttempts: 1,
      run: (ctx, inside) =>
        inside ? ctx.transaction('t', () => ctx.provider('p', () => 1)) : ctx.provider('a provider', () => 1),
    })
    const t = await engineOf({ jobs: [job] })
    const ids = [(await t.engine.enqueue(job, true)).id, (await t.engine.enqueue(job, false)).id]
    await t.run()
    expect(await t.engine.job(ids[0]!)).toMatchObject({ state: 'failed' })
    expect(await t.engine.job(ids[1]!)).toMatchObject({ state: 'failed', error: { code: 'bad_option' } })
  })

  test.each([true, false])('keep no secret of what a provider said, asked through the engine: %s', async through => {
    const address = 'GET https://x.example/?api_key=abc123&q=1 refused'
    const said = () => {
      throw providerStop({ code: address, message: address })
    }
    const job = through ? jobAsking(said) : defineJob({ kind: 'k', queue: 'q', run: said })
    const batch = batchOf(job)
    const t = await engineOf({ batches: [batch] })
    const { id } = await t.engine.submit(batch, items(1))
    await t.run()
    const reported = JSON.stringify([await t.engine.providers.list(), (await t.engine.batch(id))!.reason])
    expect(reported).toContain('refused')
    expect(reported).not.toContain('abc123')
  })
})

describe('explained', () => {
  test('in its words and with how long: while it waits, and while it is stopped', async () => {
    const outside = service(() => wait(240))
    const job = jobAsking(id => outside.ask(id))
    const batch = batchOf(job)
    const t = await engineOf({ batches: [batch] })
    const { id } = await t.engine.submit(batch, items(2))
    await t.run()
    let worker = await internalsOf(t.engine).begin({}, 'by hand')
    const [item] = await jobsOf(t, id)
    const say = async (of: object) => (await t.engine.explain(of as { job: string }, { language: 'en' })).sentence
    expect(await say({ job: item!.id })).toMatch(
      /waits 4 min.* more: provider "openrouter" asks to wait 4 min more: slow down; no try was spent/,
    )
    expect(await say({ batch: id })).toMatch(
      /^batch \d+ waits: provider "openrouter" asks to wait 4 min more: slow down; 0 of 2 ended/,
    )
    expect(await say({ queue: 'q' })).toMatch(/provider "openrouter" asks to wait 4 min more: slow down/)
    const { id: next } = await t.engine.enqueue(job, undefined)
    expect(await say({ job: next })).toMatch(
      /^job \d+ is ready .*; other jobs of its kind wait: provider "openrouter" asks to wait/,
    )
    outside.says = () => stop()
    await t.clock.advance(seconds(270))
    await worker.stop()
    worker = await internalsOf(t.engine).begin({}, 'by hand')
    await worker.drain()
    expect(await say({ job: item!.id })).toMatch(
      /waits because its batch \d+ is paused; provider "openrouter" has stopped: Insufficient credits; it is asked once a minute, next in/,
    )
    expect(await t.engine.explain({ batch: id }, { language: 'pt' })).toMatchObject({
      verdict: 'paused',
      sentence: expect.stringContaining(
        'foi pausado porque o provedor "openrouter" parou: Insufficient credits; um item por minuto o consulta',
      ),
      advice: { action: 'resume' },
    })
    expect(await say({ queue: 'q' })).toMatch(/provider "openrouter" has stopped: Insufficient credits/)
    await worker.stop()
  })

  test('by the provider that paused its batch, where jobs of the kind ask several and all have stopped', async () => {
    const job = defineJob<string>({
      kind: 'ask',
      queue: 'q',
      run: (ctx, model) =>
        ctx.provider(model, () => {
          throw stop()
        }),
    })
    const batch = batchOf(job)
    const t = await engineOf({ batches: [batch] })
    for (const model of ['model:a', 'model:b', 'model:c']) {
      const { id } = await t.engine.submit(batch, [model, model])
      await t.run()
      await t.clock.advance(seconds(10))
      const [item] = await jobsOf(t, id)
      for (const of of [{ batch: id }, { job: item!.id }])
        expect(await t.engine.explain(of)).toMatchObject({
          sentence: expect.stringContaining(`provider "${model}" has stopped`),
          facts: { provider: { name: model } },
        })
    }
  })
})
