/** Tables of an application beside the tables of the engine: a statement, a transaction, and jobs in the transaction. */
import { expect, onTestFinished, test } from 'vitest'
import { createAppTransactions } from '../../src/database/transactions/app-transaction.ts'
import { defineJob, isRetomaError } from '../../src/index.ts'
import { engineOf, gate } from '../support/engine.ts'
import { storeForFile } from '../support/store.ts'

const job = defineJob({ kind: 'noted', run: () => {} })
const store = storeForFile()

async function withTable() {
  const t = await engineOf({ jobs: [job] })
  await t.engine.query('create table public.own (n int primary key)')
  onTestFinished(async () => void (await t.engine.query('drop table public.own')))
  const rows = async () =>
    (await t.engine.query<{ n: number }>('select n from public.own order by n')).rows.map(r => r.n)
  return { ...t, rows }
}

test('a statement is asked with its values and answers its rows', async () => {
  const { engine, rows } = await withTable()
  const answer = await engine.query('insert into public.own select generate_series(1, $1::int)', [3])
  expect(answer).toEqual({ command: 'INSERT', rowCount: 3, rows: [] })
  expect(await rows()).toEqual([1, 2, 3])
})

test('a transaction commits all of it, the job that was enqueued in it included', async () => {
  const { engine, rows } = await withTable()
  const made = await engine.transaction(async tx => {
    await tx.query('insert into public.own values (1)')
    return engine.enqueue(job, undefined, { tx })
  })
  expect(await rows()).toEqual([1])
  expect((await engine.job(made.id))?.state).toBe('waiting')
})

test('what throws leaves nothing, the job neither, and its own error is what the caller gets', async () => {
  const { engine, rows } = await withTable()
  let id = ''
  const failed = engine.transaction(async tx => {
    await tx.query('insert into public.own values (1)')
    id = (await engine.enqueue(job, undefined, { tx })).id
    throw new TypeError('no')
  })
  await expect(failed).rejects.toThrow(new TypeError('no'))
  expect(await rows()).toEqual([])
  expect(await engine.job(id)).toBeNull()
  await expect(engine.query('insert into public.own values (1), (1)')).rejects.toMatchObject({ code: '23505' })
})

test('an error that was caught and not undone is not taken for a commit', async () => {
  const { engine, rows } = await withTable()
  const swallowed = engine.transaction(async tx => {
    await tx.query('insert into public.own values (1)')
    await tx.query('select 1 / 0').catch(() => {})
    return 'done'
  })
  await expect(swallowed).rejects.toMatchObject({ code: 'transaction_aborted' })
  expect(await rows()).toEqual([])
})

test('it is begun and ended by the engine alone, and over when its work is', async () => {
  const { engine, rows } = await withTable()
  const ended = engine.transaction(tx => tx.query('commit'))
  await expect(ended).rejects.toMatchObject({ code: 'transaction_control' })
  const kept = await engine.transaction(async tx => tx)
  await expect(kept.query('insert into public.own values (1)')).rejects.toMatchObject({ code: 'transaction_over' })
  expect(await rows()).toEqual([])
})

test('one that takes too long is cut off and rolled back', async () => {
  const never = gate()
  const appTransactions = createAppTransactions({ db: store.db, waitLimitMs: 100 })
  await store.sql('create table if not exists public.own (n int primary key)')
  const late = appTransactions.transaction(async tx => {
    await tx.query('insert into public.own values (7)')
    await never.passed
  })
  await expect(late).rejects.toMatchObject({ code: 'database_timeout' })
  // An open transaction would hold a lock, and this insert would wait.
  await store.sql(`do $$ begin set local lock_timeout = '3s'; insert into public.own values (7); end $$`)
  await expect(appTransactions.query('select pg_sleep(60)')).rejects.toSatisfy(error =>
    isRetomaError(error, 'database_timeout'),
  )
})

test('a closed engine refuses both', async () => {
  const { engine } = await engineOf({ jobs: [job] })
  await engine.close()
  await expect(engine.query('select 1')).rejects.toMatchObject({ code: 'engine_closed' })
  await expect(engine.transaction(async () => {})).rejects.toMatchObject({ code: 'engine_closed' })
})
