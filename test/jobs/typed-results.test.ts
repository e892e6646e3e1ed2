/** A handle of `enqueue` has the typed result of its job, and the compiler holds a handler in a module to its declaration. */
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  defineJob,
  doNotRetry,
  type Engine,
  handlerOf,
  isRetomaError,
  type Job,
  type JobHandle,
  minutes,
  seconds,
  skip,
} from '../../src/index.ts'
import { aborted, engineWith, gate, until } from '../support/engine.ts'
import { englishIn } from '../support/portuguese.ts'

const count = defineJob({
  kind: 'count',
  input: z.object({ words: z.string() }),
  run: (_, { words }) => (words === '' ? skip('no words') : { words: words.split(' ').length, at: new Date(0) }),
})
const ping = defineJob({ kind: 'ping', run: () => 'pong' })
const silent = defineJob({ kind: 'silent', run: () => {} })
const optional = defineJob({ kind: 'optional', input: z.number().optional(), run: (_, n = 7) => n })
const failing = defineJob({
  kind: 'failing',
  run: () => {
    throw doNotRetry(Object.assign(new Error('no such account'), { code: 'no_account' }))
  },
})
const module = new URL('./typed-handler.mjs', import.meta.url)
const typed = handlerOf<typeof import('./typed-handler.mjs')>(module)
const extract = defineJob({ kind: 'extract', input: z.object({ code: z.string() }), handler: typed })

const refusal = (result: Promise<unknown>): Promise<unknown> => result.catch((error: unknown) => error)

test('a handle returns the typed result of its job, and prints as its id', async () => {
  const { engine, run } = await engineWith(count, ping, silent, optional, extract)
  const handle = await engine.enqueue(count, { words: 'a b c' })
  expect(JSON.parse(JSON.stringify(handle))).toEqual({ id: handle.id, created: true })
  const waiting = handle.result()
  const others = [
    await engine.enqueue(ping),
    await engine.enqueue(silent),
    await engine.enqueue(optional),
    await engine.enqueue(extract, { code: 'A-17' }),
  ]
  await run()
  expect(await waiting).toEqual({ words: 3, at: new Date(0) })
  expect(await Promise.all(others.map(each => each.result()))).toEqual(['pong', null, 7, { length: 4 }])
  expect(await engine.wait({ job: handle })).toMatchObject({ id: handle.id, result: { words: 3 } })
  expect(await engine.job(handle.id, count)).toMatchObject({ result: { words: 3 }, input: { words: 'a b c' } })
  expect(await refusal(engine.job(handle.id, ping))).toMatchObject({
    message: `bad_option: the option job is not usable: job ${handle.id} is of kind "count", not "ping"`,
  })
})

test('a handle of a key that another job has waits for the other job', async () => {
  const { engine, run } = await engineWith(ping)
  const first = await engine.enqueue(ping, undefined, { key: 'k' })
  const second = await engine.enqueue(ping, undefined, { key: 'k' })
  expect(second).toEqual({ id: first.id, created: false })
  await run()
  expect(await second.result()).toBe('pong')
})

test('a job without a result throws an error that names its end, with the error of the handler as the cause', async () => {
  const { engine, run } = await engineWith(count, ping, failing)
  const failed = await engine.enqueue(failing)
  const skipped = await engine.enqueue(count, { words: '' })
  const cancelled = await engine.enqueue(ping)
  await engine.jobs.cancel(cancelled.id)
  await run()
  const failure = await refusal(failed.result())
  expect(failure).toMatchObject({
    code: 'job_failed',
    message: `job_failed: job ${failed.id} of kind "failing" failed: no such account; engine.jobs.retry("${failed.id}") runs it again`,
    cause: {
      type: 'error',
      message: 'no such account',
      code: 'no_account',
      stack: expect.stringContaining('.test.ts'),
    },
  })
  expect(isRetomaError(failure, 'job_failed')).toBe(true)
  expect(await refusal(skipped.result())).toMatchObject({ code: 'job_skipped', facts: { problem: 'no words' } })
  expect(await refusal(cancelled.result())).toMatchObject({ code: 'job_cancelled', status: 409 })
  for (const handle of [skipped, cancelled]) {
    const error = await refusal(handle.result())
    expect((error as { in(language: 'pt'): string }).in('pt')).toMatch(/não tem resultado/)
  }
})

