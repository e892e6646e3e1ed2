/**
 * The detection of a pooler between the engine and PostgreSQL leaves no trace in the session. The decision is tested with the session
 * behaviour of every kind of pooler; test/database/pooler.sql.test.ts uses a real pooler.
 */
import pg from 'pg'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openDb } from '../../src/database/db.ts'
import { detectPooler, type Probed } from '../../src/database/pooler-detection.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { storeForFile } from '../support/store.ts'

const store = storeForFile()

test('a connection of its own to PostgreSQL is known by one question', async () => {
  const client = new pg.Client({ connectionString: store.url }) as pg.Client & Probed
  await client.connect()
  onTestFinished(() => client.end())
  const asked = vi.spyOn(client, 'query')
  expect(await detectPooler(client, () => Promise.reject(new Error('none')))).toBe('sessions')
  expect(asked).toHaveBeenCalledTimes(1)
})

/** A pooler as its clients see it: each transaction is given one of the idle sessions, in the order of its kind. */
function pooler(given: { sessions: number; next: 'last used' | 'longest idle'; mode?: 'session' }) {
  const idle = Array.from({ length: given.sessions }, (_, i) => 100 + i)
  const take = (): number => idle.pop()!
  const giveBack = (session: number) =>
    given.next === 'last used' ? void idle.push(session) : void idle.unshift(session)
  let left = 0
  const connect = (): Probed & { end(): Promise<void> } => {
    let mine: number | undefined
    const open = () => {
      mine ??= take()
      if (mine === undefined) return new Promise<never>(() => {}) // it waits until one is given back
      return undefined
    }
    const close = () => {
      if (given.mode === 'session' || mine === undefined) return
      giveBack(mine)
      mine = undefined
    }
    let inTransaction = false
    return {
      processID: 7,
      async query(text) {
        await open()
        const rows = [{ id: mine }]
        if (text === 'begin') inTransaction = true
        if (text === 'rollback') inTransaction = false
        if (!inTransaction) close()
        return { rows }
      },
      async end() {
        left++
      },
    }
  }
  return { connect, connecting: async () => connect(), left: () => left }
}

describe('a pooler that gives each transaction a session', () => {
  afterEach(() => void vi.useRealTimers())

  for (const next of ['last used', 'longest idle'] as const)
    for (const sessions of [1, 2, 3, 20])
      test(`is seen with ${sessions} sessions, the ${next} first`, async () => {
        const { connect, connecting, left } = pooler({ sessions, next })
        expect(await detectPooler(connect(), connecting)).toBe('transactions')
        expect(left()).toBe(1)
      })

  test('is not confused with one that gives each connection a session', async () => {
    const { connect, connecting } = pooler({ sessions: 5, next: 'last used', mode: 'session' })
    expect(await detectPooler(connect(), connecting)).toBe('sessions')
  })

  test('is assumed when no second connection can be had, or it gets no answer in time', async () => {
    const full = pooler({ sessions: 5, next: 'last used', mode: 'session' })
    expect(await detectPooler(full.connect(), () => Promise.reject(new Error('no more connections')))).toBe(
      'transactions',
    )
    vi.useFakeTimers()
    const { connect, connecting } = pooler({ sessions: 1, next: 'last used', mode: 'session' })
    const asked = detectPooler(connect(), connecting)
    await vi.advanceTimersByTimeAsync(2000)
    expect(await asked).toBe('transactions')
  })
})

test('a prepared statement that is gone costs nobody anything: it goes on without them', async () => {
  const warned: string[] = []
  const log = { ...silentLog, warn: (_: unknown, line: string) => void warned.push(line) }
  const db = openDb({ url: store.url, connections: 1, log })
  onTestFinished(() => db.close())
  const statement = { name: 'question', text: 'select $1::int + 1 as answer' }
  expect(await db.run(statement, [1])).toEqual([{ answer: 2 }])
  await db.transaction(client => client.query('deallocate all'))
  expect(await db.run(statement, [2])).toEqual([{ answer: 3 }])
  expect(await db.run(statement, [3])).toEqual([{ answer: 4 }])
  expect(warned).toEqual(['a pooler shares sessions: the engine uses no prepared statements'])
})
