/** Jobs come in over HTTP: one or many, all or none; with an Idempotency-Key once, whatever is lost in between. */

import { expect, test } from 'vitest'
import { z } from 'zod'
import { internalsOf } from '../../src/engine/internals.ts'
import { defineJob, hours, minutes, seconds } from '../../src/index.ts'
import { gate, until } from '../support/engine.ts'
import { sqlOf } from '../support/events.ts'
import { doorWith } from './support.ts'

const send = defineJob({ kind: 'send', queue: 'mail', input: z.object({ to: z.string() }), run: () => 'sent' })
const draw = defineJob({ kind: 'draw', run: () => 'drawn' })
const ana = { kind: 'send', input: { to: 'ana' } }
const path = '/api/v1/jobs'

test('one job is made as asked, and answered with its id', async () => {
  const { ask, engine } = await doorWith([send])
  const { status, body } = await ask('POST', path, {
    body: { ...ana, key: 'k', priority: 2, delay_seconds: 5, group_key: 'g', ref: 'A-1' },
  })
  expect({ status, body }).toEqual({ status: 201, body: { id: expect.any(String), created: true, state: 'waiting' } })
  expect(await engine.job(body.id)).toMatchObject({
    kind: 'send',
    queue: 'mail',
    input: { to: 'ana' },
    key: 'k',
    priority: 2,
    groupKey: 'g',
    ref: 'A-1',
  })
})

test('a job has the policy, the queue and the retention of its request, and shows them', async () => {
  const { ask, engine } = await doorWith([send, draw])
  const own = {
    max_attempts: 7,
    backoff: { first_seconds: 30, factor: 1 },
    timeout_seconds: 90,
    retention_seconds: { succeeded: 3600 },
  }
  const { status, body } = await ask('POST', path, { body: { ...ana, ...own, queue: 'default' } })
  expect(status).toBe(201)
  expect(await engine.job(body.id)).toMatchObject({
    queue: 'default',
    policyOverride: {
      maxAttempts: 7,
      backoff: { first: seconds(30), factor: 1, max: minutes(10) },
      timeout: seconds(90),
    },
    retention: { succeeded: hours(1) },
  })
  const shown = {
    policy_override: {
      max_attempts: 7,
      backoff: { first_seconds: 30, factor: 1, max_seconds: 600, jitter: 0.1 },
      timeout_seconds: 90,
    },
    retention_seconds: { succeeded: 3600 },
  }
  expect((await ask('GET', `${path}/${body.id}`)).body).toMatchObject(shown)
  expect((await ask('GET', path)).body.items).toMatchObject([shown])
})

test.each([
  [{ queue: 'maill' }, 404, { code: 'unknown_queue' }],
  [{ max_attempts: 0 }, 400, { code: 'bad_request', field: 'max_attempts' }],
  [{ backoff: { first: 1 } }, 400, { code: 'bad_request', field: 'backoff.first' }],
  [{ timeout_seconds: 0 }, 400, { code: 'bad_request', field: 'timeout_seconds' }],
  [{ retention_seconds: { completed: 1 } }, 400, { code: 'bad_request' }],
])('%o is refused, and makes no job and no queue', async (asked, status, error) => {
  const { ask, engine } = await doorWith([send])
  expect(await ask('POST', path, { body: { ...ana, ...asked } })).toMatchObject({ status, body: { error } })
  expect((await engine.jobs.list()).items).toEqual([])
  expect((await engine.queues.list()).map(each => each.queue)).toEqual(['mail'])
})

test('an input that is too large is 413, and its place among many is named', async () => {
  const { ask } = await doorWith([draw])
  const large = { kind: 'draw', input: 'x'.repeat(8 * 1024 * 1024) }
  const refused = { status: 413, body: { error: { code: 'input_too_large', field: 'input' } } }
  expect(await ask('POST', path, { body: large })).toMatchObject(refused)
  refused.body.error.field = '[1].input'
  expect(await ask('POST', path, { body: [{ kind: 'draw' }, large] })).toMatchObject(refused)
  expect((await ask('GET', path)).body.items).toEqual([])
})

test('a held key answers the job that holds it, with 200 and the state that is in', async () => {
  const { ask, run } = await doorWith([send])
  const first = await ask('POST', path, { body: { ...ana, key: 'k' } })
  await run()
  expect(await ask('POST', path, { body: { ...ana, key: 'k' } })).toMatchObject({
    status: 200,
    body: { id: first.body.id, created: false, state: 'succeeded' },
  })
})

