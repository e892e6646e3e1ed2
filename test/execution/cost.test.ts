/** The costs that handlers report: each call counts once for the job and for the batch, whatever answer is lost. */
import { expect, test } from 'vitest'
import { addCosts } from '../../src/execution/sql/job-cost.ts'
import { type CostAmount, defineBatch, defineJob, type JobContext, seconds } from '../../src/index.ts'
import { auditBatches } from '../support/batches.ts'
import { engineOf, engineWith, gate, liveEngine } from '../support/engine.ts'
import { linkLost } from '../support/faulty-db.ts'
import { faultyWorker } from '../support/faulty-worker.ts'
import { storeForFile } from '../support/store.ts'

const store = storeForFile()

const usd = (amount: string): CostAmount => ({ currency: 'USD', amount })
const backoff = { first: seconds(1), factor: 1, max: seconds(1), jitter: 0 }

test('a job and its batch have the exact sums by currency, with the costs of failed attempts, and a saved step costs nothing again', async () => {
  const job = defineJob<number>({
    kind: 'k',
    maxAttempts: 3,
    backoff,
    async run(ctx, n) {
      await ctx.step('ask', () => ctx.cost(usd('0.1')))
      await ctx.cost(usd('0.200000000001'))
      await ctx.cost({ currency: 'BRL', amount: '7.50' })
      if (n === 1 && ctx.attempt < 3) throw new Error('again')
    },
  })
  const plain = defineJob({ kind: 'plain', run: () => {} })
  const batch = defineBatch({ name: 'b', job })
  const free = defineBatch({ name: 'free', job: plain })
  const t = await engineOf({ batches: [batch, free] })
  const { id } = await t.engine.submit(batch, [1, 2])
  const without = await t.engine.submit(free, [undefined])
  for (let n = 0; n < 3; n++) {
    await t.run()
    await t.clock.advance(seconds(2))
  }
  const items = await t.engine.batches.items(id)
  const costs = await Promise.all(items.items.map(async item => (await t.engine.job(item.id))!.cost))
  expect(costs).toEqual([
    [{ currency: 'BRL', amount: '22.5' }, usd('0.700000000003')],
    [{ currency: 'BRL', amount: '7.5' }, usd('0.300000000001')],
  ])
  const sum = [{ currency: 'BRL', amount: '30' }, usd('1.000000000004')]
  expect((await t.engine.batch(id))!.cost).toEqual(sum)
  expect((await t.engine.batches.list()).items.map(each => each.cost)).toEqual([[], sum])
  const [item] = (await t.engine.batches.items(without.id)).items
  expect((await t.engine.job(item!.id))!.cost).toEqual([])
})

test.each(['before', 'after'] as const)('a connection lost %s the write counts the call once', async when => {
  const w = await faultyWorker({
    async run(ctx) {
      await ctx.cost(usd('1'))
      await ctx.cost(usd('2'))
    },
  })
  w.db.fail('cost_add', when, linkLost())
  const id = await w.enqueue()
  await w.begin()
  await w.settles(id)
  expect(await w.sql(`select amount::text, last_call from retoma.job_cost where job_id = $1`, [id])).toEqual([
    { amount: '3', last_call: 2 },
  ])
})

test.each([
  ['before', '8'],
  ['after', '9'],
] as const)(
  'a process killed %s a write leaves the costs that were written, and the next attempt adds its own',
  async (when, amount) => {
    const w = await faultyWorker({
      async run(ctx) {
        if (ctx.attempt > 1) return ctx.cost(usd('5'))
        await ctx.cost(usd('3'))
        await ctx.step('first', () => 1)
        await ctx.cost(usd('1'))
      },
    })
    const id = await w.enqueue()
    await w.beginAndDie(w.db.dieAtNext('cost_add', when, { after: 'checkpoint_save' }))
    await w.takeOver()
    await w.recovers(id)
    expect(await w.sql(`select sum(amount)::text as amount from retoma.job_cost where job_id = $1`, [id])).toEqual([
      { amount },
    ])
  },
)

test('a repeated and a late write add nothing, to the job and to the batch', async () => {
  const [one, two] = await store.putMany(2, 'running')
  await store.sql(
    `insert into retoma.batch (id, name, kind, queue, policy, state, priority, total, created_at, submitted_at)
     values (1, 'b', 'k', 'q', '{}', 'running', 4, 2, now(), now())`,
  )
  await store.sql(`update retoma.job set batch_id = 1`)
  const [{ attempt, worker_id: worker }] = (await store.sql(`select attempt, worker_id from retoma.job limit 1`)) as [
    { attempt: number; worker_id: string },
  ]
  const cost = (id: string, call: number, amount: string, currency = 'USD') => ({ id, attempt, call, currency, amount })
  const add = async (...rows: ReturnType<typeof cost>[]) => (await addCosts(store.db, worker, rows)).size
  expect(await add(cost(two!, 1, '0.5'), cost(one!, 1, '1'))).toBe(2)
  expect(await add(cost(one!, 2, '2'), cost(two!, 1, '0.5'))).toBe(2)
  expect(await add(cost(one!, 1, '1'))).toBe(1)
  expect(await add(cost(one!, 3, '4', 'BRL'))).toBe(1)
  expect(await add(cost(one!, 3, '4', 'BRL'))).toBe(1)
  expect(await store.sql(`select currency, amount::text from retoma.batch_cost order by 1`)).toEqual([
    { currency: 'BRL', amount: '4' },
    { currency: 'USD', amount: '3.5' },
  ])
  const sent = [cost(one!, 4, '0.1'), cost(two!, 2, '0.2')]
  await Promise.all([add(...sent), add(...sent), add(...sent.toReversed())])
  expect(await store.sql(`select sum(amount)::text as amount from retoma.batch_cost`)).toEqual([{ amount: '7.8' }])
})

