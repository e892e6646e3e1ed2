import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import {
  createEngine,
  defineBatch,
  defineJob,
  isRetomaError,
  type LimitsByQueue,
  minutes,
  type RetomaError,
  seconds,
} from '../../src/index.ts'
import { auditBatches } from '../support/batches.ts'
import { engineOf, liveEngine, until } from '../support/engine.ts'

const double = defineJob({
  kind: 'double',
  queue: 'numbers',
  input: z.object({ n: z.number() }),
  run: (_, { n }) => n * 2,
})
const ends: unknown[] = []
const report = defineJob<unknown>({ kind: 'report', run: (_, input) => void ends.push(input) })
const numbers = defineBatch({ name: 'numbers', job: double, onComplete: report })
const list = (length: number) => Array.from({ length }, (_, n) => ({ n }))
const engineWith = (limits?: LimitsByQueue) => engineOf({ batches: [numbers], ...(limits ? { limits } : {}) })

const code = (promise: Promise<unknown>) =>
  promise.then(
    () => 'fine',
    error => (isRetomaError(error) ? error.code : error),
  )

test('a list becomes a batch: its items run, it ends by itself, and its onComplete job gets the counts, once', async () => {
  const { engine, run, tick, databaseUrl } = await engineWith()
  ends.length = 0
  const { id, ...submitted } = await engine.submit(numbers, list(2500), { ref: item => `doc-${item.n}` })
  expect(submitted).toEqual({ created: true, total: 2500, duplicates: 0 })
  expect(await engine.batch(id)).toMatchObject({ state: 'waiting', total: 2500, waiting: 2500, running: 0, percent: 0 })
  expect(await run()).toBe(2501)
  const batch = await engine.batch(id)
  expect(batch).toMatchObject({ state: 'succeeded', succeeded: 2500, waiting: 0, percent: 100, lastRef: 'doc-2499' })
  await tick()
  await run()
  expect(ends).toEqual([
    { batch: id, name: 'numbers', total: 2500, succeeded: 2500, failed: 0, skipped: 0, cancelled: 0, end: 1 },
  ])
  expect(await engine.job(batch!.completeJob!)).toMatchObject({ kind: 'report', state: 'succeeded' })
  expect(await auditBatches(databaseUrl)).toEqual([])
})

test('an id names one thing: a batch is no job, and a job no batch', async () => {
  const { engine } = await engineWith()
  const batch = await engine.submit(numbers, list(1))
  const job = await engine.enqueue(double, { n: 1 })
  expect(batch.id).not.toBe(job.id)
  expect(await engine.job(batch.id)).toBeNull()
  expect(await engine.batch(job.id)).toBeNull()
  expect(await engine.batch('no such')).toBeNull()
  const nothing = engine.wait({ batch: job.id }).catch((error: RetomaError) => error.in('pt'))
  expect(await nothing).toBe(`não existe lote "${job.id}"`)
})

test('an empty list is over at once, with its onComplete', async () => {
  const { engine, run } = await engineWith()
  ends.length = 0
  const { id } = await engine.submit(numbers, [])
  expect(await engine.batch(id)).toMatchObject({ state: 'succeeded', total: 0, percent: null })
  await run()
  expect(ends).toMatchObject([{ batch: id, total: 0 }])
})

test('a stream is read as it is written, never whole, and its items run meanwhile', async () => {
  const { engine, run } = await engineWith()
  let ran = 0
  async function* stream() {
    for (let n = 0; n < 4000; n++) {
      if (n === 3500) ran = await run()
      yield { n }
    }
  }
  const { id } = await engine.submit(numbers, stream())
  // Two chunks may be in memory: the one on its way and the one being filled.
  expect(ran).toBeGreaterThanOrEqual(2000)
  expect(await engine.batch(id)).toMatchObject({ state: 'running', total: 4000 })
})