test('many of any kinds are made in one go, as a list or under jobs, and answered in their order', async () => {
  const { ask, engine } = await doorWith([send, draw])
  const jobs = [ana, { kind: 'draw' }, { ...ana, key: 'k' }, { ...ana, key: 'k' }]
  const { status, body } = await ask('POST', path, { body: jobs })
  expect({ status, body }).toMatchObject({ status: 201, body: { created: 3, duplicates: 1 } })
  const kinds = await Promise.all(body.items.map(async ({ id }: { id: string }) => (await engine.job(id))!.kind))
  expect(kinds).toEqual(['send', 'draw', 'send', 'send'])
  expect(body.items[3]).toMatchObject({ id: body.items[2].id, created: false })
  expect(await ask('POST', path, { body: { jobs } })).toMatchObject({
    status: 201,
    body: { created: 2, duplicates: 2 },
  })
})

test('more than one statement takes are all there, or none', async () => {
  const { ask, engine, databaseUrl } = await doorWith([send])
  const sql = await sqlOf({ databaseUrl })
  const jobs = Array.from({ length: 2500 }, (_, n) => ({ ...ana, key: `k${n}` }))
  // The last chunk cannot be written: somebody has one of its keys and does not let go.
  await sql(`create function public.refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$`)
  await sql(
    `create trigger refuse before insert on retoma.job for each row when (new.key = 'k999') execute function public.refuse()`,
  )
  const refused = await ask('POST', path, { body: jobs })
  await sql(`drop function public.refuse cascade`)
  expect(refused.status).toBe(500)
  expect((await engine.jobs.list()).items).toEqual([])
  const { status, body } = await ask('POST', path, { body: jobs })
  expect([status, body.created, new Set(body.items.map(({ id }: { id: string }) => id)).size]).toEqual([
    201, 2500, 2500,
  ])
  expect(await engine.job(body.items[1234].id)).toMatchObject({ key: 'k1234' })
})

test('what is not usable is refused by its name, and nothing is made', async () => {
  const { ask, engine } = await doorWith([send])
  const cases: [unknown, string][] = [
    [{ ...ana, priority: 10 }, 'priority'],
    [{ ...ana, prioritty: 1 }, 'prioritty'],
    [{ input: {} }, 'kind'],
    [{ ...ana, run_at: 'soon' }, 'run_at'],
    [{ ...ana, run_at: '2030-01-01T00:00:00Z', delay_seconds: 5 }, 'delay_seconds'],
    [{ ...ana, key_until: 'final' }, 'key_until'],
    [{ ...ana, key: '' }, 'key'],
    [[ana, { ...ana, priority: 'x' }], '[1].priority'],
    [{ jobs: [ana, { ...ana, ref: 5 }] }, 'jobs[1].ref'],
    [{ jobs: [ana, { ...ana, delay_seconds: 5, run_at: '2030-01-01T00:00:00Z' }] }, 'jobs[1].delay_seconds'],
    [{ jobs: 5 }, 'jobs'],
    [5, 'body'],
    [null, 'body'],
  ]
  for (const [body, field] of cases)
    expect(await ask('POST', path, { body }), JSON.stringify(body)).toMatchObject({
      status: 400,
      body: { error: { code: 'bad_request', field } },
    })
  expect(await ask('POST', path, { body: { ...ana, group_key: 'a\u0000' } })).toMatchObject({
    status: 400,
    body: { error: { code: 'bad_option', field: 'group_key' } },
  })
  expect(await ask('POST', path, { body: { kind: 'send', input: { to: 5 } } })).toMatchObject({
    status: 400,
    body: { error: { code: 'bad_input', field: 'input', problem: expect.stringContaining('to') } },
  })
  expect(await ask('POST', path, { body: [ana, { kind: 'send', input: {} }] })).toMatchObject({
    status: 400,
    body: { error: { code: 'bad_input', field: '[1].input', problem: expect.stringMatching(/item 1.*to/) } },
  })
  expect(await ask('POST', path, { body: { kind: 'sent' } })).toMatchObject({
    status: 400,
    body: { error: { code: 'unknown_kind', field: 'kind', hint: expect.stringContaining('send') } },
  })
  expect((await engine.jobs.list()).items).toEqual([])
})

const once = (key: string, body: unknown = ana) => ({ body, headers: { 'idempotency-key': key } })

test('the same key and body within a day give the first answer, to the byte; the day after they make another', async () => {
  const { ask, engine, clock, clean, databaseUrl } = await doorWith([send])
  const sql = await sqlOf({ databaseUrl })
  const first = await ask('POST', path, once('a'))
  expect(first.status).toBe(201)
  expect(first.headers.get('idempotent-replayed')).toBeNull()
  await clock.advance(hours(23))
  const again = await ask('POST', path, once('a'))
  expect([again.status, JSON.stringify(again.body)]).toEqual([201, JSON.stringify(first.body)])
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect((await engine.jobs.list()).items).toHaveLength(1)
  await clock.advance(hours(2))
  expect((await ask('POST', path, once('a'))).body.id).not.toBe(first.body.id)
  await clock.advance(hours(25))
  await clean()
  expect(await sql('select key from retoma.idempotency')).toEqual([])
})

