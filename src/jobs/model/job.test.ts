import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { englishIn } from '../../../test/support/portuguese.ts'
import { megabytes } from '../../lib/values/bytes.ts'
import { minutes, seconds } from '../../lib/values/duration.ts'
import { defineJob, type Job } from './job.ts'
import type { JobContext } from './job-context.ts'
import { skip, snooze } from './outcome.ts'
import { defaultPolicy } from './policy.ts'

const run = async () => 'done'
const refusal = (options: unknown): string => {
  try {
    defineJob(options as never)
    return 'accepted'
  } catch (error) {
    expect(englishIn(error)).toEqual([])
    return (error as Error).message
  }
}

test('a job of a kind alone has the default queue and policy', () => {
  const job = defineJob({ kind: 'greet', run })
  expect(job).toMatchObject({ kind: 'greet', queue: 'default' })
  expect(job.policy).toEqual(defaultPolicy)
})

test('what is given replaces a default, part by part', () => {
  const { policy, queue } = defineJob({
    kind: 'a',
    queue: 'mail',
    maxAttempts: 5,
    timeout: minutes(1),
    backoff: { first: seconds(1) },
    run,
  })
  expect({ policy, queue }).toEqual({
    queue: 'mail',
    policy: {
      ...defaultPolicy,
      maxAttempts: 5,
      timeout: minutes(1),
      backoff: { ...defaultPolicy.backoff, first: seconds(1) },
    },
  })
})

test.each([
  [undefined, 'bad_definition: the definition of a job is not usable: defineJob takes one object with kind and run'],
  [null, /takes one object/],
  ['greet', /takes one object/],
  [{ run }, /kind must be 1 to 100 letters/],
  [{ kind: '', run }, /kind must be/],
  [{ kind: '-a', run }, /the job "-a".*kind must be/],
  [{ kind: 'a b', run }, /kind must be/],
  [{ kind: 'a'.repeat(101), run }, /kind must be/],
  [{ kind: 7, run }, /kind must be/],
  [{ kind: 'a', queue: 'ma il', run }, /queue must be/],
  [{ kind: 'a', queue: null, run: undefined }, /run must be a function/],
  [{ kind: 'a' }, /run must be a function \(ctx, input\) => result/],
  [{ kind: 'a', run: 'later' }, /run must be a function/],
  [{ kind: 'a', run, attempts: 3 }, /there is no option "attempts", did you mean "maxAttempts"\?/],
  [{ kind: 'a', run, atempts: 3 }, /there is no option "atempts", did you mean "maxAttempts"\?/],
  [{ kind: 'a', run, input: { type: 'object' } }, /input must be a Standard Schema/],
  [{ kind: 'a', run, input: null }, /input must be a Standard Schema/],
  [{ kind: 'a', run, maxAttempts: 0 }, /maxAttempts must be a whole number from 1 to 1000000, not 0/],
  [{ kind: 'a', run, maxAttempts: 1.5 }, /maxAttempts must be/],
  [{ kind: 'a', run, maxCrashes: 0 }, /maxCrashes must be/],
  [{ kind: 'a', run, timeout: 0 }, /timeout must be a duration above zero/],
  [{ kind: 'a', run, timeout: '5m' }, /timeout must be a duration/],
  [{ kind: 'a', run, timeout: 1e300 }, /timeout must be a duration .* up to 100 years/],
  [{ kind: 'a', run, stallAfter: -1 }, /stallAfter must be/],
  [{ kind: 'a', run, maxAge: Number.NaN }, /maxAge must be/],
  [{ kind: 'a', run, expect: 0 }, /expect must be/],
  [{ kind: 'a', run, sweepEvery: 0 }, /sweepEvery must be/],
  [{ kind: 'a', run, version: 0 }, /version must be a whole number from 1, not 0/],
  [{ kind: 'a', run, version: 1.5 }, /version/],
  [{ kind: 'a', run, version: 3e9 }, /version/],
  [{ kind: 'a', run, orphanAfter: seconds(14) }, /orphanAfter must be at least three heartbeats, 15 s/],
  [{ kind: 'a', run, backoff: { frist: 1 } }, /no option "backoff.frist", did you mean "first"\?/],
  [{ kind: 'a', run, backoff: { first: -1 } }, /backoff.first must be/],
  [{ kind: 'a', run, backoff: { first: 1e300 } }, /backoff.first must be/],
  [{ kind: 'a', run, backoff: { max: 0 } }, /backoff.max must be/],
  [{ kind: 'a', run, backoff: { factor: 0.5 } }, /backoff.factor must be from 1 to 100/],
  [{ kind: 'a', run, backoff: { jitter: 2 } }, /backoff.jitter must be from 0 to 1/],
  [{ kind: 'a', run, onOrphan: 'ignore' }, /onOrphan must be one of retry, stall, fail, not "ignore"/],
  [{ kind: 'a', run, onStall: 'ignore' }, /onStall must be one of/],
  [{ kind: 'a', run, isolation: 'vm' }, /isolation must be one of inline, thread, process/],
  [{ kind: 'a', run, isolation: 'thread' }, /isolation "thread" needs its handler in a module/],
  [{ kind: 'a', run, handler: new URL('file:///a.js') }, /it has both run and handler/],
  [{ kind: 'a', handler: './a.js' }, /handler must be the URL of a file/],
  [{ kind: 'a', handler: new URL('https://a.example/b.js') }, /handler must be the URL of a file/],
  [{ kind: 'a', run, memory: megabytes(20) }, /memory must be at least megabytes\(128\)/],
  [{ kind: 'a', run, memory: -5 }, /memory must be a number of bytes/],
  [{ kind: 'a', run, memory: '512MB' }, /memory must be a number of bytes/],
])('%o is refused', (options, message) => {
  expect(refusal(options)).toMatch(message)
})

