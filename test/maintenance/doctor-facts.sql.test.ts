/** The facts of the doctor that the tests of the command line cannot produce in time. */
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/lib/clock.ts'
import { readPins, readServer, readStarved, readWork } from '../../src/maintenance/sql/read-doctor-facts.ts'
import { registerWorker } from '../../src/worker/sql/lease-heartbeat.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()

test('who keeps dead rows from being removed is named: pid, name and state; whoever reads nothing is not', async () => {
  const client = (name: string) => new pg.Client({ connectionString: store.url, application_name: name })
  const [reader, idle] = [client('monthly report'), client('idle')]
  await reader.connect()
  await idle.connect()
  onTestFinished(async () => {
    await reader.end()
    await idle.end()
  })
  await reader.query(`begin isolation level repeatable read`)
  const { rows } = await reader.query(`select pg_backend_pid() as pid`)
  const pins = await readPins(store.db, 0, 1_000_000)
  expect(pins).toEqual([
    expect.objectContaining({
      what: 'transaction',
      pid: rows[0].pid,
      name: 'monthly report',
      state: 'idle in transaction',
      seconds: expect.any(Number),
    }),
  ])
  expect(await readPins(store.db, 300, 1_000_000)).toEqual([])
})

test('a job is starved only once it is ready, and not where a live worker knows its kind', async () => {
  await store.sql(`insert into retoma.queue (name) values ('q'), ('other')`)
  await store.worker('w', at(0))
  await store.put('waiting', { kind: 'k' })
  await store.put('waiting', { kind: 'new' })
  await store.put('waiting', { kind: 'k', queue: 'other' })
  expect(await readStarved(store.db, 100, at(-1))).toEqual([])
  expect(await readStarved(store.db, 100, at(10))).toEqual([
    { queue: 'other', kind: 'k', version: 1, jobs: 1, noWorker: true, oldestSeconds: 10 },
    { queue: 'q', kind: 'new', version: 1, jobs: 1, noWorker: false, oldestSeconds: 10 },
  ])
  // Silent for longer than a worker may be.
  expect((await readStarved(store.db, 100, at(30))).map(each => each.queue + each.kind)).toEqual([
    'otherk',
    'qk',
    'qnew',
  ])
})

test('a job is starved where every worker is of an older version than it, or runs its own no more', async () => {
  await store.sql(`insert into retoma.queue (name) values ('q')`)
  const facts = { host: 'h', pid: 1, version: '0', queues: { q: 1 }, kinds: ['k', 'dropped'] }
  await registerWorker(store.db, { ...facts, id: 'old' }, at(0))
  await registerWorker(store.db, { ...facts, id: 'new', versions: '{"k":[2,3],"dropped":[2,2]}' }, at(0))
  for (const version of [null, 2, 3, 4]) {
    const id = await store.put('waiting', { kind: 'k' })
    await store.sql(`update retoma.job set version = $2, limited = $3 where id = $1`, [id, version, version === 3])
  }
  const starved = async () => (await readStarved(store.db, 100, at(10))).map(({ kind, version }) => [kind, version])
  expect(await starved()).toEqual([['k', 4]])
  await store.sql(`delete from retoma.worker where id = 'old'`)
  expect(await starved()).toEqual([
    ['k', 4],
    ['k', 1],
  ])
})

test('how far the clocks are apart is shown in the right direction', async () => {
  const slow = { ...systemClock, now: () => new Date(systemClock.now().getTime() - 60_000) }
  const { aheadMs } = await readServer(store.db, slow)
  expect(aheadMs).toBeGreaterThan(50_000)
  expect(aheadMs).toBeLessThanOrEqual(60_000)
  expect(Math.abs((await readServer(store.db, systemClock)).aheadMs)).toBeLessThan(30_000)
})

test('a paused queue is shown with all that waits in it, behind a limit too', async () => {
  await store.sql(`insert into retoma.queue (name, paused) values ('q', true), ('empty', true)`)
  const [first] = await store.putMany(3, 'waiting')
  await store.sql(`update retoma.job set limited = true where id = $1`, [first])
  expect((await readWork(store.db, 100, at(0))).paused).toEqual([{ queue: 'q', jobs: 3 }])
})