describe('a submit that broke off', () => {
  async function* broken(length: number) {
    for (const item of list(length)) yield item
    throw new Error('the source is gone')
  }

  test('leaves a batch that is plainly submitting; the same key and list go on where it stopped', async () => {
    const { engine, run, databaseUrl } = await engineWith()
    ends.length = 0
    await expect(engine.submit(numbers, broken(2500), { key: 'may' })).rejects.toThrow('the source is gone')
    const [left] = (await engine.batches.list()).items
    expect(left).toMatchObject({ state: 'submitting', key: 'may', submittedAt: null })
    // What ran of it does not end it.
    const ran = await run()
    expect(ran).toBe(left!.total)
    expect(await engine.batch(left!.id)).toMatchObject({ state: 'submitting' })
    const again = await engine.submit(numbers, list(3000), { key: 'may' })
    expect(again).toEqual({ id: left!.id, created: false, total: 3000, duplicates: 0 })
    expect(await run()).toBe(3000 - ran + 1)
    expect(await engine.batch(left!.id)).toMatchObject({ state: 'succeeded', succeeded: 3000 })
    expect(ends).toHaveLength(1)
    expect(await auditBatches(databaseUrl)).toEqual([])
  })

  test('can be cancelled, and then takes nothing more', async () => {
    const { engine } = await engineWith()
    await engine.submit(numbers, broken(1500), { key: 'may' }).catch(() => {})
    const [left] = (await engine.batches.list()).items
    expect(await engine.batches.cancel(left!.id)).toMatchObject({ state: 'cancelled', changed: true })
    expect(await engine.batch(left!.id)).toMatchObject({ cancelled: left!.total, waiting: 0 })
    expect(await code(engine.submit(numbers, list(1500), { key: 'may' }))).toBe('batch_cancelled')
  })

  test('is not continued by a shorter list', async () => {
    const { engine } = await engineWith()
    await engine.submit(numbers, broken(2500), { key: 'may' }).catch(() => {})
    expect(await code(engine.submit(numbers, list(10), { key: 'may' }))).toBe('other_list')
  })

  test('by its signal is one, too', async () => {
    const { engine } = await engineWith()
    const stop = new AbortController()
    function* stopped() {
      for (const item of list(5000)) {
        if (item.n === 2500) stop.abort(new Error('enough'))
        yield item
      }
    }
    await expect(engine.submit(numbers, stopped(), { key: 'k', signal: stop.signal })).rejects.toThrow('enough')
    expect((await engine.batches.list()).items).toMatchObject([{ state: 'submitting' }])
  })
})

test('a bad item stops the submit at its chunk, with an error that names it; put right, it goes on', async () => {
  const { engine, run } = await engineWith()
  const items = list(1800) as { n: unknown }[]
  items[1700] = { n: 'many' }
  await expect(engine.submit(numbers, items as { n: number }[], { key: 'k' })).rejects.toThrow(/item 1700: n:/)
  const [batch] = (await engine.batches.list()).items
  expect(batch).toMatchObject({ state: 'submitting', total: 1000 })
  items[1700] = { n: 1700 }
  expect(await engine.submit(numbers, items as { n: number }[], { key: 'k' })).toMatchObject({ total: 1800 })
  await run()
  expect(await engine.batch(batch!.id)).toMatchObject({ state: 'succeeded', succeeded: 1800 })
})

test('a key that is held answers its batch, until 24 hours after its end', async () => {
  const { engine, run, clock } = await engineWith()
  const first = await engine.submit(numbers, list(3), { key: 'may' })
  expect(await engine.submit(numbers, list(3), { key: 'may' })).toEqual({ ...first, created: false })
  await run()
  expect(await engine.submit(numbers, list(3), { key: 'may' })).toEqual({ ...first, created: false })
  await clock.advance(minutes(24 * 60 + 1))
  const later = await engine.submit(numbers, list(3), { key: 'may' })
  expect(later).toMatchObject({ created: true })
  expect(later.id).not.toBe(first.id)
})