test('a bad input is one sentence with the path of each problem, three at most', async () => {
  const job = defineJob({
    kind: 'a',
    input: z.object({ a: z.object({ b: z.number() }), c: z.string(), d: z.string(), e: z.string() }),
    run,
  })
  const parsed = await job.parse({ a: { b: 'x' } })
  expect(parsed).toEqual({
    problem: {
      en: expect.stringMatching(/^a\.b: .*; c: .*; d: .*; and 1 more$/),
      pt: expect.stringMatching(/^a\.b: .*; c: .*; d: .*; e mais 1$/),
    },
  })
})

test('an input that may be left out is accepted again when it is read as null', async () => {
  const optional = defineJob({ kind: 'a', input: z.object({ n: z.number() }).optional(), run })
  expect(await optional.parse(null)).toEqual({ value: undefined })
  const preset = defineJob({ kind: 'a', input: z.object({ n: z.number() }).default({ n: 7 }), run })
  expect(await preset.parse(null)).toEqual({ value: { n: 7 } })
  const nullable = defineJob({ kind: 'a', input: z.null(), run })
  expect(await nullable.parse(null)).toEqual({ value: null })
  const needed = defineJob({ kind: 'a', input: z.object({ n: z.number() }), run })
  expect(await needed.parse(null)).toMatchObject({ problem: { en: expect.stringContaining('null') } })
})

test('the types of input and output flow from the schema and the handler', async () => {
  const job = defineJob({
    kind: 'a',
    input: z.object({ at: z.coerce.date(), n: z.string().transform(Number) }),
    run: (ctx, input) => {
      expectTypeOf(ctx).toEqualTypeOf<JobContext>()
      expectTypeOf(input).toEqualTypeOf<{ at: Date; n: number }>()
      if (input.n > 5) return skip('large')
      if (input.n > 4) return snooze(seconds(1))
      return { ok: true }
    },
  })
  expectTypeOf(job).toEqualTypeOf<Job<{ at: unknown; n: string }, { ok: boolean }>>()
  const plain = defineJob({ kind: 'b', run: async (_: JobContext, input: { name: string }) => input.name })
  expectTypeOf(plain).toEqualTypeOf<Job<{ name: string }, string>>()
  const handler = new URL('file:///work.js')
  const inModule = defineJob({ kind: 'd', input: z.object({ n: z.string().transform(Number) }), handler })
  expectTypeOf(inModule).toEqualTypeOf<Job<{ n: string }, unknown>>()
  expectTypeOf(defineJob<{ n: number }>({ kind: 'e', handler })).toEqualTypeOf<Job<{ n: number }, unknown>>()
  const bare = defineJob({ kind: 'c', run: () => 1 })
  expectTypeOf(bare).toEqualTypeOf<Job<undefined, number>>()
  // At run time: the handler gets the output of the schema, and an invalid input is refused.
  expect(await job.parse({ at: '2030-01-01T00:00:00Z', n: '3' })).toEqual({
    value: { at: new Date(Date.UTC(2030, 0)), n: 3 },
  })
  expect(await job.parse({ at: '2030-01-01T00:00:00Z', n: 3 })).toMatchObject({ problem: { en: expect.any(String) } })
  expect(await plain.parse({ name: 'ana' })).toEqual({ value: { name: 'ana' } })
})

test('a kind may have its own words for what the watchdog does to its jobs', () => {
  const messages = { orphan: 'o worker morreu', overdue: 'passou da hora' }
  expect(defineJob({ kind: 'a', messages, run }).policy.messages).toEqual(messages)
  for (const wrong of [null, 'text', 7]) expect(refusal({ kind: 'a', messages: wrong, run })).toMatch(/messages takes/)
  expect(refusal({ kind: 'a', messages: { orphaned: 'x' }, run })).toMatch(/messages\.orphaned.*orphan/)
  for (const orphan of ['', '  ', 7, 'x'.repeat(1001), 'a\u0000b', '\ud800'])
    expect(refusal({ kind: 'a', messages: { orphan }, run })).toMatch(/messages\.orphan must be a text of 1 to 1000/)
})