test('an attempt that has lost the lease counts nothing, and its handler hears so', async () => {
  const [begun, goOn] = [gate<string>(), gate()]
  const heard = gate<unknown>()
  const job = defineJob({
    kind: 'k',
    async run(ctx) {
      begun.open(ctx.id)
      await goOn.passed
      await ctx.cost(usd('1')).then(heard.open, heard.open)
    },
  })
  const t = await engineWith(job)
  const { id } = await t.engine.enqueue(job, undefined)
  const running = t.run()
  await begun.passed
  await t.engine.query(`update retoma.job set attempt = attempt + 1 where id = $1`, [id])
  goOn.open()
  expect(await heard.passed).toMatchObject({ code: 'lease_lost' })
  expect((await t.engine.job(id))!.cost).toEqual([])
  await t.engine.query(`update retoma.job set attempt = attempt - 1 where id = $1`, [id])
  await running.catch(() => {})
})

const hostile: unknown[] = [
  0.1, 1, 1n, -1, Number.NaN, null, undefined, {}, '', ' 1', '1 ', '1\n', '-1', '+1', '1e3', '.5', '1.', '1,5', 'NaN', 'Infinity', '0x10', '١',
  `1${'0'.repeat(12)}`, `0.${'0'.repeat(13)}`, '1.2.3', `'; drop table retoma.job; --`,
] // biome-ignore format: a list

test('amounts, currencies and options that make no sense are refused with a code, and count nothing', async () => {
  const bad: unknown[] = [
    ...hostile.map(amount => ({ currency: 'USD', amount })),
    ...['usd', 'US', 'USDD', '', 'U$D', 'US\n', 'ÜSD', 7, null, undefined, ['USD']].map(currency => ({
      currency,
      amount: '1',
    })),
    { ...usd('1'), cents: 3 },
    null,
    undefined,
    '1',
    [usd('1')],
  ]
  let codes: unknown[] = []
  const job = defineJob({
    kind: 'k',
    async run(ctx: JobContext) {
      const refused = bad.map(cost => ctx.cost(cost as CostAmount).then(() => cost, error => error.code)) // biome-ignore format: one line
      codes = await Promise.all(refused)
    },
  })
  const t = await engineWith(job)
  const { id } = await t.engine.enqueue(job, undefined)
  await t.run()
  expect(codes).toEqual(bad.map(() => 'bad_option'))
  expect((await t.engine.job(id))!.cost).toEqual([])
})

test('the largest and the smallest amounts are kept exactly', async () => {
  const job = defineJob({
    kind: 'k',
    async run(ctx) {
      await ctx.cost(usd('999999999999.999999999999'))
      await ctx.cost(usd('0.000000000001'))
      await ctx.cost({ currency: 'BRL', amount: '0' })
    },
  })
  const t = await engineWith(job)
  const { id } = await t.engine.enqueue(job, undefined)
  await t.run()
  expect((await t.engine.job(id))!.cost).toEqual([{ currency: 'BRL', amount: '0' }, usd('1000000000000')])
})

test('costs of many items at once, from several workers, equal a recount, and every call is there', async () => {
  const job = defineJob<number>({
    kind: 'k',
    queue: 'q',
    async run(ctx, n) {
      await Promise.all([ctx.cost(usd('0.01')), ctx.cost(usd('0.02')), ctx.cost({ currency: 'BRL', amount: `${n}` })])
    },
  })
  const batch = defineBatch({ name: 'b', job })
  const { engine, url } = await liveEngine([job], { batches: [batch] })
  await engine.work({ queues: { q: 20 } })
  await engine.work({ queues: { q: 20 } })
  const numbers = Array.from({ length: 200 }, (_, n) => n)
  const [one, two] = await Promise.all([engine.submit(batch, numbers), engine.submit(batch, numbers)])
  for (const { id } of [one, two]) {
    await engine.wait({ batch: id })
    expect((await engine.batch(id))!.cost).toEqual([{ currency: 'BRL', amount: '19900' }, usd('6')])
  }
  expect(await auditBatches(url)).toEqual([])
})
