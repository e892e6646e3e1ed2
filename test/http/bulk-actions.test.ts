/** Actions on all jobs of a filter: each once, their batches' counters right, and again does the rest. */
import { expect, test } from 'vitest'
import { defineBatch, defineJob, type Engine, seconds } from '../../src/index.ts'
import { auditBatches } from '../support/batches.ts'
import { gate } from '../support/engine.ts'
import { doorWith } from './support.ts'

const fails = defineJob({
  kind: 'fails',
  queue: 'a',
  maxAttempts: 1,
  run() {
    throw new Error('no')
  },
})
const works = defineJob({ kind: 'works', queue: 'b', run: () => 'ok' })
const pile = defineBatch({ name: 'pile', job: fails })
const heap = defineBatch({ name: 'heap', job: works })
const door = () => doorWith([fails, works], { batches: [pile, heap] })

const times = (count: number) => Array.from({ length: count }, () => undefined)
const states = async (engine: Engine) => {
  const { items } = await engine.jobs.list({ limit: 500 })
  return Object.fromEntries([...new Set(items.map(job => job.state))].map(state => [state, items.filter(job => job.state === state).length])) // biome-ignore format: one table
}

test('all that failed are run again, those of batches too, and their counters stay right', async () => {
  const { ask, engine, run, databaseUrl } = await door()
  await engine.enqueueMany(fails, times(30))
  const batch = await engine.submit(pile, times(20))
  await run()
  expect(await engine.batch(batch.id)).toMatchObject({ state: 'completed_with_failures', failed: 20 })
  expect(await ask('POST', '/api/v1/jobs/retry', { body: { state: 'failed' } })).toMatchObject({
    status: 200,
    body: { changed: 50, conflicts: 0, done: true, next: null },
  })
  expect(await states(engine)).toEqual({ waiting: 50 })
  expect(await engine.batch(batch.id)).toMatchObject({ state: 'running', failed: 0, waiting: 20 })
  expect(await auditBatches(databaseUrl)).toEqual([])
  expect((await ask('POST', '/api/v1/jobs/retry', { body: { state: 'failed' } })).body).toMatchObject({ changed: 0 })
  await run()
  expect(await engine.batch(batch.id)).toMatchObject({ state: 'completed_with_failures', failed: 20 })
  expect(await auditBatches(databaseUrl)).toEqual([])
})

test('all that wait are cancelled by what the filter says and nothing else, and the actor is noted', async () => {
  const { ask, engine, run, databaseUrl } = await door()
  await engine.enqueueMany(works, times(1500))
  await engine.enqueueMany(fails, times(3))
  const batch = await engine.submit(heap, times(10))
  expect((await ask('POST', '/api/v1/jobs/cancel', { body: { kind: 'works', queue: 'b' } })).body).toEqual({
    changed: 1510,
    conflicts: 0,
    done: true,
    next: null,
  })
  expect((await engine.jobs.list({ state: 'waiting' })).items).toHaveLength(3)
  // Without any item to wait for it is over.
  expect(await engine.batch(batch.id)).toMatchObject({ state: 'completed_with_failures', cancelled: 10 })
  expect(await auditBatches(databaseUrl)).toEqual([])
  const { items } = await engine.jobs.list({ state: 'cancelled', limit: 1 })
  expect((await engine.job(items[0]!.id))!.events).toMatchObject([
    { type: 'action', data: { who: 'local', what: 'cancel', from: 'waiting', to: 'cancelled' } },
  ])
  await run()
  expect((await engine.jobs.list({ state: 'failed' })).items).toHaveLength(3)
})

test('by batch, by group, by age and by state', async () => {
  const { ask, engine, clock } = await door()
  const first = await engine.submit(heap, times(5))
  const second = await engine.submit(heap, times(5))
  await engine.enqueueMany(works, times(4), { groupKey: 'ana' })
  const noon = clock.now().toISOString()
  await clock.advance(seconds(1))
  await engine.enqueueMany(works, times(4))
  const cancel = async (body: object) => (await ask('POST', '/api/v1/jobs/cancel', { body })).body.changed
  expect(await cancel({ batch_id: first.id })).toBe(5)
  expect(await engine.batch(second.id)).toMatchObject({ waiting: 5 })
  expect(await cancel({ group_key: 'ana' })).toBe(4)
  expect(await cancel({ state: 'stalled' })).toBe(0)
  expect(await cancel({ state: 'running', kind: 'works' })).toBe(0)
  await clock.advance(seconds(1))
  expect(await cancel({ created_before: noon })).toBe(0)
  expect(await cancel({ created_before: new Date(Date.parse(noon) + 1).toISOString() })).toBe(5)
  expect((await ask('POST', '/api/v1/jobs/retry', { body: { batch_id: first.id, state: 'cancelled' } })).body).toMatchObject({ changed: 5 }) // biome-ignore format: one call
  expect(await engine.batch(first.id)).toMatchObject({ waiting: 5, cancelled: 0 })
})

