/** The engine refuses an invalid option by name, and leaves nothing behind. */

import pg from 'pg'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { isLockTimeout, translatePgError } from '../../src/database/pg-errors.ts'
import { internalsOf } from '../../src/engine/internals.ts'
import { createEngine, defineJob, type Engine, minutes, seconds, snooze } from '../../src/index.ts'
import { migratedDatabase } from '../support/database.ts'
import { aborted, cleanerName, engineWith, gate, liveEngine, until } from '../support/engine.ts'
import { databaseError } from '../support/faulty-db.ts'
import { englishIn } from '../support/portuguese.ts'

const greet = defineJob({ kind: 'greet', input: z.object({ name: z.string() }), run: (_, { name }) => `Olá, ${name}` })
const any = defineJob({ kind: 'any', run: (_, input: unknown) => input })

const method = () => {}
const notTransactions = [
  null,
  'tx',
  {},
  new Map(),
  { query: method, totalCount: 1 },
  { $queryRawUnsafe: method, $connect: method },
  { executeQuery: method },
  { unsafe: method },
  { execute: method },
]

test('bad input and bad options are refused with a code, and nothing is written', async () => {
  const circle: { self?: unknown } = {}
  circle.self = circle
  const { engine } = await engineWith(greet, any)
  const refused = async (code: string, work: (engine: Engine) => unknown) => {
    const error = await (async () => work(engine))().catch((refusal: unknown) => refusal)
    expect(error).toMatchObject({ name: 'RetomaError', code })
    // What is wrong with an input is mostly said by its schema.
    if (code !== 'bad_input') expect(englishIn(error)).toEqual([])
  }
  await refused('bad_input', it => it.enqueue(greet, { name: 5 } as never))
  await refused('bad_input', it => it.enqueue(greet, undefined as never))
  await refused('bad_input', it => it.enqueue(any, circle))
  await refused('bad_input', it => it.enqueue(any, new Error('x')))
  await refused('bad_input', it => it.enqueue(any, () => 1))
  await refused('bad_input', it => it.enqueue(any, 'a\u0000b'))
  await refused('bad_input', it => it.enqueue(any, ['\ud800']))
  await refused('input_too_large', it => it.enqueue(any, 'x'.repeat(8 * 1024 * 1024)))
  await refused('bad_option', it => it.enqueue(any, 1, { priority: 11 }))
  await refused('bad_option', it => it.enqueue(any, 1, { delay: seconds(-1) }))
  await refused('bad_option', it => it.enqueue(any, 1, { runAt: new Date('never') }))
  await refused('bad_option', it => it.enqueue(any, 1, { prioritty: 1 } as never))
  await refused('bad_option', it => it.enqueue(any, 1, { key: '' }))
  await refused('not_found', it => it.jobs.cancel('999'))
  await refused('not_found', it => it.jobs.retry('1; drop table retoma.job'))
  await refused('not_found', it => it.jobs.resume('99999999999999999999'))
  await refused('not_found', it => it.wait({ job: 'x' }))
  await refused('unknown_kind', it => internalsOf(it).kind('gret'))
  await refused('unknown_kind', it => internalsOf(it).kind('dig'))
  await refused('unknown_schedule', it => it.schedules.run('nightly'))
  await refused('bad_option', it => it.enqueueMany(any, [1], { key: 'x' } as never))
  await refused('bad_option', it => it.enqueueMany(any, [1], { keyUntil: 'final' }))
  await refused('bad_option', it => it.work({ queues: { any: 0 } }))
  await refused('bad_option', () => snooze(seconds(-1)))
  for (const tx of notTransactions) await refused('bad_option', it => it.enqueue(any, 1, { tx: tx as never }))
  await refused('bad_option', it => it.jobs.list({ limit: 501 }))
  await refused('bad_option', it => it.jobs.list({ after: 'x' }))
  expect(await engine.job('x')).toBeNull()
  expect(await engine.jobs.list()).toEqual({ items: [], next: null })
})

test('an input that its schema would refuse when it runs is refused at the door', async () => {
  const dated = defineJob({ kind: 'dated', input: z.object({ at: z.date() }), run: () => 1 })
  const { engine } = await engineWith(dated)
  await expect(engine.enqueue(dated, { at: '2030-01-01' as never })).rejects.toMatchObject({ code: 'bad_input' })
  expect(await engine.enqueue(dated, { at: new Date() })).toMatchObject({ created: true })
})

