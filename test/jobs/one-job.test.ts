import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, doNotRetry, minutes, seconds, skip, snooze } from '../../src/index.ts'
import { createLog } from '../../src/lib/logging/log.ts'
import { engineWith, liveEngine } from '../support/engine.ts'

test('a job that was enqueued runs and keeps its result', async () => {
  const greet = defineJob({
    kind: 'greet',
    input: z.object({ name: z.string() }),
    run: async (_, { name }) => `Olá, ${name}`,
  })
  const { engine, run } = await engineWith(greet)
  const { id, created } = await engine.enqueue(greet, { name: 'Ana' })
  expect(created).toBe(true)
  expect(await engine.job(id)).toMatchObject({ state: 'waiting', attempt: 0, priority: 4 })
  expect(await run()).toBe(1)
  expect(await engine.job(id)).toMatchObject({
    state: 'succeeded',
    result: 'Olá, Ana',
    attempt: 1,
    failures: 0,
    error: null,
    history: [],
  })
})

test('a failing job waits out its backoff, tries again, and fails for good after its last try', async () => {
  const broken = defineJob({
    kind: 'broken',
    maxAttempts: 3,
    backoff: { first: seconds(5), factor: 2, jitter: 0 },
    run: async ctx => {
      throw Object.assign(new Error(`try ${ctx.attempt}`), { code: 'E_BROKEN' })
    },
  })
  const { engine, run, clock } = await engineWith(broken)
  const { id } = await engine.enqueue(broken, undefined)
  expect(await run()).toBe(1)
  expect(await engine.job(id)).toMatchObject({
    state: 'waiting',
    failures: 1,
    error: { message: 'try 1', code: 'E_BROKEN', type: 'error' },
  })
  await clock.advance(seconds(4.9))
  expect(await run()).toBe(0)
  await clock.advance(seconds(0.2))
  expect(await run()).toBe(1)
  await clock.advance(seconds(9.8))
  expect(await run()).toBe(0)
  await clock.advance(seconds(0.2))
  expect(await run()).toBe(1)
  const job = await engine.job(id)
  expect(job).toMatchObject({ state: 'failed', failures: 3, attempt: 3 })
  expect(job?.history.map(each => each.message)).toEqual(['try 1', 'try 2', 'try 3'])
  expect(job?.history[0]?.stack).toContain('one-job.test.ts')
  const starts = job!.history.map(each => each.startedAt!.getTime() - job!.createdAt.getTime())
  expect(starts).toEqual([0, 5100, 15_100])
  await clock.advance(minutes(60))
  expect(await run()).toBe(0)
})

test('doNotRetry fails at once, skip ends with its reason, snooze costs no try', async () => {
  const hopeless = defineJob({ kind: 'hopeless', run: () => Promise.reject(doNotRetry('no such account')) })
  const empty = defineJob({ kind: 'empty', run: async () => skip('PDF sem texto') })
  const later = defineJob({
    kind: 'later',
    maxAttempts: 1,
    run: async ctx => (ctx.attempt < 3 ? snooze(minutes(1)) : 'done'),
  })
  const { engine, run, clock } = await engineWith(hopeless, empty, later)
  const ids = [
    await engine.enqueue(hopeless, undefined),
    await engine.enqueue(empty, undefined),
    await engine.enqueue(later, undefined),
  ]
  await run()
  const [a, b, c] = await Promise.all(ids.map(({ id }) => engine.job(id)))
  expect(a).toMatchObject({ state: 'failed', failures: 1 })
  expect(b).toMatchObject({ state: 'skipped', failures: 0, error: { message: 'PDF sem texto' } })
  expect(c).toMatchObject({ state: 'waiting', failures: 0 })
  for (let i = 0; i < 2; i++) {
    await clock.advance(minutes(1))
    await run()
  }
  expect(await engine.job(ids[2]!.id)).toMatchObject({ state: 'succeeded', result: 'done', attempt: 3, failures: 0 })
})

test('what a handler logs has its job, its facts and its message, in the order of every other log', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'info', format: 'json', write: line => void lines.push(line) })
  const chatty = defineJob({
    kind: 'chatty',
    run: ctx => {
      ctx.log.info({ page: 3, total: 10 }, 'a page is done')
      ctx.log.warn('only words')
    },
  })
  const { engine } = await liveEngine([chatty], { log })
  await engine.work()
  const { id } = await engine.enqueue(chatty, undefined)
  await engine.wait({ job: id })
  const said = lines.map(line => JSON.parse(line)).filter(line => line.kind === 'chatty')
  expect(said).toMatchObject([
    { level: 'info', msg: 'a page is done', page: 3, total: 10, job: id, attempt: 1 },
    { level: 'warn', msg: 'only words', job: id, attempt: 1 },
  ])
})