test('called by ten at once each job moves once, and so does each when rows of its batch still follow', async () => {
  const { ask, engine, run, databaseUrl } = await door()
  await engine.enqueueMany(fails, times(500))
  const batch = await engine.submit(pile, times(500))
  await run()
  const answers = await Promise.all([
    engine.batches.retryFailed(batch.id).then(({ retried }) => retried),
    ...Array.from({ length: 10 }, async () => {
      const { body } = await ask('POST', '/api/v1/jobs/retry', { body: { kind: 'fails' } })
      return body.changed as number
    }),
  ])
  expect(answers.reduce((sum, each) => sum + each, 0)).toBe(1000)
  expect(await engine.batch(batch.id)).toMatchObject({ failed: 0, waiting: 500 })
  expect(await auditBatches(databaseUrl)).toEqual([])
})

test('one whose key another job has by now stays as it is, and is counted as held', async () => {
  const { ask, engine, run } = await door()
  const { id } = await engine.enqueue(fails, undefined, { key: 'k', keyUntil: 'final' })
  const twin = await engine.enqueue(fails, undefined, { key: 'twin', keyUntil: 'final' })
  await run()
  await engine.enqueue(fails, undefined, { key: 'twin', keyUntil: 'final' })
  await run()
  await engine.enqueue(fails, undefined, { key: 'k', delay: seconds(60) })
  // Two jobs have the same free key: one job takes the key.
  expect((await ask('POST', '/api/v1/jobs/retry', { body: { kind: 'fails' } })).body).toMatchObject({
    changed: 1,
    conflicts: 2,
  })
  expect(await engine.job(id)).toMatchObject({ state: 'failed' })
  expect(await engine.job(twin.id)).toMatchObject({ state: 'waiting' })
})

test('nothing of a cancelled batch is run again', async () => {
  const { ask, engine } = await door()
  const batch = await engine.submit(heap, times(5))
  await engine.batches.cancel(batch.id)
  expect((await ask('POST', '/api/v1/jobs/retry', { body: { state: 'cancelled' } })).body).toMatchObject({ changed: 0 })
  expect(await engine.batch(batch.id)).toMatchObject({ state: 'cancelled', cancelled: 5 })
})

test('a running attempt loses its lease, and what it still writes does not count', async () => {
  const begun = gate()
  const going = gate()
  const slow = defineJob({
    kind: 'slow',
    async run() {
      begun.open()
      await going.passed
      return 'late'
    },
  })
  const { ask, engine } = await doorWith([slow])
  const { id } = await engine.enqueue(slow, undefined)
  const worker = await engine.work()
  await begun.passed
  expect((await ask('POST', '/api/v1/jobs/cancel', { body: { kind: 'slow' } })).body).toMatchObject({ changed: 1 })
  going.open()
  await worker.stop()
  expect(await engine.job(id)).toMatchObject({ state: 'cancelled', result: null })
})

test('a filter that says nothing, or what it cannot, is refused by its name', async () => {
  const { ask } = await door()
  for (const actionName of ['cancel', 'retry']) {
    const act = (body: unknown) => ask('POST', `/api/v1/jobs/${actionName}`, { body })
    expect(await act({})).toMatchObject({ status: 400, body: { error: { option: 'filter' } } })
    expect(await act({ state: 'succeeded' })).toMatchObject({ status: 400, body: { error: { field: 'state' } } })
    expect(await act({ kin: 'x' })).toMatchObject({ status: 400, body: { error: { field: 'kin' } } })
    expect(await act({ kind: 'x', groupkey: 'ana' })).toMatchObject({
      status: 400,
      body: { error: { field: 'groupkey', problem: 'there is no such field, did you mean "group_key"?' } },
    })
    expect(await act({ batch_id: 'x' })).toMatchObject({ status: 404 })
    expect(await act({ batch_id: '999' })).toMatchObject({ status: 404 })
    expect(await act({ kind: 'a\u0000' })).toMatchObject({ status: 200, body: { changed: 0, done: true } })
    expect(await act(undefined)).toMatchObject({ status: 400 })
  }
  expect(await ask('POST', '/api/v1/jobs/retry', { body: { state: 'failed', after: 'x' } })).toMatchObject({
    status: 400,
    body: { error: { option: 'after' } },
  })
})

test('a filter in the address of a request that acts is refused, not left out', async () => {
  const { ask, engine, run } = await door()
  const { id } = await engine.submit(pile, times(2))
  await run()
  expect(await ask('POST', `/api/v1/batches/${id}/retry-failed?cause=0a`)).toMatchObject({
    status: 400,
    body: { error: { code: 'bad_request', field: 'cause' } },
  })
  expect(await ask('POST', '/api/v1/jobs/cancel?kind=works', { body: { queue: 'a' } })).toMatchObject({ status: 400 })
  expect(await engine.batch(id)).toMatchObject({ failed: 2 })
})
