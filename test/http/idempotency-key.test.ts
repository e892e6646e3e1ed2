/** An Idempotency-Key on the two routes that make one thing in one transaction: the job of a schedule, and a token. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineJob, defineSchedule, hours, minutes } from '../../src/index.ts'
import { until } from '../support/engine.ts'
import { sqlOf } from '../support/events.ts'
import { type Door, doorWith } from './support.ts'

const sweep = defineJob({ kind: 'sweep', queue: 'nightly', run: () => 'ok' })
const schedules = ['nightly', 'hourly'].map(name => defineSchedule({ name, job: sweep, every: minutes(60) }))

/** Two admins, so that the door is closed before the first question and after the last. */
async function door() {
  const made = await doorWith([], { schedules })
  const [ana, rui] = await Promise.all(['ana', 'rui'].map(user => made.engine.tokens.create({ user, role: 'admin' })))
  return { ...made, ana: ana!.token, rui: rui!.token, sql: await sqlOf(made) }
}

interface Maker {
  path: string
  body?: object
  /** The same key with something else asked. */
  other: { path: string; body?: object }
  /** How many there are of what it makes. */
  count(door: Door): Promise<number>
}

const makers: Record<string, Maker> = {
  'the job of a schedule': {
    path: '/api/v1/schedules/nightly/run',
    other: { path: '/api/v1/schedules/hourly/run' },
    count: async ({ engine }) => (await engine.jobs.list()).items.length,
  },
  'a token': {
    path: '/api/v1/tokens',
    body: { user: 'eva', role: 'viewer' },
    other: { path: '/api/v1/tokens', body: { user: 'eva', role: 'admin' } },
    count: async ({ engine }) => (await engine.tokens.list({ user: 'eva' })).items.length,
  },
}

describe.each(Object.entries(makers))('%s', (_, { path, body, other, count }) => {
  const asking = (t: Door, token: string, asked: { path: string; body?: object } = { path, ...(body && { body }) }) =>
    t.ask('POST', asked.path, { token, headers: { 'idempotency-key': 'k' }, ...(asked.body && { body: asked.body }) })

  test('is made once for a key, and answered as it was the first time for a day; then it is another', async () => {
    const t = await door()
    const first = await asking(t, t.ana)
    expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([201, null])
    await t.clock.advance(hours(23))
    const again = await asking(t, t.ana)
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
    expect(again.body).toEqual({ ...first.body, ...('token' in first.body ? { token: null } : {}) })
    expect(await count(t)).toBe(1)
    await t.clock.advance(hours(2))
    const later = await asking(t, t.ana)
    expect([later.status, later.body.id === first.body.id]).toEqual([201, false])
    expect(await count(t)).toBe(2)
  })

  test('is not made by the same key for something else', async () => {
    const t = await door()
    await asking(t, t.ana)
    const refused = await asking(t, t.ana, other)
    expect(refused).toMatchObject({ status: 409, body: { error: { code: 'idempotency_conflict', key: 'k' } } })
    expect(await count(t)).toBe(1)
  })

  test('is made for each user who happens to take the same key', async () => {
    const t = await door()
    const [mine, theirs] = [await asking(t, t.ana), await asking(t, t.rui)]
    expect([mine.status, theirs.status, mine.body.id === theirs.body.id]).toEqual([201, 201, false])
  })

  test('is made once by ten at once, who get one answer', async () => {
    const t = await door()
    const answers = await Promise.all(Array.from({ length: 10 }, () => asking(t, t.ana)))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201))
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1)
    expect(await count(t)).toBe(1)
  })

  test('is not there when its connection broke before the answer was kept, and the next try makes the only one', async () => {
    const t = await door()
    const keeping = `query like '%update retoma.idempotency%' and wait_event = 'PgSleep' and datname = current_database()`
    await t.sql(`
      create function public.linger() returns trigger language plpgsql as $$ begin perform pg_sleep(600); return new; end $$;
      create trigger linger before update on retoma.idempotency for each row execute function public.linger()`)
    const drop = 'drop function if exists public.linger cascade'
    onTestFinished(async () => void (await t.sql(drop)))
    const broken = asking(t, t.ana)
    await until(async () => (await t.sql(`select from pg_stat_activity where ${keeping}`)).length === 1)
    await t.sql(`select pg_terminate_backend(pid) from pg_stat_activity where ${keeping}`)
    expect((await broken).status).toBe(503)
    await t.sql(drop)
    expect(await count(t)).toBe(0)
    const next = await asking(t, t.ana)
    expect([next.status, next.headers.get('idempotent-replayed')]).toEqual([201, null])
    expect(next.body.token).not.toBeNull()
    expect(await count(t)).toBe(1)
  })
})

test('the secret of a token is in its first answer and in no row, whatever its key', async () => {
  const t = await door()
  const asked = { token: t.ana, body: makers['a token']!.body, headers: { 'idempotency-key': 'k' } }
  const { body } = await t.ask('POST', '/api/v1/tokens', asked)
  expect((await t.ask('GET', '/api/v1/me', { token: body.token })).body).toMatchObject({ user: 'eva' })
  const tables = await t.sql<{ name: string }>(
    `select relname as name from pg_class where relkind = 'r' and relnamespace = 'retoma'::regnamespace`,
  )
  const rows = await Promise.all(
    tables.map(({ name }) => t.sql<{ row: string }>(`select t::text as row from retoma.${name} t`)),
  )
  expect(rows.flat().length).toBeGreaterThan(3)
  expect(rows.flat().filter(({ row }) => row.includes(body.token))).toEqual([])
  // Kept for the key: the same, without it.
  const [kept] = await t.sql<{ response: string }>(`select response #>> '{}' as response from retoma.idempotency`)
  expect(JSON.parse(kept!.response)).toEqual({ ...body, token: null })
})

test('what a schedule was refused is not kept: with the same key it is judged anew', async () => {
  const t = await doorWith([], { schedules, limits: { nightly: { maxDepth: 1 } } })
  const path = '/api/v1/schedules/nightly/run'
  const asked = (key: string) => t.ask('POST', path, { headers: { 'idempotency-key': key } })
  const first = await asked('a')
  expect(await asked('b')).toMatchObject({ status: 429, body: { error: { code: 'queue_full' } } })
  // Asked again, what is there is answered though its queue is full.
  expect(await asked('a')).toMatchObject({ status: 201, body: first.body })
  await t.run()
  await t.clock.advance(minutes(1))
  await t.sample()
  expect((await asked('b')).status).toBe(201)
})
