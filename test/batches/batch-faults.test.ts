/** Batches with faults between the engine and its database: an error before a statement, or its answer lost after it. */
import { expect, onTestFinished, test } from 'vitest'
import { createBatchActions } from '../../src/batches/batch-actions.ts'
import { BatchCompletion } from '../../src/batches/batch-completion-checks.ts'
import { batchTick } from '../../src/batches/batch-tick.ts'
import { stallBatch } from '../../src/batches/sql/batch-actions.ts'
import { createBatchSubmitter } from '../../src/batches/submit-batch.ts'
import { openDb } from '../../src/database/db.ts'
import { migrate } from '../../src/database/migrate.ts'
import { KindRegistry } from '../../src/enqueue/kind-registry.ts'
import { QueueDepths } from '../../src/enqueue/queue-depth.ts'
import { defineBatch, defineJob, RetomaError } from '../../src/index.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { auditBatches } from '../support/batches.ts'
import { borrowDatabase } from '../support/engine.ts'
import { faulty } from '../support/faulty-db.ts'

const job = defineJob<number>({ kind: 'k', queue: 'q', run: () => {} })
const over = defineJob<unknown>({ kind: 'over', run: () => {} })
const batch = defineBatch({ name: 'b', job, onComplete: over, maxResumes: 0 })
const list = (length: number) => Array.from({ length }, (_, n) => n)
/** As the store tells of a cut link. */
const unreachable = () => new RetomaError('database_unreachable', { address: 'here', problem: 'cut', outcome: '' })

async function world() {
  const { url, giveBack } = await borrowDatabase()
  const real = openDb({ url, log: silentLog })
  await migrate(real)
  const db = faulty(real)
  const clock = systemClock
  const closing = new AbortController()
  onTestFinished(async () => {
    closing.abort()
    await real.close()
    await giveBack()
  })
  const registry = new KindRegistry(real, clock)
  const nothing = () => {}
  const completion = new BatchCompletion({
    db,
    clock,
    log: silentLog,
    wake: nothing,
    changed: nothing,
    providerAnswered: async () => {},
    paused: nothing,
    closing: closing.signal,
  })
  const ask = (id: string) => completion.check([id])
  const { submit } = createBatchSubmitter({
    db,
    clock,
    registry,
    queueDepths: new QueueDepths(real, clock),
    wake: nothing,
    ask,
    closing: closing.signal,
  })
  const desk = createBatchActions({
    db,
    clock,
    completion,
    wake: nothing,
    wakeUnblocked: nothing,
    blockClaims: nothing,
    leasesEnded: nothing,
    changed: nothing,
  })
  const sql = <T>(text: string, values: unknown[] = []) => real.run<T>({ name: '', text }, values)
  /** What a worker's flush leaves. */
  const end = async (id: string, state: string, n: number) => {
    await sql(
      `with moved as (
        update retoma.job set state = $2, finished_at = now(), error = '{"type":"error","message":"no","cause":"abc"}'
        where id in (select id from retoma.job where batch_id = $1 and state = 'waiting' order by id limit $3) returning batch_id
      )
      insert into retoma.batch_count (batch_id, shard, ${state}) select batch_id, 5, count(*) from moved group by 1
      on conflict (batch_id, shard) do update set ${state} = batch_count.${state} + excluded.${state}`,
      [id, state, n],
    )
  }
  return {
    url,
    db,
    real,
    clock,
    submit,
    desk,
    ends: completion,
    sql,
    end,
    tick: () => batchTick({ db, clock, leasesEnded: () => {}, checkCompletion: ids => completion.check(ids) }),
  }
}

test.each([
  ['batch_chunk_uniform', 'before'],
  ['batch_chunk_uniform', 'after'],
  ['batch_close', 'before'],
  ['batch_close', 'after'],
  ['batch_submission', 'before'],
] as const)('the link is lost at %s, %s it is done: nothing is lost or doubled', async (statement, when) => {
  const { url, db, submit, desk, sql } = await world()
  db.fail(statement, when, unreachable(), { times: 2 })
  if (statement === 'batch_submission') db.fail('batch_chunk_uniform', 'after', unreachable())
  const { id, total } = await submit(batch, list(3500))
  expect(total).toBe(3500)
  expect(await desk.batch(id)).toMatchObject({ state: 'waiting', total: 3500, itemsReceived: 3500 })
  expect(await sql(`select count(distinct input)::int as n from retoma.job where batch_id = $1`, [id])).toEqual([
    { n: 3500 },
  ])
  expect(await auditBatches(url)).toEqual([])
})

test('items with keys, whose chunk is sent twice, come in once', async () => {
  const { db, submit } = await world()
  db.fail('batch_chunk_mixed', 'after', unreachable())
  expect(await submit(batch, list(1200), { each: n => ({ key: `k${n}` }) })).toMatchObject({
    total: 1200,
    duplicates: 0,
  })
})

test('a submit that gives up can be continued: what is there stays', async () => {
  const { db, submit, desk } = await world()
  db.fail('batch_chunk_uniform', 'after', new Error('a mistake'), { matches: values => values[1] === 1000 })
  await expect(submit(batch, list(3500), { key: 'k' })).rejects.toThrow('a mistake')
  const [left] = (await desk.batches.list()).items
  expect(left).toMatchObject({ state: 'submitting', itemsReceived: 2000, total: 2000 })
  expect(await submit(batch, list(3500), { key: 'k' })).toMatchObject({ id: left!.id, total: 3500, created: false })
})