test('a stalled job throws job_stalled; after a person has resumed the job, the same handle has the result', async () => {
  let isStuck = true
  const begun = gate()
  const stuck = defineJob({
    kind: 'stuck',
    stallAfter: minutes(2),
    run: async ctx => {
      if (!isStuck) return 7
      begun.open()
      throw await aborted(ctx.signal)
    },
  })
  const { engine, clock } = await engineWith(stuck)
  await engine.work()
  const handle = await engine.enqueue(stuck)
  const waiting = refusal(handle.result())
  await begun.passed
  await clock.advance(seconds(131))
  expect(await waiting).toMatchObject({ code: 'job_stalled', retryable: true })
  isStuck = false
  await engine.jobs.resume(handle.id)
  const again = handle.result()
  await until(async () => {
    await clock.advance(seconds(0.5))
    return (await engine.job(handle.id))?.state === 'succeeded'
  })
  expect(await again).toBe(7)
})

test('result ends with the reason of its signal, names a wrong option, and is refused once the engine is closed', async () => {
  const { engine } = await engineWith(ping)
  const handle = await engine.enqueue(ping)
  const reason = new Error('had enough')
  expect(await refusal(handle.result({ signal: AbortSignal.abort(reason) }))).toBe(reason)
  const timeout = await refusal(handle.result({ timeout: 5 } as never))
  expect(timeout).toMatchObject({ code: 'bad_option', facts: { option: 'timeout' } })
  expect(englishIn(timeout)).toEqual([])
  const waiting = refusal(handle.result())
  await engine.close()
  expect(await waiting).toMatchObject({ code: 'engine_closed' })
  expect(await refusal(handle.result())).toMatchObject({ code: 'engine_closed' })
})

test('a handle of an open transaction finds no job until the transaction commits', async () => {
  const { engine, run } = await engineWith(ping)
  const handle = await engine.transaction(async tx => {
    const made = await engine.enqueue(ping, undefined, { tx })
    expect(await refusal(made.result())).toMatchObject({ code: 'not_found' })
    return made
  })
  await run()
  expect(await handle.result()).toBe('pong')
})

test('the compiler knows the result of a job, also of a job in a module', () => {
  const check = async (engine: Engine, id: string) => {
    const handle = await engine.enqueue(count, { words: 'a' })
    expectTypeOf(handle).toEqualTypeOf<JobHandle<{ words: number; at: Date }>>()
    expectTypeOf(await handle.result()).toEqualTypeOf<{ words: number; at: Date }>()
    expectTypeOf((await engine.wait({ job: handle })).result).toEqualTypeOf<{ words: number; at: Date } | null>()
    expectTypeOf((await engine.wait({ job: id })).result).toEqualTypeOf<unknown>()
    expectTypeOf((await engine.job(id, count))!.input).toEqualTypeOf<{ words: string }>()
    expectTypeOf((await engine.enqueue(silent)).result()).resolves.toEqualTypeOf<null>()
    expectTypeOf((await engine.enqueue(failing)).result()).resolves.toEqualTypeOf<never>()
    expectTypeOf((await engine.enqueue(extract, { code: 'a' })).result()).resolves.toEqualTypeOf<{ length: number }>()
    for (const job of [ping, silent, optional]) await engine.enqueue(job)
    // @ts-expect-error the input is required
    await engine.enqueue(count)
    // @ts-expect-error a field has another type
    await engine.enqueue(count, { words: 5 })
    // @ts-expect-error the input of a job in a module
    await engine.enqueue(extract, { kode: 'a' })
    // @ts-expect-error a handle is not an id
    await engine.job(handle)
  }
  const generic = <T>(engine: Engine, job: Job<T, string>, input: T): Promise<JobHandle<string>> =>
    engine.enqueue(job, input)
  expect([check, generic].every(each => typeof each === 'function')).toBe(true)
})

test('the compiler holds a handler in a module to the schema of its job', () => {
  const check = () => {
    // @ts-expect-error the schema gives a number where the handler takes a text
    defineJob({ kind: 'wrong', input: z.object({ code: z.number() }), handler: typed })
    // @ts-expect-error the module has no handler
    handlerOf<typeof import('node:os')>(module)
    const unchecked = defineJob({ kind: 'unchecked', input: z.object({ code: z.number() }), handler: module })
    expectTypeOf(unchecked).toEqualTypeOf<Job<{ code: number }, unknown>>()
    expectTypeOf(defineJob({ kind: 'bare', handler: typed })).toEqualTypeOf<Job<{ code: string }, { length: number }>>()
  }
  expect(check).toBeTypeOf('function')
})
