/** Internal kinds: only the program itself enqueues such jobs; no request can. */
import { expect, test } from 'vitest'
import { classifier } from '../../apps/classifier/index.ts'
import { defineBatch, defineJob, defineSchedule, doNotRetry, minutes } from '../../src/index.ts'
import { doorWith } from './support.ts'

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

test('a schedule of an internal kind is run by hand, with the input it always has', async () => {
  const { ask, engine } = await door()
  const { status, body } = await ask('POST', '/api/v1/schedules/nightly/run')
  expect(status).toBe(201)
  expect(await engine.job(body.id)).toMatchObject({ kind: 'settle-payment', input: 'nightly' })
})

test('every kind of the classifier is internal', () => {
  const { jobs = [] } = classifier({ openRouter: { key: undefined, model: undefined, baseUrl: 'http://a' } })
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
