/** Rate windows: what the statement lets through, one after the other and all at once. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Db, openDb, type Statement } from '../../src/database/db.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { milliseconds, minutes, seconds } from '../../src/lib/values/duration.ts'
import { peekHits, takeHits } from '../../src/limits/sql/count-hits.ts'
import { pruneExpiredRows } from '../../src/maintenance/sql/expired-rows.ts'
import { arrivals, plainJudge } from '../support/arrivals.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()

const one = (who = 'ana', n = 1) => new Map([[who, n]])
const rate = (limit: number, per = minutes(1), bucket = 'b') => ({ bucket, limit, per })
const take = async (limit: number, now: Date | null, { per = minutes(1), who = 'ana', n = 1 } = {}) =>
  (await takeHits(store.db, { ...rate(limit, per), of: one(who, n) }, now))[0]!

test('as many pass in any stretch as the limit says, and who is refused reads when the next may', async () => {
  expect(await take(2, at(0))).toMatchObject({ granted: true, used: 1, freesMs: 60_000 })
  expect(await take(2, at(10))).toMatchObject({ granted: true, used: 2, freesMs: 50_000 })
  expect(await take(2, at(59.999))).toMatchObject({ granted: false, used: 2, fitsMs: 1 })
  expect(await take(2, at(60))).toMatchObject({ granted: true, used: 2, freesMs: 10_000 })
  expect(await take(2, at(60))).toMatchObject({ granted: false, fitsMs: 10_000 })
})

test('a caller that waited for the row behind a later hit reads at most the period, with instants and with slices', async () => {
  expect(await take(1, at(0.5))).toMatchObject({ granted: true })
  expect(await take(1, at(0))).toMatchObject({ granted: false, freesMs: 60_000, fitsMs: 60_000 })
  const slice = 60_000 / 256
  expect(await take(300, at(100), { who: 'eva', n: 300 })).toMatchObject({ granted: true })
  const before = (await take(300, at(99.5), { who: 'eva' })).fitsMs!
  expect(before).toBeGreaterThanOrEqual(60_000)
  expect(before).toBeLessThanOrEqual(60_000 + slice)
})

test('random arrivals are judged as by one who keeps them all: no wrong verdict', async () => {
  let judged = 0
  await fc.assert(
    fc.asyncProperty(arrivals, async ({ limit, perMs, steps }) => {
      await store.sql(`delete from retoma.rate_window`)
      const plain = plainJudge(limit, perMs)
      let now = 0
      for (const { wait, who } of steps) {
        now += wait
        const { granted, used, fitsMs } = await take(limit, at(now / 1000), { per: milliseconds(perMs), who })
        const expected = plain(who, now)
        expect({ granted, remaining: limit - used, waitMs: granted ? 0 : Math.round(fitsMs!) }).toEqual(expected)
        judged++
      }
    }),
    { numRuns: 60 },
  )
  expect(judged).toBeGreaterThan(1000)
})

test('2,000 at once on a bucket of 10, over four pools: exactly 10 pass', async () => {
  const pools = Array.from({ length: 4 }, () => openDb({ url: store.url, log: silentLog, connections: 5 }))
  try {
    const answers = await Promise.all(
      Array.from({ length: 2000 }, (_, i) => takeHits(pools[i % 4]!, { ...rate(10), of: one() }, null)),
    )
    expect(answers.filter(([each]) => each!.granted)).toHaveLength(10)
    const late = await takeHits(pools[0]!, { ...rate(10), of: one() }, null)
    expect(late).toMatchObject([{ granted: false, used: 10 }])
  } finally {
    await Promise.all(pools.map(pool => pool.close()))
  }
})

test('one who was full when asked takes no lock and writes nothing', async () => {
  await take(1, at(0))
  const version = () => store.sql(`select xmin::text, ctid::text from retoma.rate_window`)
  const before = await version()
  expect(await take(1, at(1))).toMatchObject({ granted: false })
  expect(await version()).toEqual(before)
  const holder = await store.db.connect()
  await holder.query('begin; select from retoma.rate_window for update')
  try {
    expect(await take(1, at(2))).toMatchObject({ granted: false })
  } finally {
    await holder.end()
  }
})

test('who had to wait for the row is judged by what it holds then', async () => {
  await take(2, at(0))
  const holder = await store.db.connect()
  await holder.query('begin')
  await holder.query(`update retoma.rate_window set hit_at = hit_at || $1::timestamptz, hit_n = hit_n || 1`, [at(5)])
  const waiting = take(2, at(1))
  // It is seen to wait before the other commits.
  const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%rate_window%'`
  while ((await store.sql(waits)).length === 0);
  await holder.query('commit')
  expect(await waiting).toMatchObject({ granted: false, used: 2 })
  await holder.end()
})

test('above 256 in a window its row holds at most 257 instants, and no stretch has more than the limit', async () => {
  const [limit, perMs] = [1000, 2000]
  const passed: number[] = []
  for (let ms = 0; ms < 4200; ms += 4) {
    const n = ms < perMs ? 3 : 6
    const { granted } = await take(limit, at(ms / 1000), { per: milliseconds(perMs), n })
    if (granted) passed.push(...Array.from({ length: n }, () => ms))
  }
  for (const end of new Set(passed)) {
    expect(passed.filter(each => each > end - perMs && each <= end).length).toBeLessThanOrEqual(limit)
  }
  // Each counts at most a 256th too long: with what is asked for, the limit is used up again and again.
  expect(passed.length).toBeGreaterThan(1.9 * limit)
  const [row] = await store.sql<{ held: number }>(`select cardinality(hit_at) as held from retoma.rate_window`)
  expect(row!.held).toBeLessThanOrEqual(257)
})

test('hits that lie far in the future, after a failover to a slower clock, do not shut anybody out', async () => {
  await take(1, at(3600))
  expect(await take(1, at(0))).toMatchObject({ granted: true, used: 1 })
})

test('to look takes nothing', async () => {
  const peek = async (now: Date) => (await peekHits(store.db, { ...rate(1), of: one() }, now))[0]
  expect(await peek(at(0))).toMatchObject({ granted: true, used: 0, freesMs: null })
  await take(1, at(0))
  expect(await peek(at(20))).toMatchObject({ granted: false, used: 1, fitsMs: 40_000 })
  expect(await peek(at(60))).toMatchObject({ granted: true, used: 0 })
})

test('of several at once nothing is taken for any when one cannot be granted', async () => {
  const many = (now: Date) =>
    takeHits(store.db, { ...rate(3), of: new Map([['ana', 2], ['rui', 3]]) }, now) // biome-ignore format: two of them
  await take(3, at(0), { who: 'rui' })
  const refused = await many(at(1))
  expect(refused.find(each => each.who === 'rui')).toMatchObject({ granted: false, used: 1, fitsMs: 59_000 })
  expect(await store.sql(`select who from retoma.rate_window`)).toEqual([{ who: 'rui' }])
  expect(await many(at(60))).toMatchObject([{ granted: true }, { granted: true }])
  expect(await take(3, at(61))).toMatchObject({ granted: true, used: 3 })
})

test('two who ask for the same of many, in opposite order, do not wait for each other in a circle', async () => {
  const all = Array.from({ length: 100 }, (_, i) => [`u${i}`, 1] as const)
  const rounds = Array.from({ length: 40 }, (_, i) => new Map(i % 2 === 0 ? all : all.toReversed()))
  const answers = await Promise.all(rounds.map(of => takeHits(store.db, { ...rate(15), of }, null)))
  expect(answers.filter(each => each.every(one => one.granted))).toHaveLength(15)
})

test('when nothing counts any more its row goes, in chunks, and not before', async () => {
  for (const who of ['a', 'b', 'c']) await take(1, at(0), { who, per: seconds(10) })
  await take(1, at(15), { who: 'c', per: seconds(10) })
  expect(await pruneExpiredRows(store.db, 1000, at(10))).toMatchObject({ most: 0, files: false })
  expect(await pruneExpiredRows(store.db, 1, at(21))).toMatchObject({ most: 1, files: false })
  expect(await pruneExpiredRows(store.db, 1000, at(21))).toMatchObject({ most: 1, files: false })
  expect(await store.sql(`select who from retoma.rate_window`)).toEqual([{ who: 'c' }])
})

test('a check goes by the key of its row, and what is old is found by an index, however many there are', async () => {
  await store.sql(
    `insert into retoma.rate_window (bucket, who, expires_at) select 'b', 'u' || i, now() from generate_series(1, 20000) i`,
  )
  await store.sql(`vacuum analyze retoma.rate_window`)
  const asked = { ...rate(10), of: one('u7') }
  for (const [work, index] of [
    [(db: Db) => takeHits(db, asked, at(0)), 'rate_window_pkey'],
    [(db: Db) => peekHits(db, asked, at(0)), 'rate_window_pkey'],
    [(db: Db) => pruneExpiredRows(db, 10, at(0)), 'rate_window_expires'],
  ] as const) {
    let sent: { statement: Statement; values: unknown[] } | undefined
    const run = async (statement: Statement, values: unknown[]) => {
      sent = { statement, values }
      return [{}]
    }
    await work({ ...store.db, run } as Db)
    const rows = await store.db.transaction(async client => {
      return (await client.query(`explain ${sent!.statement.text}`, sent!.values)).rows as { 'QUERY PLAN': string }[]
    })
    const plan = rows.map(row => row['QUERY PLAN']).join('\n')
    expect(plan).toContain(`using ${index}`)
    expect(plan).not.toMatch(/Seq Scan on rate_window/)
  }
})
