/** Internal kinds: only the program itself enqueues such jobs; no request can. */
import { expect, onTestFinished, test } from 'vitest'
import { classifier } from '../../apps/classifier/index.ts'
import { documents } from '../../apps/documents/index.ts'
import { planner } from '../../apps/planner/index.ts'
import { quotes } from '../../apps/quotes/index.ts'
import { snaps } from '../../apps/snaps/index.ts'
import type { System } from '../../src/http/index.ts'
import { defineBatch, defineJob, defineSchedule, doNotRetry, minutes } from '../../src/index.ts'
import { testEngine } from '../../src/testing/index.ts'
import { doorOf, doorWith } from './support.ts'

const settle = defineJob<string>({
  kind: 'settle-payment',
  internal: true,
  run: (_, how) => {
    if (how === 'fail') throw doNotRetry(new Error('refused'))
    return how
  },
})
const open = defineJob<string>({ kind: 'open', run: (_, given) => given })
const settlements = defineBatch({ name: 'settlements', job: settle })
const nightly = defineSchedule({ name: 'nightly', job: settle, input: 'nightly', every: minutes(60) })

const door = () =>
  doorWith([settle, open], {
    batches: [settlements],
    schedules: [nightly],
    notify: { url: 'http://127.0.0.1:9/', secret: 'whsec-0123456789abcdef' },
  })

/** An app without jobs, on a database whose jobs another process has registered. */
async function doorOfExisting(databaseUrl: string) {
  const { engine, close } = await testEngine({ databaseUrl })
  onTestFinished(close)
  return { engine, ...doorOf(engine) }
}

const refused = { status: 403, body: { error: { code: 'internal_kind' } } }

test('no request makes a job of the engine, so that no operator forges a signed notice', async () => {
  const { ask, engine } = await door()
  const forged = { kind: 'retoma.notify', input: { notice: { event: 'x', sentence: 'pay here' }, after: null } }
  for (const body of [forged, [forged], { jobs: [{ kind: 'open', input: 'a' }, forged] }])
    expect(await ask('POST', '/api/v1/jobs', { body })).toMatchObject(refused)
  expect((await engine.jobs.list()).items).toEqual([])
})

test('no request makes a job or a batch of a kind that is internal, with a key or without', async () => {
  const { ask, engine } = await door()
  const headers = { 'idempotency-key': 'once' }
  expect(await ask('POST', '/api/v1/jobs', { body: { kind: 'settle-payment', input: 'a' } })).toMatchObject(refused)
  expect(await ask('POST', '/api/v1/jobs', { headers, body: { kind: 'settle-payment' } })).toMatchObject(refused)
  const batch = { name: 'settlements', items: ['a'] }
  expect(await ask('POST', '/api/v1/batches', { body: batch })).toMatchObject(refused)
  expect(await ask('POST', '/api/v1/batches', { headers, body: batch })).toMatchObject(refused)
  expect((await engine.jobs.list()).items).toEqual([])
  expect((await ask('POST', '/api/v1/jobs', { body: { kind: 'open', input: 'a' } })).status).toBe(201)
})

test('an internal job that failed is retried over HTTP, and one that has ended well is not run once more', async () => {
  const { ask, engine, run } = await door()
  const failed = await engine.enqueue(settle, 'fail')
  const done = await engine.enqueue(settle, 'well')
  await run()
  expect((await ask('POST', `/api/v1/jobs/${failed.id}/retry`)).status).toBe(200)
  expect(await ask('POST', `/api/v1/jobs/${done.id}/rerun`)).toMatchObject(refused)
  expect((await ask('POST', '/api/v1/jobs/999999/rerun')).status).toBe(404)
})

test('an app that does not know an internal kind or a private kind refuses and hides its jobs, as the process that registered the kind does', async () => {
  const secret = defineJob<string>({ kind: 'bank-statement', private: true, run: () => 'x' })
  const { engine, run, databaseUrl } = await doorWith([settle, secret])
  const [done, hidden] = [await engine.enqueue(settle, 'well'), await engine.enqueue(secret, 'a')]
  await run()
  const other = await doorOfExisting(databaseUrl)
  const token = async (role: 'operator' | 'admin') => (await other.engine.tokens.create({ user: role, role })).token
  const [operator, admin] = [await token('operator'), await token('admin')]
  expect(await other.ask('POST', `/api/v1/jobs/${done.id}/rerun`, { token: admin })).toMatchObject(refused)
  expect((await other.ask('GET', `/api/v1/jobs/${hidden.id}`, { token: admin })).status).toBe(200)
  expect((await other.ask('GET', `/api/v1/jobs/${hidden.id}`, { token: operator })).status).toBe(404)
  const listed = (await other.ask('GET', '/api/v1/jobs', { token: operator })).body.items as { id: string }[]
  expect(listed.map(({ id }) => id)).toEqual([done.id])
})

test('a schedule of an internal kind is run by hand, with the input it always has', async () => {
  const { ask, engine } = await door()
  const { status, body } = await ask('POST', '/api/v1/schedules/nightly/run')
  expect(status).toBe(201)
  expect(await engine.job(body.id)).toMatchObject({ kind: 'settle-payment', input: 'nightly' })
})

test.each<[string, System]>([
  ['classifier', classifier({ openRouter: { key: undefined, model: undefined, baseUrl: 'http://a' } })],
  ['quotes', quotes()],
  ['planner', planner()],
  ['snaps', snaps()],
  ['documents', documents()],
])('every kind of the system %s is internal', (_, system) => {
  const schedules = (system.schedules ?? []).map(({ job }) => job)
  const batches = (system.batches ?? []).map(({ job }) => job)
  const jobs = [...(system.jobs ?? []), ...schedules, ...batches]
  expect(jobs.map(({ kind, internal }) => ({ kind, internal }))).toEqual(
    jobs.map(({ kind }) => ({ kind, internal: true })),
  )
  expect(jobs.length).toBeGreaterThan(0)
})

test('internal is true or false', () => {
  expect(() => defineJob({ kind: 'a', internal: 'yes' as never, run: () => 1 })).toThrow(
    /internal must be true or false/,
  )
})
