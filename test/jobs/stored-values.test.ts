/** Inputs, results, items and steps are read as they were written, also values that JSON cannot express. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createApp } from '../../src/http/index.ts'
import {
  defineBatch,
  defineGuard,
  defineJob,
  defineSchedule,
  guardNow,
  isRetomaError,
  minutes,
} from '../../src/index.ts'
import { engineOf, engineWith } from '../support/engine.ts'

const rich = {
  at: new Date('2030-01-31T08:00:00.123Z'),
  never: new Date(Number.NaN),
  n: 12345678901234567890n,
  odd: [Number.NaN, Number.NEGATIVE_INFINITY, -0],
  prices: new Map<unknown, unknown>([['a', 1], [2, new Set(['b'])]]),
  bytes: new Uint8Array([0, 255]),
  buffer: Buffer.from('olá'),
  nothing: undefined,
  list: [undefined, null, 'x'],
  $retoma: 'mine',
} // biome-ignore format: a table

const echo = defineJob({ kind: 'echo', run: (_, input: unknown) => input })

test('an input reaches the handler as it was given, and a result comes back as it was returned', async () => {
  const seen: unknown[] = []
  const keep = defineJob({
    kind: 'keep',
    async run(ctx, input: typeof rich) {
      seen.push(input, await ctx.step('step', () => rich), ctx.resumeData)
      await ctx.checkpoint('here', rich, { progress: { at: rich.at, done: 1, share: Number.NaN } })
      return input
    },
  })
  const { engine, run } = await engineWith(keep)
  const { id } = await engine.enqueue(keep, rich)
  await run()
  expect(seen).toStrictEqual([rich, rich, undefined])
  const job = await engine.job(id)
  expect(job?.input).toStrictEqual(rich)
  expect(job?.result).toStrictEqual(rich)
  expect(job?.progress).toStrictEqual({ at: rich.at, done: 1, share: Number.NaN })
  expect((await engine.jobs.list()).items[0]?.input).toStrictEqual(rich)
})

test('so do the items of a batch, many at once, a schedule, and what is enqueued in a transaction', async () => {
  const seen: unknown[] = []
  const keep = defineJob({ kind: 'keep', run: (_, input: unknown) => void seen.push(input) })
  const batch = defineBatch({ name: 'batch', job: keep })
  const schedule = defineSchedule({ name: 'nightly', job: keep, every: minutes(1), input: (slot: Date) => ({ slot }) })
  const { engine, run, clock } = await engineOf({ jobs: [keep], batches: [batch], schedules: [schedule] })
  const { id } = await engine.submit(batch, [rich])
  await engine.submit(batch, [rich], { each: () => ({ key: 'k' }) })
  await engine.enqueueMany(keep, [rich])
  await engine.transaction(tx => engine.enqueue(keep, rich, { tx }))
  await engine.schedules.run('nightly')
  await run()
  expect(seen).toHaveLength(5)
  const slot = { slot: clock.now() }
  for (const each of seen) expect([rich, slot]).toContainEqual(each)
  expect((await engine.batches.items(id)).items[0]?.input).toStrictEqual(rich)
})

test('a schema sees what was given: z.date() takes a Date, when it comes in and when it runs', async () => {
  const seen: unknown[] = []
  const input = z.object({ at: z.date(), of: z.map(z.string(), z.bigint()), note: z.string().optional() })
  const dated = defineJob({ kind: 'dated', input, run: (_, given) => void seen.push(given) })
  const { engine, run } = await engineWith(dated)
  const given = { at: rich.at, of: new Map([['a', 1n]]), note: undefined }
  await engine.enqueue(dated, given)
  await run()
  expect(seen).toStrictEqual([given])
})

class Money {
  cents = 5
}
test.each<[what: string, value: unknown, path: string]>([
  ['an error', { items: [1, 2, 3, { price: new Error('x') }] }, 'input.items[3].price is an instance of Error'],
  ['an instance of a class', { price: new Money() }, 'input.price is an instance of Money'],
  ['a function', { f: () => 1 }, 'input.f is a function'],
  ['an element that is not there', { list: Object.assign([1], { 2: 3 }) }, 'input.list[1] is a hole'],
])('%s is refused by its path', async (_, value, path) => {
  const batch = defineBatch({ name: 'batch', job: echo })
  const { engine } = await engineOf({ jobs: [echo], batches: [batch] })
  const errors = [
    await engine.enqueue(echo, value).catch((error: unknown) => error),
    await engine.enqueueMany(echo, [value]).catch((error: unknown) => error),
    await engine.submit(batch, [value]).catch((error: unknown) => error),
  ]
  for (const error of errors) expect(isRetomaError(error, 'bad_input') && error.message).toContain(path)
  expect((await engine.jobs.list()).items).toEqual([])
})

test('a result, a step, the data of a checkpoint and progress that cannot be stored fail by their path', async () => {
  const price = { price: new Money() }
  const ways = {
    result: () => price,
    step: (ctx: never) => (ctx as { step: (name: string, run: () => unknown) => unknown }).step('s', () => price),
    checkpoint: (ctx: never) =>
      (ctx as { checkpoint: (name: string, data: unknown) => unknown }).checkpoint('c', price),
    progress: (ctx: never) => (ctx as { progress: (data: unknown) => unknown }).progress(price),
  }
  const job = defineJob({ kind: 'x', run: (ctx, way: keyof typeof ways) => ways[way](ctx as never) })
  const { engine, run } = await engineWith(job)
  const made = await engine.enqueueMany(job, Object.keys(ways) as (keyof typeof ways)[])
  await run()
  const messages = await Promise.all(made.ids.map(async id => (await engine.job(id))?.error?.message))
  expect(messages).toEqual([
    expect.stringContaining('result.price is an instance of Money'),
    expect.stringContaining('result.price is an instance of Money'),
    expect.stringContaining('data.price is an instance of Money'),
    expect.stringContaining('progress.price is an instance of Money'),
  ])
})

test('a guard sets plain values alone, for its column is read by others', () => {
  const of = { name: 'g', table: 't', status: { column: 's', running: 'r' }, signal: 'u', after: minutes(1) }
  expect(() => defineGuard({ ...of, set: { s: 'x', n: Number.NaN } })).toThrow('set.n is NaN')
  expect(() => defineGuard({ ...of, set: { s: 'x', meta: { m: new Map() } } })).toThrow('set.meta.m is Map')
  expect(defineGuard({ ...of, set: { s: 'x', at: rich.at, u: guardNow } }).set.at).toEqual(rich.at)
})

test('over HTTP a value reads as JSON, without marks of ours, and a mark that is sent is data', async () => {
  const { engine, run } = await engineWith(echo)
  const app = createApp(engine, { open: true })
  const { id } = await engine.enqueue(echo, rich)
  const sent = { $retoma: 'date', value: 'no date' }
  const post = { method: 'POST', headers: { 'content-type': 'application/json' } }
  const answer = await app.fetch(
    new Request('http://127.0.0.1/api/v1/jobs', { ...post, body: JSON.stringify({ kind: 'echo', input: sent }) }),
  )
  const other = ((await answer.json()) as { id: string }).id
  await run()
  const read = async (which: string) =>
    (await (await app.fetch(new Request(`http://127.0.0.1/api/v1/jobs/${which}`))).json()) as Record<string, unknown>
  const readable = {
    at: '2030-01-31T08:00:00.123Z',
    never: 'Invalid Date',
    n: '12345678901234567890',
    odd: ['NaN', '-Infinity', 0],
    prices: [['a', 1], [2, ['b']]],
    bytes: 'AP8=',
    buffer: 'b2zDoQ==',
    list: [null, null, 'x'],
    $retoma: 'mine',
  } // biome-ignore format: a table
  expect(await read(id)).toMatchObject({ input: readable, result: readable })
  expect(await read(other)).toMatchObject({ input: sent, result: sent })
  expect((await engine.job(other))?.result).toEqual(sent)
})
