/** A dead connection keeps no caller waiting, and is not used again. */
import { createConnection, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Db, openDb } from '../../src/database/db.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { storeForFile } from '../support/store.ts'

const store = storeForFile()

/** A way to the server that can fall silent without closing. */
async function silenceable(url: string): Promise<{
  url: string
  open: Set<Socket>
  /** How many sessions the server has. */
  sessions(): number
  fallSilent(): void
  /** What we say does not arrive; what the server says does. */
  goUnheard(): void
}> {
  const { searchParams, port } = new URL(url)
  const open = new Set<Socket>()
  const sessions = new Set<Socket>()
  let silent = false
  let unheard = false
  const server = createServer({ allowHalfOpen: true }, near => {
    const far = createConnection(join(searchParams.get('host')!, `.s.PGSQL.${port}`))
    open.add(near)
    sessions.add(far)
    far.on('close', () => void sessions.delete(far))
    near.on('close', () => void open.delete(near))
    near.on('data', chunk => silent || unheard || far.write(chunk))
    near.on('end', () => {
      if (silent) near.destroy()
      else if (!unheard) far.end()
    })
    far.on('data', chunk => silent || near.write(chunk))
    for (const [one, other] of [[near, far], [far, near]] as const) // biome-ignore format: both ways
      one.on('error', () => {}).on('close', () => other.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const through = new URL(url)
  through.searchParams.delete('host')
  through.host = `127.0.0.1:${(server.address() as { port: number }).port}`
  return {
    url: through.href,
    open,
    sessions: () => sessions.size,
    fallSilent: () => {
      silent = true
    },
    goUnheard: () => {
      unheard = true
    },
  }
}

const ask = { name: 'ask', text: 'select 1 as answer' }

test('a query without an answer is given up at its deadline, and its connection with it', async () => {
  const way = await silenceable(store.url)
  const db = openDb({ url: way.url, connections: 1, log: silentLog })
  onTestFinished(() => db.close())
  await db.run(ask, [])
  const [socket] = way.open
  const closed = new Promise(resolve => socket!.once('close', resolve))
  way.fallSilent()
  await expect(db.run(ask, [], 100)).rejects.toMatchObject({ code: 'database_timeout' })
  await closed
  expect(way.open.size).toBe(0)
})

test('the deadline of a query includes the wait for a connection', async () => {
  const db = openDb({ url: store.url, connections: 1, log: silentLog })
  const other = openDb({ url: store.url, connections: 1, log: silentLog })
  for (const each of [db, other]) onTestFinished(() => each.close())
  await Promise.all([db.run(ask, []), other.run(ask, [])])
  const given: string[] = []
  const giveUp = (name: string, on: Db, deadlineMs: number) =>
    on.run({ name: 'sleep', text: 'select pg_sleep(3)' }, [], deadlineMs).catch(() => given.push(name))
  const busy = db.run({ name: 'busy', text: 'select pg_sleep(0.3)' }, [])
  await Promise.all([busy, giveUp('waited for the connection', db, 500), giveUp('had a connection', other, 650)])
  expect(given).toEqual(['waited for the connection', 'had a connection'])
})

/** So many connections at once, and then idle. */
const spread = (db: Db) => Promise.all(Array.from({ length: 3 }, () => db.run(nap, [])))
const nap = { name: 'nap', text: 'select pg_sleep(0.05)' }

test('once it is closed the server has no session of ours left, a lent one included', async () => {
  const way = await silenceable(store.url)
  const db = openDb({ url: way.url, connections: 3, log: silentLog })
  const connection = await db.leaseConnection()
  await connection.query('begin; commit')
  connection.release('ended')
  await spread(db)
  expect(way.sessions()).toBeGreaterThan(2)
  await db.close()
  expect(way.sessions()).toBe(0)
})

test('a server that stops while we say goodbye to it is no news', async () => {
  const way = await silenceable(store.url)
  const warn = vi.fn()
  const db = openDb({ url: way.url, connections: 3, log: { ...silentLog, warn } })
  await spread(db)
  const pids = await db.run<{ pid: number }>({ name: 'pids', text: ours }, [])
  way.goUnheard()
  const closed = db.close()
  await store.db.run({ name: 'stop', text: 'select pg_terminate_backend(unnest($1::int[]))' }, [
    pids.map(each => each.pid),
  ])
  await closed
  await expect.poll(() => way.sessions()).toBe(0)
  expect(warn).not.toHaveBeenCalled()
})

const ours = `select pid from pg_stat_activity
  where datname = current_database() and backend_type = 'client backend' and client_addr is null and query like '%pg_sleep%'`