test('several processes that submit one list with one key at once make one batch, nothing doubled', async () => {
  const { engine, url } = await liveEngine([], { batches: [numbers] })
  const others = await Promise.all([1, 2, 3].map(() => createEngine({ databaseUrl: url, batches: [numbers] })))
  try {
    const items = list(7300)
    const answers = await Promise.all([engine, ...others].map(each => each.submit(numbers, items, { key: 'one' })))
    expect(new Set(answers.map(each => each.id)).size).toBe(1)
    expect(answers.filter(each => each.created)).toHaveLength(1)
    expect(answers.map(each => each.total)).toEqual([7300, 7300, 7300, 7300])
    const { items: page } = await engine.batches.items(answers[0]!.id, { limit: 500 })
    expect(page.map(each => (each.input as { n: number }).n)).toEqual(list(500).map(({ n }) => n))
    expect(await auditBatches(url)).toEqual([])
  } finally {
    await Promise.all(others.map(each => each.close()))
  }
})

test('what differs from item to item is said by each; an item whose key another job holds is not part of it', async () => {
  const { engine, run } = await engineWith()
  await engine.enqueue(double, { n: 1 }, { key: 'n1' })
  const submitted = await engine.submit(numbers, list(3), {
    priority: 7,
    groupKey: 'ana',
    each: ({ n }) => ({ key: `n${n}`, ref: `r${n}`, ...(n === 2 ? { priority: 1, delay: minutes(5) } : {}) }),
  })
  expect(submitted).toMatchObject({ total: 2, duplicates: 1 })
  const { items } = await engine.batches.items(submitted.id)
  expect(items).toMatchObject([
    { ref: 'r0', key: 'n0', priority: 7, groupKey: 'ana' },
    { ref: 'r2', key: 'n2', priority: 1 },
  ])
  await run()
  expect(await engine.batch(submitted.id)).toMatchObject({ state: 'running', succeeded: 1, waiting: 1, lastRef: 'r0' })
})

test('a full queue stops a submit at its chunk; when some have run it can be continued', async () => {
  const { engine, run, clock } = await engineWith({ numbers: { maxDepth: 1500 } })
  expect(await code(engine.submit(numbers, list(2000), { key: 'k' }))).toBe('queue_full')
  expect((await engine.batches.list()).items).toMatchObject([{ state: 'submitting', total: 1000 }])
  await run()
  await clock.advance(seconds(2))
  expect(await engine.submit(numbers, list(2000), { key: 'k' })).toMatchObject({ total: 2000 })
})

test('what is no batch, no list or no function of an item is refused, and leaves no batch behind', async () => {
  const { engine } = await engineWith()
  const submit = (...given: unknown[]) => code(engine.submit(...(given as unknown as Parameters<typeof engine.submit>)))
  expect(await submit(double, list(1))).toBe('bad_option')
  for (const items of [undefined, null, 7, 'abc', {}]) expect(await submit(numbers, items)).toBe('bad_option')
  expect(await submit(numbers, list(1), { ref: 'r' })).toBe('bad_option')
  expect(await submit(numbers, list(1), { each: {} })).toBe('bad_option')
  expect(await submit(numbers, list(1), { key: 'k', keyUntil: 'final' })).toBe('bad_option')
  expect(await engine.batches.list()).toMatchObject({ items: [] })
})

test('a typo, a job that none made, a stop that stops nothing: refused when it is defined', () => {
  const wrong = (given: object) => () => defineBatch({ name: 'b', job: double, ...given } as never)
  expect(wrong({ maxResume: 1 })).toThrow(/did you mean "maxResumes"/)
  expect(wrong({ name: 'two words' })).toThrow(/bad_definition/)
  expect(wrong({ job: {} })).toThrow(/made by defineJob/)
  expect(wrong({ onComplete: {} })).toThrow(/onComplete/)
  expect(wrong({ stopAfter: {} })).toThrow(/stopAfter/)
  expect(wrong({ stopAfter: { percent: 101 } })).toThrow(/percent/)
  expect(wrong({ stopAfter: { failure: 1 } })).toThrow(/did you mean "failures"/)
  expect(wrong({ stallAfter: 0 })).toThrow(/stallAfter/)
  expect(wrong({ onStall: 'wait' })).toThrow(/onStall/)
  expect(wrong({ maxResumes: -1 })).toThrow(/maxResumes/)
})