test('a retry whose answers are lost moves each item once; a repeated call continues', async () => {
  const { url, db, submit, desk, end } = await world()
  const { id } = await submit(batch, list(5000))
  await end(id, 'failed', 5000)
  for (const statement of ['transaction', 'batch_cascade_retry']) {
    db.fail(statement, 'after', unreachable())
    await expect(desk.batches.retryFailed(id)).rejects.toThrow()
  }
  await desk.batches.retryFailed(id)
  expect(await desk.batch(id)).toMatchObject({ state: 'waiting', failed: 0, waiting: 5000, following: false })
  expect(await auditBatches(url)).toEqual([])
})

test('a cancel whose answers are lost is a cancel; a tick has its items follow', async () => {
  const { url, db, submit, desk, tick } = await world()
  const { id } = await submit(batch, list(5000))
  db.fail('batch_cancel', 'after', unreachable())
  await expect(desk.batches.cancel(id)).rejects.toThrow()
  expect(await desk.batch(id)).toMatchObject({ state: 'cancelled', following: true, waiting: 5000 })
  db.fail('batch_cascade_end', 'after', unreachable())
  await expect(tick()).rejects.toThrow()
  expect(await auditBatches(url)).toEqual([])
  await tick()
  expect(await desk.batch(id)).toMatchObject({ state: 'cancelled', following: false, cancelled: 5000 })
})

test('an end whose answer is lost is one end: asked again, nothing is added', async () => {
  const { db, submit, ends: completion, end, sql, desk } = await world()
  const { id } = await submit(batch, list(2))
  await end(id, 'succeeded', 2)
  db.fail('batch_complete', 'after', unreachable())
  await expect(completion.check([id])).rejects.toThrow()
  await completion.check([id])
  expect(await desk.batch(id)).toMatchObject({ state: 'succeeded' })
  expect(await sql(`select count(*)::int as n from retoma.job where kind = 'over'`)).toEqual([{ n: 1 }])
})

test('an end that was seen before an item waits again does not end the batch', async () => {
  const { db, real, submit, ends: completion, end, sql, desk } = await world()
  const { id } = await submit(batch, list(2))
  await end(id, 'failed', 2)
  // The question reads the counters, then waits for the batch's row; meanwhile somebody retries, and is done.
  const client = await real.connect()
  try {
    await client.query('begin')
    await client.query(`select from retoma.batch where id = $1 for update`, [id])
    const asking = completion.check([id])
    await waitsFor(sql)
    await client.query(`update retoma.batch set reopen_count = reopen_count + 1 where id = $1`, [id])
    await client.query(
      `with moved as (update retoma.job set state = 'waiting', finished_at = null where batch_id = $1 returning id)
       update retoma.batch_count set failed = 0 where batch_id = $1`,
      [id],
    )
    await client.query('commit')
    await asking
  } finally {
    await client.end()
  }
  expect(await desk.batch(id)).toMatchObject({ state: 'waiting', waiting: 2 })
  expect(await sql(`select from retoma.job where kind = 'over'`)).toEqual([])
  expect(db.asked).toContain('batch_complete')
})

test('a verdict whose answer is lost is given once, and its items follow', async () => {
  const { db, submit, desk, tick, clock } = await world()
  const { id } = await submit(batch, list(1500))
  db.fail('batch_stall', 'after', unreachable())
  await expect(stallBatch(db, id, { code: 'no_progress' }, clock.instant())).rejects.toThrow()
  expect(await stallBatch(db, id, { code: 'no_progress' }, clock.instant())).toBeUndefined()
  await tick()
  expect(await desk.batch(id)).toMatchObject({ state: 'failed', failed: 1500, following: false })
})

/** Somebody stands in line for a row. */
async function waitsFor(sql: <T>(text: string) => Promise<T[]>): Promise<void> {
  for (;;) {
    const rows = await sql(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (rows.length > 0) return
  }
}

test('a verdict of stall that meets the last outcome leaves nothing for a person: the batch is over', async () => {
  const { url, db, clock, submit, desk, sql, end, tick } = await world()
  const { id } = await submit(defineBatch({ name: 'met', job, maxResumes: 3 }), list(2))
  await end(id, 'succeeded', 1)
  await end(id, 'failed', 1)
  expect(await stallBatch(db, id, { code: 'no_progress' }, clock.instant())).toBe('stalled')
  await tick()
  expect(await desk.batch(id)).toMatchObject({
    state: 'completed_with_failures',
    succeeded: 1,
    failed: 1,
    reason: null,
  })
  expect(await sql(`select claims_blocked from retoma.batch where id = $1`, [id])).toEqual([{ claims_blocked: false }])
  expect(await auditBatches(url)).toEqual([])
})

test('and one with something left stays stalled', async () => {
  const { db, clock, submit, desk, end, tick } = await world()
  const { id } = await submit(defineBatch({ name: 'left', job, maxResumes: 3 }), list(2))
  await end(id, 'succeeded', 1)
  await stallBatch(db, id, { code: 'no_progress' }, clock.instant())
  await tick()
  expect(await desk.batch(id)).toMatchObject({ state: 'stalled' })
})