test('the handler gets what the schema makes of the input: coerced, transformed, with its defaults, each time', async () => {
  const seen: unknown[] = []
  const job = defineJob({
    kind: 'shaped',
    maxAttempts: 2,
    backoff: { first: seconds(0), jitter: 0 },
    input: z.object({ at: z.coerce.date(), n: z.string().transform(Number), list: z.array(z.string()).default(['x']) }),
    run: (ctx, input) => {
      seen.push(input)
      if (ctx.attempt === 1) throw new Error('again')
    },
  })
  const { engine, run } = await engineWith(job)
  const at = new Date('2030-02-03T04:05:06.789Z')
  await engine.enqueue(job, { at, n: '12' })
  await run()
  expect(seen).toEqual([
    { at, n: 12, list: ['x'] },
    { at, n: 12, list: ['x'] },
  ])
})

test('a schema may take its time', async () => {
  const slow = defineJob({
    kind: 'slow',
    input: z.string().refine(async text => text !== 'taken', 'it is taken'),
    run: (_, text) => text,
  })
  const { engine, run } = await engineWith(slow)
  await expect(engine.enqueue(slow, 'taken')).rejects.toThrow(/bad_input: .*it is taken/)
  const { id } = await engine.enqueue(slow, 'free')
  await run()
  expect(await engine.job(id)).toMatchObject({ state: 'succeeded', result: 'free' })
})

test('an input that may be left out can be', async () => {
  const optional = defineJob({
    kind: 'optional',
    input: z.object({ n: z.number() }).optional(),
    run: (_, input) => input?.n ?? 'none',
  })
  const preset = defineJob({
    kind: 'preset',
    input: z.object({ n: z.number() }).default({ n: 7 }),
    run: (_, { n }) => n,
  })
  const { engine, run } = await engineWith(optional, preset)
  const ids = [
    await engine.enqueue(optional, undefined),
    await engine.enqueue(preset, undefined),
    await engine.enqueue(optional, { n: 3 }),
  ]
  await run()
  expect(await Promise.all(ids.map(async ({ id }) => (await engine.job(id))?.result))).toEqual(['none', 7, 3])
})

test('input that a newer schema no longer accepts fails at once, with the reason', async () => {
  const { engine, run, databaseUrl } = await engineWith(greet)
  const { id } = await engine.enqueue(greet, { name: 'Ana' })
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(`update retoma.job set input = '{"nome": "Ana"}'`)
  await client.end()
  await run()
  expect(await engine.job(id)).toMatchObject({ state: 'failed', failures: 1, error: { code: 'bad_input' } })
})

test('a job the engine was not created with can be enqueued, and is known from then on', async () => {
  const { engine, run } = await engineWith()
  const { id } = await engine.enqueue(greet, { name: 'Ana' })
  expect(internalsOf(engine).kind('greet')).toBe(greet)
  await run()
  expect(await engine.job(id)).toMatchObject({ state: 'succeeded', result: 'Olá, Ana' })
})

test('two different definitions of one kind are refused, the same one twice is not', async () => {
  const rival = defineJob({ kind: 'greet', run: () => 'hi' })
  const { url, drop } = await migratedDatabase()
  onTestFinished(drop)
  const twice = createEngine({ databaseUrl: url, jobs: [greet, rival] })
  await expect(twice).rejects.toMatchObject({ code: 'bad_definition', message: expect.stringContaining('same kind') })
  await using engine = await createEngine({ databaseUrl: url, jobs: [greet, greet] })
  const refusal = await engine.enqueue(rival, undefined).catch((error: unknown) => error)
  expect(refusal).toMatchObject({ code: 'bad_definition' })
  expect(englishIn(refusal)).toEqual([])
  expect((await engine.jobs.list()).items).toEqual([])
})

test('the compiler holds an input to its job', async () => {
  const check = (engine: Engine, loose: { name?: string }) => {
    expectTypeOf(engine.enqueue(greet, { name: 'Ana' })).resolves.toHaveProperty('id')
    // @ts-expect-error a field is missing
    void engine.enqueue(greet, {})
    // @ts-expect-error a field may be missing
    void engine.enqueue(greet, loose)
    // @ts-expect-error the same for many
    void engine.enqueueMany(greet, [loose])
    // @ts-expect-error a field has another type
    void engine.enqueue(greet, { name: 5 })
    // @ts-expect-error there is no such option
    void engine.enqueue(greet, { name: 'Ana' }, { prioritty: 1 })
    // @ts-expect-error a kind is not a job
    void engine.enqueue('greet', { name: 'Ana' })
  }
  expect(check).toBeTypeOf('function')
})

test('a key in a transaction that does not end is refused in time, with the word that trying again helps', async () => {
  const { engine, databaseUrl } = await engineWith(any)
  const connect = async () => {
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    onTestFinished(() => client.end())
    await client.query(`set lock_timeout = '20ms'; begin`)
    return client
  }
  const [slow, quick] = [await connect(), await connect()]
  const { id } = await engine.enqueue(any, 1, { key: 'k', tx: slow })
  const refused = { code: 'key_locked', retryable: true, facts: { kind: 'any', key: 'k' } }
  await expect(engine.enqueue(any, 1, { key: 'k', tx: quick })).rejects.toMatchObject(refused)
  await quick.query('rollback')
  await slow.query('commit')
  expect(await engine.enqueue(any, 1, { key: 'k' })).toEqual({ id, created: false })
})

