/** A transaction of a handler's and its checkpoint: both or neither, and nothing after the job was given away. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { LeasedConnection } from '../../src/database/leased-connection.ts'
import {
  beginTransaction,
  commitTransaction,
  rollbackTransaction,
} from '../../src/database/transactions/transaction.ts'
import { loadCheckpoints } from '../../src/execution/sql/checkpoint.ts'
import { savedCheckpoint, saveInTransaction } from '../../src/execution/sql/fenced-transaction.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()
beforeEach(() => store.worker('w'))

let loans: LeasedConnection[] = []
// Before the tables are emptied: an open one holds rows of theirs.
afterEach(() => {
  for (const connection of loans) connection.release('in doubt')
  loans = []
})

async function begun(): Promise<{ connection: LeasedConnection; mark: string }> {
  const connection = await store.db.leaseConnection()
  loans.push(connection)
  return { connection, mark: await beginTransaction(connection) }
}
const keep = (
  { connection, mark }: { connection: LeasedConnection; mark: string },
  id: string,
  given: { attempt?: number; worker?: string } = {},
) => saveInTransaction(connection, { id, attempt: 1, worker: 'w', name: 's', value: '1', mark, ...given }, at(0))
const waiting = async () =>
  (await store.sql(`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
    .length
const giveAway = (id: string) =>
  store
    .another()
    .run({ name: '', text: `update retoma.job set state = 'waiting', worker_id = null where id = $1` }, [id])

test('what is kept is there with the commit, and not without', async () => {
  const id = await store.put('running')
  const undone = await begun()
  expect(await keep(undone, id)).toBe('kept')
  await rollbackTransaction(undone.connection)
  expect(await savedCheckpoint(store.db, id, 's')).toBeUndefined()
  const done = await begun()
  expect(await keep(done, id)).toBe('kept')
  await commitTransaction(done.connection)
  expect(await savedCheckpoint(store.db, id, 's')).toEqual({ value: 1, attempt: 1 })
})

test('an attempt that does not hold the job keeps nothing: another attempt, another worker, none', async () => {
  const mine = await store.put('running')
  const over = await store.put('succeeded')
  expect(await keep(await begun(), mine, { attempt: 2 })).toBe('lease_lost')
  expect(await keep(await begun(), mine, { worker: 'other' })).toBe('lease_lost')
  expect(await keep(await begun(), over)).toBe('lease_lost')
  expect(await keep(await begun(), '999999')).toBe('lease_lost')
})

test('a second one of the same name learns that the first was committed', async () => {
  const id = await store.put('running')
  const first = await begun()
  await keep(first, id)
  await commitTransaction(first.connection)
  expect(await keep(await begun(), id)).toBe('there')
})

describe('a transaction that somebody ended is known:', () => {
  const ways = ['commit', 'rollback', 'commit; begin', 'rollback; begin', 'commit and chain']
  test.each(ways)('%s', async way => {
    const id = await store.put('running')
    const it = await begun()
    await it.connection.query(way)
    expect(await keep(it, id)).toBe('ended')
    expect(await loadCheckpoints(store.db, id)).toEqual(new Map())
  })

  test('savepoints are none of that', async () => {
    const id = await store.put('running')
    const it = await begun()
    for (const text of ['savepoint a', 'select 1', 'rollback to a', 'release a']) await it.connection.query(text)
    expect(await keep(it, id)).toBe('kept')
  })
})

test('from its fence to its end nobody gives the job away', async () => {
  const id = await store.put('running')
  const it = await begun()
  await keep(it, id)
  const given = giveAway(id)
  await expect.poll(waiting).toBe(1)
  await commitTransaction(it.connection)
  await given
  expect(await savedCheckpoint(store.db, id, 's')).toEqual({ value: 1, attempt: 1 })
})

test('a process that is stopped between its fence and its end holds the job for seconds, not for ever', async () => {
  const id = await store.put('running')
  const it = await begun()
  await it.connection.query(`set idle_in_transaction_session_timeout = 0`)
  expect(await keep(it, id)).toBe('kept')
  const { rows } = await it.connection.query(
    `select current_setting('idle_in_transaction_session_timeout') as idle, current_setting('lock_timeout') as locks`,
  )
  expect(rows).toEqual([{ idle: '10s', locks: '10s' }])
})

test('what a handler set for its own session leaves no mark on what is kept', async () => {
  const id = await store.put('running')
  const it = await begun()
  await it.connection.query(`set client_encoding = 'LATIN1'`)
  const kept = { id, attempt: 1, worker: 'w', name: 'à vista', value: '"não ☃"', mark: it.mark }
  expect(await saveInTransaction(it.connection, kept, at(0))).toBe('kept')
  await commitTransaction(it.connection)
  expect(await loadCheckpoints(store.db, id)).toEqual(new Map([['à vista', 'não ☃']]))
})

test('before its fence it holds up nobody', async () => {
  const id = await store.put('running')
  const it = await begun()
  await it.connection.query('select 1')
  await giveAway(id)
  expect(await keep(it, id)).toBe('lease_lost')
})

test('whether it was committed is answered once it has ended, not before', async () => {
  const id = await store.put('running')
  const it = await begun()
  await keep(it, id)
  const asked = savedCheckpoint(store.another(), id, 's')
  await expect.poll(waiting).toBe(1)
  await commitTransaction(it.connection)
  expect(await asked).toEqual({ value: 1, attempt: 1 })
})
