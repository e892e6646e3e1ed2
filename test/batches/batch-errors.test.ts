/** One batch in trouble, or used wrongly: it says so, and the others go on. */
import pg from 'pg'
import { expect, test } from 'vitest'
import { beginRetry } from '../../src/batches/sql/batch-actions.ts'
import { runCascadeChunk } from '../../src/batches/sql/batch-cascade.ts'
import { type Db, openDb, type Statement } from '../../src/database/db.ts'
import { defineBatch, defineJob, doNotRetry, hours, isRetomaError, seconds } from '../../src/index.ts'
import { createJobActions } from '../../src/jobs/job-actions.ts'
import { SettleListeners } from '../../src/jobs/settle-listeners.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { auditBatches } from '../support/batches.ts'
import { engineOf, gate, until } from '../support/engine.ts'

/** 0 succeeds, 1 fails, 2 is for later. */
const work = defineJob<number>({
  kind: 'work',
  queue: 'q',
  run: (_, n) => {
    if (n === 1) throw doNotRetry('no')
    return n
  },
})
const ends: unknown[] = []
const report = defineJob<unknown>({ kind: 'report', run: (_, input) => void ends.push(input) })
const batch = defineBatch({ name: 'b', job: work, onComplete: report })
async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return work(client).finally(() => client.end())
}
const ones = (length: number) => Array.from({ length }, () => 1)

test('two failed items with one key: one of them is retried, the other is held, and nobody waits for it', async () => {
  const { engine, run, tick, databaseUrl } = await engineOf({ batches: [batch] })
  async function* stream() {
    yield* ones(1001)
    // The first has failed, and its key is free, when the last comes in.
    await until(async () => (await engine.batches.list()).items[0]!.total === 1000)
    await run()
    yield 1
  }
  const key = (index: number) => ({ key: index === 1001 ? 'k0' : `k${index}`, keyUntil: 'final' as const })
  const { id, duplicates } = await engine.submit(batch, stream(), { each: (_, index) => key(index) })
  await run()
  expect(duplicates).toBe(0)
  expect(await engine.batch(id)).toMatchObject({ state: 'completed_with_failures', failed: 1002 })
  expect(await engine.batches.retryFailed(id)).toMatchObject({ retried: 1001, conflicts: 1, state: 'running' })
  await tick()
  await run()
  expect(await engine.batch(id)).toMatchObject({ state: 'completed_with_failures', failed: 1002, following: false })
  expect(await auditBatches(databaseUrl)).toEqual([])
})

test('a retry that can run nothing leaves the batch ended as it was: no end more, no onComplete more', async () => {
  const { engine, run } = await engineOf({ batches: [batch] })
  ends.length = 0
  const { id } = await engine.submit(batch, [1], { each: () => ({ key: 'k', keyUntil: 'final' }) })
  await run()
  await engine.enqueue(work, 2, { key: 'k', delay: seconds(60) })
  const before = await engine.batch(id)
  for (const _ of [1, 2, 3])
    expect(await engine.batches.retryFailed(id)).toMatchObject({
      retried: 0,
      conflicts: 1,
      changed: false,
      state: 'completed_with_failures',
    })
  await run()
  expect(ends).toMatchObject([{ batch: id, end: 1 }])
  expect(await engine.batch(id)).toEqual(before)
})