test('a lock that is not let go in time is a sentence of ours, and can be tried again', () => {
  const locked = translatePgError(databaseError('55P03'), 'postgres://h/d', false)
  expect(locked).toMatchObject({ name: 'RetomaError', code: 'database_locked', retryable: true })
  expect(isLockTimeout(locked)).toBe(true)
})

describe('wait', () => {
  test('ends with the reason of its signal, before and while it waits, and leaves nothing behind', async () => {
    const { engine, clock } = await engineWith(greet)
    const { id } = await engine.enqueue(greet, { name: 'Ana' })
    const reason = new Error('had enough')
    await expect(engine.wait({ job: id }, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    const stop = new AbortController()
    const waiting = engine.wait({ job: id }, { signal: stop.signal })
    await until(() => clock.sleepers === 1)
    stop.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    expect(clock.sleepers).toBe(0)
  })

  test('ends at once when a worker of this process ends the job, and when it is over already', async () => {
    const { engine, run, clock } = await engineWith(greet)
    const { id } = await engine.enqueue(greet, { name: 'Ana' })
    const waiting = engine.wait({ job: id })
    await run()
    expect(await waiting).toMatchObject({ state: 'succeeded' })
    expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded' })
    expect(clock.sleepers).toBe(0)
  })

  test('ends when another process ends the job', async () => {
    const { engine, clock } = await engineWith(greet)
    const { id } = await engine.enqueue(greet, { name: 'Ana' })
    const waiting = engine.wait({ job: id })
    await until(() => clock.sleepers === 1)
    await engine.jobs.cancel(id)
    await clock.advance(seconds(1))
    expect(await waiting).toMatchObject({ state: 'cancelled' })
  })

  test('is refused with engine_closed when the engine closes meanwhile', async () => {
    const { engine, clock } = await engineWith(greet)
    const { id } = await engine.enqueue(greet, { name: 'Ana' })
    const waiting = engine.wait({ job: id }).catch(error => error)
    await until(() => clock.sleepers === 1)
    await engine.close()
    expect(await waiting).toMatchObject({ code: 'engine_closed' })
    expect(clock.sleepers).toBe(0)
  })
})

test('many that wait, and many transactions at once, are nothing to warn of', async () => {
  const warnings: Error[] = []
  const heard = (warning: Error) => void warnings.push(warning)
  process.on('warning', heard)
  onTestFinished(() => void process.off('warning', heard))
  const { engine, clock, databaseUrl } = await engineWith(greet)
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  onTestFinished(() => client.end())
  const ids: string[] = []
  for (let n = 0; n < 12; n++) ids.push((await engine.enqueue(greet, { name: 'Ana' }, { tx: client })).id)
  const waiting = ids.map(job => engine.wait({ job }).catch(() => 'closed'))
  await until(() => clock.sleepers === 4 * ids.length)
  await engine.close()
  expect(await Promise.all(waiting)).toEqual(ids.map(() => 'closed'))
  expect(warnings).toEqual([])
})

describe('a closed engine', () => {
  test('refuses every method by name, and closing twice is closing once', async () => {
    const { engine } = await engineWith(greet)
    const closing = engine.close()
    expect(engine.close()).toBe(closing)
    await closing
    for (const work of [
      () => engine.enqueue(greet, { name: 'x' }),
      () => engine.job('1'),
      () => engine.work(),
      () => internalsOf(engine).ping(),
    ])
      await expect(async () => work()).rejects.toMatchObject({ code: 'engine_closed' })
  })

  test('has no connection, with jobs cut off in the middle', async () => {
    const started = gate()
    const long = defineJob({
      kind: 'long',
      timeout: minutes(1),
      run: async ctx => {
        started.open()
        await aborted(ctx.signal)
        throw ctx.signal.reason
      },
    })
    const { engine, url } = await liveEngine([long])
    await engine.work()
    const { id } = await engine.enqueue(long, undefined)
    await started.passed
    await engine.close()
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    onTestFinished(() => client.end())
    const left = `select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and application_name <> '${cleanerName}'`
    await until(async () => (await client.query(left)).rows[0].n === 0)
    const { rows } = await client.query(
      `select state, failures, (select count(*)::int from retoma.worker) as workers from retoma.job where id = $1`,
      [id],
    )
    expect(rows).toEqual([{ state: 'waiting', failures: 0, workers: 0 }])
  })
})
