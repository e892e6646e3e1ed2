import { expect, test } from 'vitest'
import { takeSample } from '../../src/metrics/sql/job-count-sample.ts'
import { addMetrics, foldMetrics, type Series, writeMetrics } from '../../src/metrics/sql/metric-counters.ts'
import { readMetrics, readStats } from '../../src/metrics/sql/read-stats.ts'
import { until } from '../support/engine.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()
const ends = (value: number[]): Series => ({ name: 'ends', labels: { kind: 'k' }, value })
const reported = async () => (await readMetrics(store.db)).map(each => each.value)
const dies = (id: string) => store.sql(`update retoma.worker set dead_at = $2 where id = $1`, [id, at(0)])

/** The waiting jobs, counted by an independent statement. */
const counts = async () =>
  (await readStats(store.db, { except: [], now: at(100) })).counts.map(({ queue, kind, state, jobs, oldestSeconds }) =>
    [queue, kind, state, jobs, oldestSeconds].join(' '),
  )

test('what waits, runs and is stopped is counted by queue, kind and state; what is finished is not', async () => {
  await store.putMany(3, 'waiting', { queue: 'a' })
  await store.putMany(2, 'waiting', { queue: 'a', kind: 'other' })
  await store.put('waiting', { queue: 'b' })
  await store.sql(`update retoma.job set run_at = $1 where queue = 'b'`, [at(1000)])
  await store.worker('w')
  await store.putMany(4, 'running', { queue: 'b' })
  await store.put('stalled', { queue: 'b' })
  await store.putMany(50, 'succeeded', { queue: 'a' })
  expect(await takeSample(store.db, 9000, at(60))).toEqual({ won: true, left: false })
  expect(await counts()).toEqual([
    'a k ready 3 100',
    'a other ready 2 100',
    'b k running 4 ',
    'b k scheduled 1 ',
    'b k stalled 1 ',
  ])
})

test('jobs of a paused batch are counted, and make nothing late', async () => {
  await store.put('waiting')
  await store.sql(
    `insert into retoma.batch (id, name, kind, queue, policy, priority, claims_blocked, created_at) values (7, 'b', 'k', 'q', '{}', 4, true, now())`,
  )
  await store.sql(`update retoma.job set batch_id = 7`)
  await takeSample(store.db, 9000, at(60))
  expect(await counts()).toEqual(['q k ready 1 '])
})

test('of many who count at once one does, and nobody does again before its time', async () => {
  await store.put('waiting')
  const [a, b] = [store.another(), store.another()]
  const taken = await Promise.all([a, b, store.db].map(db => takeSample(db, 9000, at(0))))
  expect(taken.filter(each => each.won)).toHaveLength(1)
  await store.putMany(2, 'waiting')
  expect((await takeSample(a, 9000, at(8.9))).won).toBe(false)
  expect(await counts()).toEqual(['q k ready 1 100'])
  // What it has cost counts twentyfold, and here costs little.
  expect((await takeSample(b, 9000, at(15))).won).toBe(true)
  expect(await counts()).toEqual(['q k ready 3 100'])
})

test('a count after a failover to a clock that runs behind does not wait until that has caught up', async () => {
  await takeSample(store.db, 9000, at(3600))
  expect((await takeSample(store.db, 9000, at(0))).won).toBe(true)
})

test('what is gone from the queues is gone from the sample, and what is as it was is not written', async () => {
  await store.put('waiting', { queue: 'gone' })
  await store.put('waiting', { queue: 'stays' })
  await takeSample(store.db, 1000, at(0))
  const version = () => store.sql(`select queue, xmin::text from retoma.job_count_sample order by 1`)
  const [, before] = await version()
  await store.sql(`delete from retoma.job where queue = 'gone'`)
  await takeSample(store.db, 1000, at(60))
  expect(await version()).toEqual([before])
})

test('a write that is sent again, or lands after the next one, adds nothing', async () => {
  await store.worker('w')
  await writeMetrics(store.db, 'w', [ends([5])], at(1))
  await writeMetrics(store.db, 'w', [ends([5])], at(1))
  await writeMetrics(store.db, 'w', [ends([9])], at(3))
  await writeMetrics(store.db, 'w', [ends([7])], at(2))
  expect(await reported()).toEqual([[9]])
})

test('a worker that was declared dead writes nothing more: what it left may be counted already', async () => {
  await store.worker('w')
  await writeMetrics(store.db, 'w', [ends([5])], at(1))
  await dies('w')
  await foldMetrics(store.db, at(2))
  await writeMetrics(store.db, 'w', [ends([6])], at(3))
  expect(await reported()).toEqual([[5]])
})

test('what the dead have left is added up once, however many do it at once', async () => {
  for (const id of ['w1', 'w2', 'w3', 'alive']) {
    await store.worker(id)
    await writeMetrics(store.db, id, [ends([1, 0.5]), { ...ends([2]), name: 'more' }], at(1))
  }
  await addMetrics(store.db, [ends([10])], at(1))
  for (const id of ['w1', 'w2', 'w3']) await dies(id)
  expect((await takeSample(store.db, 1000, at(2))).left).toBe(true)
  await Promise.all([store.db, store.another(), store.another()].map(db => foldMetrics(db, at(3))))
  const rows = await store.sql(`select process, name, value from retoma.metric order by 1, 2`)
  expect(rows).toEqual([
    { process: '', name: 'ends', value: [13, 1.5] },
    { process: '', name: 'more', value: [6] },
    { process: 'alive', name: 'ends', value: [1, 0.5] },
    { process: 'alive', name: 'more', value: [2] },
  ])
  expect((await takeSample(store.db, 1000, at(60))).left).toBe(false)
})

test('a write that meets the death of its worker waits for it, and then writes nothing', async () => {
  await store.worker('w')
  let wrote = false
  const written = await store.db.transaction(async client => {
    await client.query(`update retoma.worker set dead_at = $1 where id = 'w'`, [at(0)])
    const write = writeMetrics(store.another(), 'w', [ends([5])], at(1)).then(() => {
      wrote = true
    })
    const waits = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    await until(async () => wrote || (await store.sql(`select exists (${waits}) as waits`))[0]!.waits === true)
    return { write }
  })
  await written.write
  expect(await reported()).toEqual([])
})