test('a batch whose rows cannot follow does not keep others from ending', async () => {
  const { engine, run, tick, databaseUrl } = await engineOf({ batches: [batch] })
  const stuck = await engine.submit(batch, [1])
  await run()
  const other = await engine.submit(batch, [0])
  await withClient(databaseUrl, async client => {
    // Rows of the batch that no statement can change, and another batch whose end is not checked yet.
    await client.query(
      `update retoma.batch set cascade = 'retry', cascade_place = '', cascade_id = 0, cascade_at = now() + interval '10 years' where id = ${stuck.id}`,
    )
    await client.query(`create function retoma.no() returns trigger language plpgsql as $$ begin raise 'no'; end $$`)
    await client.query(
      `create trigger no before update on retoma.job for each row when (old.batch_id = ${stuck.id}) execute function retoma.no()`,
    )
    try {
      await client.query(`update retoma.job set state = 'succeeded', finished_at = now() where batch_id = ${other.id}`)
      await client.query(`insert into retoma.batch_count (batch_id, shard, succeeded) values (${other.id}, 0, 1)`)
      await tick().catch(() => {})
      expect(await engine.batch(other.id)).toMatchObject({ state: 'succeeded' })
    } finally {
      await client.query(`drop function retoma.no() cascade`)
    }
  })
  await tick()
  expect(await engine.batch(stuck.id)).toMatchObject({ following: false, failed: 0 })
})

test('a stop after more than an integer holds is refused when it is defined', () => {
  const far = (failures: number) => () => defineBatch({ name: 'far', job: work, stopAfter: { failures } })
  expect(far(3_000_000_000)).toThrow(/stopAfter.failures/)
  expect(far(1_000_000_000)).not.toThrow()
})

test('a database that has gone back behind what was taken is reported, and nothing is taken twice or left out', async () => {
  const { engine, databaseUrl } = await engineOf({ batches: [batch] })
  const items = Array.from({ length: 2500 }, (_, n) => n + 10)
  async function* stream() {
    for (const item of items) {
      if (item === 1500)
        await withClient(databaseUrl, async client => {
          await until(async () => (await engine.batches.list()).items[0]!.total === 1000)
          // As after a failover that lost the last commits.
          await client.query(`delete from retoma.job`)
          await client.query(`delete from retoma.batch_chunk`)
          await client.query(`update retoma.batch set items_received = 0, total = 0, chunks = 0`)
        })
      yield item
    }
  }
  await expect(engine.submit(batch, stream(), { key: 'k' })).rejects.toThrow(/batch_went_back/)
  const { id, total } = await engine.submit(batch, items, { key: 'k' })
  expect(total).toBe(2500)
  const inputs = await withClient(databaseUrl, async client =>
    (
      await client.query<{ n: number }>(`select input::int as n from retoma.job where batch_id = ${id} order by id`)
    ).rows.map(({ n }) => n),
  )
  expect(inputs).toEqual(items)
})

test('a list that gives nothing more is left when the signal says so', async () => {
  const { engine } = await engineOf({ batches: [batch] })
  const stop = new AbortController()
  const asked = gate()
  let left = false
  const endless: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => ({
      next() {
        asked.open()
        return new Promise(() => {})
      },
      return() {
        left = true
        return new Promise(() => {})
      },
    }),
  }
  const submit = engine.submit(batch, endless, { key: 'k', signal: stop.signal })
  await asked.passed
  stop.abort(new Error('enough'))
  await expect(submit).rejects.toThrow('enough')
  expect(left).toBe(true)
  expect((await engine.batches.list()).items).toMatchObject([{ state: 'submitting', itemsReceived: 0 }])
})

test('what is no list, no batch or no function is refused at the door, before a batch is made of it', async () => {
  const { engine } = await engineOf({ batches: [batch] })
  const refused = (...given: unknown[]) =>
    (engine.submit as (...given: unknown[]) => Promise<unknown>)(...given).then(
      () => 'fine',
      error => (isRetomaError(error) ? error.code : error),
    )
  for (const list of [undefined, null, 5, {}]) expect(await refused(batch, list)).toBe('bad_option')
  for (const wrong of [undefined, null, {}, work]) expect(await refused(wrong, [1])).toBe('bad_option')
  for (const options of [null, { ref: 'r' }, { each: {} }, { signal: {} }, { keys: 'k' }, { key: 5 }])
    expect(await refused(batch, [1], options)).toBe('bad_option')
  expect((await engine.batches.list()).items).toEqual([])
})