describe('in a transaction of the caller', () => {
  /** A connection of the caller. */
  async function callerOf(url: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    onTestFinished(() => client.end())
    return client
  }

  test('the batch and every item of a long list are visible at the commit and not before, and run', async () => {
    const { engine, run, databaseUrl } = await engineWith()
    const client = await callerOf(databaseUrl)
    await client.query('begin')
    async function* long() {
      for (const item of list(5000)) yield item
    }
    const { id, ...submitted } = await engine.submit(numbers, long(), {
      tx: client,
      key: 'k',
      ref: item => `doc-${item.n}`,
    })
    expect(submitted).toEqual({ created: true, total: 5000, duplicates: 0 })
    expect([await engine.batch(id), await run()]).toEqual([null, 0])
    await client.query('commit')
    expect(await engine.batch(id)).toMatchObject({ state: 'waiting', total: 5000 })
    expect(await run()).toBe(5001)
    expect(await engine.batch(id)).toMatchObject({ state: 'succeeded', succeeded: 5000 })
    expect(await auditBatches(databaseUrl)).toEqual([])
  })

  test('a rollback leaves nothing: no batch, no item, no key', async () => {
    const { engine, run, databaseUrl } = await engineWith()
    const client = await callerOf(databaseUrl)
    await client.query('begin')
    const options = { tx: client, key: 'k', each: (item: { n: number }) => ({ key: `item-${item.n}` }) }
    await engine.submit(numbers, list(3000), options)
    await client.query('rollback')
    expect(await run()).toBe(0)
    const { rows } = await client.query(
      'select (select count(*) from retoma.job) + (select count(*) from retoma.batch) as n',
    )
    expect(Number(rows[0].n)).toBe(0)
    expect(await engine.submit(numbers, list(2), { key: 'k' })).toMatchObject({ created: true, total: 2 })
  })

  test('a bad item is named, and the caller rolls back', async () => {
    const { engine, run, databaseUrl } = await engineWith()
    const client = await callerOf(databaseUrl)
    await client.query('begin')
    const items = [...list(2500), { n: 'x' } as never]
    expect(await code(engine.submit(numbers, items, { tx: client }))).toBe('bad_input')
    await client.query('rollback')
    expect(await run()).toBe(0)
  })

  test('it goes with the transaction of the engine, and with one that takes only texts, as that of Drizzle', async () => {
    const { engine, run, databaseUrl } = await engineWith()
    await engine.transaction(tx => engine.submit(numbers, list(3), { tx }))
    const client = await callerOf(databaseUrl)
    await client.query('begin')
    const drizzle = { execute: (text: string) => client.query(text), rollback: (): never => expect.fail() }
    const each = (item: { n: number }) => ({ priority: 1, ref: `"it's" ${item.n}` })
    const { id } = await engine.submit(numbers, list(3), { tx: drizzle, each })
    await client.query('commit')
    expect(await run()).toBe(8)
    expect((await engine.batches.items(id)).items.map(item => item.ref)).toContain(`"it's" 2`)
  })

  test('an empty batch ends once it is committed', async () => {
    const { engine, clock, databaseUrl } = await engineWith()
    const client = await callerOf(databaseUrl)
    await client.query('begin')
    const { id } = await engine.submit(numbers, [], { tx: client })
    await client.query('commit')
    await clock.advance(seconds(1))
    await until(async () => (await engine.batch(id))?.state === 'succeeded')
  })

  test('a pool is refused, because its statements would not be in the transaction', async () => {
    const { engine, databaseUrl } = await engineWith()
    const pool = new pg.Pool({ connectionString: databaseUrl })
    onTestFinished(() => pool.end())
    expect(await code(engine.submit(numbers, list(1), { tx: pool }))).toBe('bad_option')
  })
})
