import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { runCascadeChunk } from '../../src/batches/sql/batch-cascade.ts'
import { openDb } from '../../src/database/db.ts'
import { defineBatch, defineJob } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { engineOf, engineWith, until } from '../support/engine.ts'

const quick = defineJob({ kind: 'quick', run: () => 'done' })

test.each(['day', 'final'] as const)('a job run again holds its key again (held until: %s)', async keyUntil => {
  const { engine } = await engineWith(quick)
  const first = await engine.enqueue(quick, undefined, { key: 'x', keyUntil })
  await engine.jobs.cancel(first.id)
  expect(await engine.jobs.retry(first.id)).toMatchObject({ state: 'waiting', changed: true })
  expect(await engine.enqueue(quick, undefined, { key: 'x' })).toEqual({ id: first.id, created: false })
})

test('a job whose key another has by now is not run again, and the other is named', async () => {
  const { engine } = await engineWith(quick)
  const first = await engine.enqueue(quick, undefined, { key: 'x', keyUntil: 'final' })
  await engine.jobs.cancel(first.id)
  const second = await engine.enqueue(quick, undefined, { key: 'x' })
  await expect(engine.jobs.retry(first.id)).rejects.toMatchObject({
    code: 'key_reserved',
    facts: { id: first.id, holder: second.id },
  })
  expect(await engine.job(first.id)).toMatchObject({ state: 'cancelled' })
})

test('of two that would take one key again at the same instant one does', async () => {
  const { engine } = await engineWith(quick)
  const ids: string[] = []
  for (let i = 0; i < 2; i++) {
    const { id } = await engine.enqueue(quick, undefined, { key: 'x', keyUntil: 'final' })
    await engine.jobs.cancel(id)
    ids.push(id)
  }
  const answers = await Promise.allSettled(ids.map(id => engine.jobs.retry(id)))
  expect(answers.map(each => each.status).sort()).toEqual(['fulfilled', 'rejected'])
})

test('retry and rerun in a transaction of the caller count if the transaction commits, and leave the job as before if not', async () => {
  const step = defineJob({ kind: 'step', run: ctx => ctx.step('a', () => 1) })
  const { engine, run } = await engineWith(step)
  const { id } = await engine.enqueue(step, undefined)
  await run()
  const undone = engine.transaction(async tx => {
    expect(await engine.jobs.rerun(id, { by: 'ana', tx })).toEqual({ id, state: 'waiting', changed: true })
    throw new Error('undone')
  })
  await expect(undone).rejects.toThrow('undone')
  expect(await engine.job(id)).toMatchObject({ state: 'succeeded', checkpoints: [{ name: 'a' }], events: [] })
  await engine.transaction(tx => engine.jobs.rerun(id, { by: 'ana', tx }))
  expect(await engine.job(id)).toMatchObject({ state: 'waiting', checkpoints: [] })
  await engine.jobs.cancel(id)
  await engine.transaction(tx => engine.jobs.retry(id, { tx }))
  await run()
  expect(await engine.job(id)).toMatchObject({ state: 'succeeded' })
  await expect(engine.transaction(tx => engine.jobs.retry(id, { tx }))).rejects.toMatchObject({ code: 'wrong_state' })
})

test('a job of a cancelled batch does not run again in a transaction of the caller either', async () => {
  const batch = defineBatch({ name: 'b', job: quick })
  const { engine } = await engineOf({ batches: [batch] })
  const { id } = await engine.submit(batch, [undefined])
  await engine.batches.cancel(id)
  const [job] = (await engine.jobs.list({ kind: 'quick' })).items
  await expect(engine.transaction(tx => engine.jobs.rerun(job!.id, { tx }))).rejects.toMatchObject({
    code: 'batch_cancelled',
  })
})

describe('a pause that commits while a retry waits for the batch', () => {
  const bad = defineJob({ kind: 'bad', queue: 'q', maxAttempts: 1, run: () => Promise.reject(new Error('no')) })
  const batch = defineBatch({ name: 'b', job: bad })

  /** A batch of which two have failed and one is for later, and somebody who is about to pause it. */
  async function world(before = 'select') {
    const t = await engineOf({ batches: [batch] })
    const later = new Date(t.clock.now().getTime() + 3_600_000)
    const each = (_: unknown, n: number) => (n < 2 ? {} : { runAt: later })
    const { id } = await t.engine.submit(batch, [undefined, undefined, undefined], { each })
    await t.run()
    const [person, watcher] = [1, 2].map(() => new pg.Client({ connectionString: t.databaseUrl })) as [
      pg.Client,
      pg.Client,
    ]
    for (const each of [person, watcher]) {
      await each.connect()
      onTestFinished(() => each.end())
    }
    await person.query(before)
    await person.query('begin')
    await person.query(
      `update retoma.batch set state = 'paused', claims_blocked = true, reason = '{"code":"person"}' where id = $1`,
      [id],
    )
    const waits = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    const pausesUnder = async <T>(act: Promise<T>): Promise<T> => {
      act.catch(() => {})
      await until(async () => (await watcher.query(waits)).rowCount! > 0)
      await person.query('commit')
      return act
    }
    return { ...t, id, pausesUnder }
  }

  test('in bulk: they wait again, and it stays paused', async () => {
    const { engine, id, pausesUnder } = await world()
    expect(await pausesUnder(engine.jobs.retryMany({ kind: 'bad' }))).toMatchObject({ changed: 2, done: true })
    expect(await engine.batch(id)).toMatchObject({ state: 'paused', failed: 0, waiting: 3 })
  })

  test('of the batch: likewise', async () => {
    const begun = `update retoma.batch set cascade = 'retry', cascade_at = now() + interval '9 years', cascade_place = '', cascade_id = 0`
    const { engine, id, pausesUnder, databaseUrl } = await world(begun)
    const db = openDb({ url: databaseUrl, log: silentLog })
    onTestFinished(() => db.close())
    expect(await pausesUnder(runCascadeChunk(db, id, null))).toMatchObject({ moved: 2, done: true })
    expect(await engine.batch(id)).toMatchObject({ state: 'paused', failed: 0, waiting: 3 })
  })
})

test('one whose key another has is counted once, also where the batch of its neighbours is waited for', async () => {
  const bad = defineJob({ kind: 'bad', queue: 'q', maxAttempts: 1, run: () => Promise.reject(new Error('no')) })
  const batch = defineBatch({ name: 'b', job: bad })
  const { engine, run, databaseUrl } = await engineOf({ batches: [batch] })
  await engine.enqueue(bad, undefined, { key: 'x', keyUntil: 'final' })
  await engine.submit(batch, [undefined])
  await run()
  await engine.enqueue(bad, undefined, { key: 'x' })
  const db = openDb({ url: databaseUrl, log: silentLog })
  onTestFinished(() => db.close())
  const begun = `update retoma.batch set cascade = 'retry', cascade_at = now() + interval '9 years', cascade_place = '', cascade_id = 0`
  await db.run({ name: 'begun', text: begun }, [])
  expect(await engine.jobs.retryMany({ kind: 'bad' })).toMatchObject({ conflicts: 1, done: true })
})