test('a place that no list has given is refused, not sent to the database', async () => {
  const { engine } = await engineOf({ batches: [batch] })
  const { id } = await engine.submit(batch, [1])
  const code = (answer: Promise<unknown>) =>
    answer.then(
      () => 'fine',
      error => (isRetomaError(error) ? error.code : error),
    )
  const beyond = '9999999999999999999'
  expect(await code(engine.batches.items(id, { after: beyond }))).toBe('bad_option')
  expect(await code(engine.batches.items(id, { state: 'failed', after: `ab.${beyond}` }))).toBe('bad_option')
  expect(await code(engine.batches.items(id, { state: 'failed', cause: '\u0000' }))).toBe('bad_option')
  expect(await code(engine.batches.items(id, { state: 'gone' as never }))).toBe('bad_option')
  expect(await code(engine.batches.list({ state: 'gone' as never }))).toBe('bad_option')
  expect(await code(engine.batches.list({ name: '\u0000' }))).toBe('bad_option')
})

test('an item that is retried while others have all failed ones retried is retried, by whomever', async () => {
  const { engine, run, clock, databaseUrl } = await engineOf({ batches: [batch] })
  const { id } = await engine.submit(batch, [1])
  await run()
  const [item] = (await engine.batches.items(id)).items
  const real = openDb({ url: databaseUrl, log: silentLog, clock, connections: 2 })
  try {
    const db: Db = {
      ...real,
      async run<Row>(statement: Statement, values: unknown[], deadlineMs?: number) {
        if (statement.name === 'job_retry') await beginRetry(real, id, {}, clock.instant())
        const rows = await real.run<Row>(statement, values, deadlineMs)
        // Its rows have followed by the time that the batch is looked at.
        if (statement.name === 'job_state') await runCascadeChunk(real, id, clock.instant())
        return rows
      },
    }
    const jobActions = createJobActions({
      db,
      clock,
      settleListeners: new SettleListeners(),
      batch: engine.batch,
      batchMoved: async () => {},
      wake: () => {},
      leasesEnded: () => {},
      closing: new AbortController().signal,
    })
    expect(await jobActions.jobs.retry(item!.id)).toEqual({ id: item!.id, state: 'waiting', changed: false })
  } finally {
    await real.close()
  }
})

test('a batch that is being removed answers no submit: the key makes a new one', async () => {
  const { engine, run, clock, clean } = await engineOf({ batches: [batch], retention: hours(1) })
  const old = await engine.submit(batch, [0], { key: 'k' })
  await run()
  // A batch with a key stays for a day, however short the retention is.
  await clock.advance(hours(25))
  await clean()
  expect(await engine.batch(old.id)).toBeNull()
  const { id, created } = await engine.submit(batch, [0], { key: 'k' })
  expect(created).toBe(true)
  expect(await engine.batch(id)).toMatchObject({ state: 'waiting', total: 1 })
})

test('a share of failures is judged anew, by those that have ended since, when failed ones were retried', async () => {
  const stopping = defineBatch({ name: 'stop', job: work, stopAfter: { percent: 50 } })
  const { engine, run, clock } = await engineOf({ batches: [stopping] })
  const items = [...Array.from({ length: 20 }, (_, n) => n % 2), ...Array.from({ length: 10 }, () => 2), 3]
  const { id } = await engine.submit(stopping, items, {
    each: n => (n > 1 ? { delay: seconds(n === 2 ? 60 : 600) } : {}),
  })
  await run()
  expect(await engine.batch(id)).toMatchObject({ state: 'paused', reason: { failed: 10, ended: 20 } })
  await engine.batches.retryFailed(id)
  await engine.batches.resume(id)
  await clock.advance(seconds(60))
  await run()
  expect(await engine.batch(id)).toMatchObject({ state: 'paused', reason: { failed: 10, ended: 30 } })
})
