import { expect, inject, test } from 'vitest'
import { createEngine, days, defineBatch, defineJob, hours, type Retention, skip } from '../../src/index.ts'
import { engineOf } from '../support/engine.ts'
import { sqlOf } from '../support/events.ts'
import { englishIn } from '../support/portuguese.ts'

const good = defineJob({
  kind: 'good',
  run: async ctx => {
    await ctx.step('a', () => ctx.cost({ currency: 'USD', amount: '1' }))
    return 'done'
  },
})
const bad = defineJob({ kind: 'bad', maxAttempts: 1, run: () => Promise.reject(new Error('no')) })
const none = defineJob({ kind: 'none', run: () => skip('nothing to do') })

async function ended(retention?: Retention) {
  const t = await engineOf({ jobs: [good, bad, none], ...(retention ? { retention } : {}) })
  const ids = { good: '', bad: '', none: '', waiting: '' }
  for (const job of [good, bad, none] as const) ids[job.kind as 'good'] = (await t.engine.enqueue(job, undefined)).id
  ids.waiting = (await t.engine.enqueue(good, undefined, { delay: days(400) })).id
  await t.run()
  const left = async () => (await t.engine.jobs.list()).items.map(job => job.id).sort()
  const sql = await sqlOf(t)
  return { ...t, ids, left, sql }
}

/** The number of rows in each table with rows of a job. */
const parts = `select
  (select count(*) from retoma.failure)::int as failures, (select count(*) from retoma.checkpoint)::int as checkpoints,
  (select count(*) from retoma.event where job_id is not null)::int as events, (select count(*) from retoma.file where job_id is not null)::int as files,
  (select count(*) from retoma.batch_count)::int as counts, (select count(*) from retoma.batch_chunk)::int as chunks,
  (select count(*) from retoma.job_cost)::int as costs, (select count(*) from retoma.batch_cost)::int as sums`
const nothing = { failures: 0, checkpoints: 0, events: 0, files: 0, counts: 0, chunks: 0, costs: 0, sums: 0 }

test('finished jobs are kept for 90 days and then go with their failures, checkpoints, costs, events and files; what is not finished stays', async () => {
  const { clock, clean, left, ids, engine, sql } = await ended()
  const file = await engine.files.put([Buffer.from('x')], { name: 'a', type: 'a/b' })
  await sql(`update retoma.file set job_id = ${ids.good} where id = ${file.id}`)
  const full = { ...nothing, failures: 1, checkpoints: 1, events: 1, files: 1, costs: 1 }
  expect(await sql(parts)).toEqual([full])
  await clock.advance(days(90))
  await clean()
  expect(await left()).toHaveLength(4)
  expect(await sql(parts)).toEqual([full])
  await clock.advance(hours(1))
  await clean()
  expect(await left()).toEqual([ids.waiting])
  expect(await sql(parts)).toEqual([nothing])
})

test('a batch goes with its jobs and everything of theirs', async () => {
  const letters = defineBatch({ name: 'letters', job: good })
  const t = await engineOf({ jobs: [good, bad], batches: [letters] })
  const sql = await sqlOf(t)
  const { id } = await t.engine.submit(letters, [undefined, undefined])
  await t.run()
  expect(await sql(parts)).toMatchObject([{ checkpoints: 2, chunks: 1, costs: 2, sums: 1 }])
  await t.clock.advance(days(91))
  await t.clean()
  await t.tick()
  expect(await t.engine.batch(id)).toBeNull()
  expect(await sql(parts)).toEqual([nothing])
})

test('an answer that is kept for a key goes after a day, not before', async () => {
  const { clock, clean, sql } = await ended()
  const at = clock.now().toISOString()
  await sql(
    `insert into retoma.idempotency (who, route, key, body_hash, status, response, at) values ('ana', 'post /x', 'k', '', 201, '"{}"', '${at}')`,
  )
  const kept = async () => (await sql(`select from retoma.idempotency`)).length
  await clock.advance(hours(23.9))
  await clean()
  expect(await kept()).toBe(1)
  await clock.advance(hours(0.2))
  await clean()
  expect(await kept()).toBe(0)
})

test('each way to end may be kept for another time', async () => {
  const { clock, clean, left, ids } = await ended({ succeeded: days(1), failed: days(30) })
  await clock.advance(days(2))
  await clean()
  expect(await left()).toEqual([ids.bad, ids.none, ids.waiting].sort())
  await clock.advance(days(30))
  await clean()
  expect(await left()).toEqual([ids.none, ids.waiting].sort())
})

test('more than one bite goes in one round, and two janitors at once do not disturb each other', async () => {
  const { engine, clock, clean, run, left, ids } = await ended()
  await engine.enqueueMany(
    good,
    Array.from({ length: 2500 }, () => undefined),
  )
  await run()
  await clock.advance(days(91))
  await Promise.all([clean(), clean()])
  expect(await left()).toEqual([ids.waiting])
})

test.each([[{ finished: days(1) }], [{ succeeded: -1 }], [0], [null], [[]]])(
  'a retention that makes no sense is refused: %o',
  async retention => {
    const making = createEngine({ databaseUrl: inject('serverUrl'), retention: retention as never })
    const error = await making.catch((refusal: unknown) => refusal)
    expect(error).toMatchObject({ code: 'bad_option', facts: { option: 'retention' } })
    expect(englishIn(error)).toEqual([])
  },
)