test('the same key with another body is refused, and so is a key that is empty or too long', async () => {
  const { ask, engine } = await doorWith([send])
  await ask('POST', path, once('a'))
  expect(await ask('POST', path, once('a', { ...ana, priority: 1 }))).toMatchObject({
    status: 409,
    body: { error: { code: 'idempotency_conflict' } },
  })
  for (const key of ['', 'x'.repeat(256)])
    expect(await ask('POST', path, once(key))).toMatchObject({
      status: 400,
      body: { error: { code: 'bad_request', field: 'Idempotency-Key' } },
    })
  expect((await ask('POST', path, once('x'.repeat(255)))).status).toBe(201)
  expect((await engine.jobs.list()).items).toHaveLength(2)
})

test('what was refused is not kept: with the same key it is judged anew', async () => {
  const { ask } = await doorWith([send])
  const wrong = { kind: 'send', input: { to: 5 } }
  expect((await ask('POST', path, once('a', wrong))).status).toBe(400)
  expect((await ask('POST', path, once('a'))).status).toBe(201)
})

test('twenty requests at once with one key make one job and get one answer', async () => {
  const { ask, engine } = await doorWith([send])
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask('POST', path, once('a', [ana, ana]))))
  expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1)
  expect((await engine.jobs.list()).items).toHaveLength(2)
})

test('an answer that cannot be kept leaves no job, so that the next try makes the only one', async () => {
  const { ask, engine, databaseUrl } = await doorWith([send])
  const sql = await sqlOf({ databaseUrl })
  // As if the process had died, or the link broken, between the job and its answer.
  await sql(`alter table retoma.idempotency add constraint broken check (status is null)`)
  const broken = await ask('POST', path, once('a'))
  await sql(`alter table retoma.idempotency drop constraint broken`)
  expect(broken.status).toBe(500)
  expect((await engine.jobs.list()).items).toEqual([])
  expect((await ask('POST', path, once('a'))).status).toBe(201)
  expect((await engine.jobs.list()).items).toHaveLength(1)
})

test('a worker runs what a kept answer made', async () => {
  const { ask, engine, run } = await doorWith([send])
  const { body } = await ask('POST', path, once('a'))
  await run()
  expect(await engine.job(body.id)).toMatchObject({ state: 'succeeded' })
})

test('a route that does not keep its answer itself refuses a second request while the first is under way', async () => {
  const { engine, clock } = await doorWith([send])
  const asked = { who: 'ana', route: 'post /things', key: 'a', hash: Buffer.from('x') }
  const begun = gate()
  const going = gate()
  let made = 0
  const work = async () => {
    made++
    begun.open()
    await going.passed
    return { value: made, keep: { status: 201, body: '{"n":1}' } }
  }
  const first = internalsOf(engine).once(asked, work)
  await begun.passed
  await expect(internalsOf(engine).once(asked, work)).rejects.toMatchObject({
    code: 'idempotency_running',
    retryAfterSeconds: 1,
  })
  await expect(internalsOf(engine).once({ ...asked, hash: Buffer.from('y') }, work)).rejects.toMatchObject({
    code: 'idempotency_conflict',
  })
  // Left behind for a minute, it is taken over; who was first keeps nothing then.
  await clock.advance(minutes(1))
  const second = internalsOf(engine).once(asked, work)
  await until(() => made === 2)
  going.open()
  expect(await first).toEqual({ value: 2 })
  expect(await second).toEqual({ value: 2 })
  expect(await internalsOf(engine).once(asked, work)).toEqual({ kept: { status: 201, body: '{"n":1}' } })
  expect(made).toBe(2)
})

test('what such a route threw is not kept', async () => {
  const { engine } = await doorWith([send])
  const asked = { who: 'ana', route: 'post /things', key: 'a', hash: Buffer.from('x') }
  await expect(internalsOf(engine).once(asked, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  const done = await internalsOf(engine).once(asked, async () => ({ value: 1, keep: { status: 200, body: '{}' } }))
  expect(done).toEqual({ value: 1 })
})

test('two large lists with the same keys in opposite order, as they come at once, both come in', async () => {
  const { engine } = await doorWith([send])
  const order = (key: number) => ({ job: send, input: { to: 'x'.repeat(900_000) }, options: { key: `k${key}` } })
  const keys = Array.from({ length: 12 }, (_, n) => n)
  const [one, other] = await Promise.all([
    internalsOf(engine).enqueueTogether(keys.map(order)),
    internalsOf(engine).enqueueTogether(keys.toReversed().map(order)),
  ])
  expect(other.toReversed().map(each => each.id)).toEqual(one.map(each => each.id))
})
