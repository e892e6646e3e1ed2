/** The committer between attempts and a database that fails: before, after, and with the answer lost. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { applyJobAction } from '../../src/jobs/sql/job-actions.ts'
import type { Clock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { milliseconds } from '../../src/lib/values/duration.ts'
import { createOutcomeWriter } from '../../src/worker/outcome-writer.ts'
import type { SettleRow } from '../../src/worker/sql/settle.ts'
import { databaseError, type FaultyDb, faulty, linkLost } from '../support/faulty-db.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()
const succeeded: SettleRow['outcome'] = { state: 'succeeded', result: '1' }
const failed: SettleRow['outcome'] = {
  state: 'waiting',
  delay: milliseconds(0),
  failure: { type: 'error', message: 'no', code: null, stack: null },
}

/** A committer of worker `w` whose pauses pass at once and are noted. */
function committer(db: FaultyDb = faulty(store.db)) {
  const pauses: number[] = []
  const clock: Clock = {
    instant: () => at(1),
    now: () => at(1),
    elapsed: () => 0,
    sleep: async ms => void pauses.push(ms),
  }
  const { settle, giveUp } = createOutcomeWriter({
    db,
    worker: 'w',
    clock,
    log: silentLog,
    events: { batchPaused: () => {} },
  })
  const all = (
    ids: readonly string[],
    outcome: SettleRow['outcome'] | ((id: string, i: number) => SettleRow['outcome']),
  ) =>
    Promise.all(
      ids.map((id, i) => settle({ id, attempt: 1, outcome: typeof outcome === 'function' ? outcome(id, i) : outcome })),
    )
  return { db, pauses, settle, giveUp, all }
}

const states = async () =>
  Object.fromEntries(
    (await store.sql<{ state: string; n: number }>(`select state, count(*)::int as n from retoma.job group by 1`)).map(
      row => [row.state, row.n],
    ),
  )
const noted = async () => (await store.sql<{ n: number }>(`select count(*)::int as n from retoma.failure`))[0]!.n

test('outcomes that are ready at the same moment go together, 500 at most', async () => {
  const ids = await store.putMany(1200, 'running')
  const { all, db } = committer()
  expect(await all(ids, succeeded)).toEqual(ids.map(() => 'written'))
  expect(await states()).toEqual({ succeeded: 1200 })
  expect(db.asked).toEqual(['settle', 'settle', 'settle'])
})

test('a flush is bounded by what it weighs, too', async () => {
  const ids = await store.putMany(24, 'running')
  const { all, db } = committer()
  const heaviest: number[] = []
  const { run } = db
  db.run = (statement, values, deadline) => {
    if (statement.name === 'settle') heaviest.push((values[3] as string[]).reduce((sum, text) => sum + text.length, 0))
    return run(statement, values, deadline)
  }
  expect(await all(ids, { state: 'succeeded', result: JSON.stringify('x'.repeat(1_000_000)) })).not.toContain(
    'unwritten',
  )
  expect(heaviest).toHaveLength(3)
  expect(Math.max(...heaviest)).toBeLessThanOrEqual(8 * 1024 * 1024)
})

describe('what a reconnect can cure is tried again until it lands, once:', () => {
  const passing = [
    '08006',
    '08P01',
    '40001',
    '40P01',
    '53300',
    '53100',
    '57P01',
    '57P03',
    '57014',
    '55P03',
    '25006',
    // Nobody's value is at fault: a statement the pooler forgot, rights taken away, a disk, the server itself.
    '26000',
    '42501',
    '58030',
    'XX000',
  ].map(databaseError)
  const links = ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETDOWN', 'EPROTO'].map(code =>
    Object.assign(new Error(`read ${code}`), { code }),
  )
  for (const error of [...passing, ...links, linkLost()]) {
    test.each(['before', 'after'] as const)(`${error.message}, %s the statement`, async when => {
      const ids = await store.putMany(5, 'running')
      const { all, db, pauses } = committer()
      db.fail('settle', when, error, { times: 3 })
      expect(await all(ids, failed)).toEqual(ids.map(() => 'written'))
      expect(await states()).toEqual({ waiting: 5 })
      expect(await noted()).toBe(5)
      expect(await store.sql(`select distinct failures from retoma.job`)).toEqual([{ failures: 1 }])
      expect(pauses).toEqual([100, 200, 400])
    })
  }

  test('the look at what landed fails, too', async () => {
    const [id] = await store.putMany(1, 'running')
    const { settle, db } = committer()
    db.fail('settle', 'after', linkLost())
    db.fail('settle_was_written', 'before', databaseError('57P01'))
    db.fail('settle_was_written', 'after', linkLost())
    expect(await settle({ id: id!, attempt: 1, outcome: failed })).toBe('written')
    expect(await store.job(id!)).toMatchObject({ state: 'waiting', failures: 1 })
  })

  test('a job cancelled in the meantime is known as lost', async () => {
    const [id] = await store.putMany(1, 'running')
    const { settle, db } = committer()
    db.fail('settle', 'before', databaseError('57P03'))
    const cancelled = db.askedFor('settle').then(() => applyJobAction(store.db, 'cancel', id!, at(1)))
    db.hold(
      'settle',
      'before',
      cancelled.then(() => {}),
    )
    expect(await settle({ id: id!, attempt: 1, outcome: succeeded })).toBe('lease_lost')
    expect(await store.job(id!)).toMatchObject({ state: 'cancelled', result: null })
  })
})

test('writes of one job land in the order they were asked for', async () => {
  const [id] = await store.putMany(1, 'running')
  const { settle, db } = committer()
  db.fail('settle', 'before', databaseError('40P01'), { times: 2 })
  const order: string[] = []
  await Promise.all([
    settle({ id: id!, attempt: 1, outcome: succeeded }).then(landed => order.push(`first ${landed}`)),
    settle({ id: id!, attempt: 1, outcome: failed }).then(landed => order.push(`second ${landed}`)),
  ])
  expect(order).toEqual(['first written', 'second lease_lost'])
  expect(await store.job(id!)).toMatchObject({ state: 'succeeded', failures: 0 })
})

describe('one row that PostgreSQL refuses fails alone:', () => {
  const poison: Record<string, SettleRow['outcome']> = {
    'NUL in a result': { state: 'succeeded', result: '"\\u0000"' },
    'half a surrogate pair': { state: 'succeeded', result: '"\\ud800"' },
    'no JSON at all': { state: 'succeeded', result: '{' },
    'NUL in an error': { state: 'failed', failure: { type: 'error', message: 'a\u0000b', code: null, stack: null } },
    'a wait beyond time': { state: 'waiting', delay: milliseconds(Number.NaN), failure: null },
  }
  test.each(Object.entries(poison))('%s', async (_, outcome) => {
    const ids = await store.putMany(300, 'running')
    const bad = ids[171]!
    const { all, db } = committer()
    expect(await all(ids, id => (id === bad ? outcome : succeeded))).toEqual(ids.map(() => 'written'))
    expect(await states()).toEqual({ succeeded: 299, failed: 1 })
    expect(await store.job(bad)).toMatchObject({ state: 'failed', failures: 1, error: { code: 'bad_value' } })
    expect(await store.failures(bad)).toMatchObject([{ failure_type: 'error', code: 'bad_value' }])
    expect(db.asked.length).toBeLessThan(30)
  })

  test('several in one flush, the first and the last among them', async () => {
    const ids = await store.putMany(64, 'running')
    const bad = new Set([ids[1]!, ids[2]!, ids[40]!, ids[63]!])
    const { all } = committer()
    await all(ids, id => (bad.has(id) ? poison['NUL in a result']! : succeeded))
    expect(await states()).toEqual({ succeeded: 60, failed: 4 })
  })

  test('one whose failure is refused as well ends without it', async () => {
    await store.sql(`alter table retoma.failure add constraint no_bad_values check (code <> 'bad_value')`)
    onTestFinished(() => store.sql(`alter table retoma.failure drop constraint no_bad_values`).then(() => {}))
    const ids = await store.putMany(20, 'running')
    const bad = ids[7]!
    const { all } = committer()
    expect(await all(ids, id => (id === bad ? poison['NUL in a result']! : succeeded))).toEqual(
      ids.map(() => 'written'),
    )
    expect(await states()).toEqual({ succeeded: 19, failed: 1 })
    expect(await store.job(bad)).toMatchObject({
      error: { code: 'bad_value', message: expect.stringContaining('failure') },
    })
    expect(await store.failures(bad)).toEqual([])
  })

  test('one that PostgreSQL takes no end of is left as it is, and its neighbours land', async () => {
    const ids = await store.putMany(20, 'running')
    const bad = ids[7]!
    const { all, db } = committer()
    const matches = (values: unknown[]) => (values[0] as string[]).includes(bad)
    db.fail('settle', 'before', databaseError('22P05'), { times: 100, matches })
    expect(await all(ids, succeeded)).toEqual(ids.map(id => (id === bad ? 'rejected' : 'written')))
    expect(await states()).toEqual({ succeeded: 19, running: 1 })
  })

  test('a refusal and a lost link in one flush', async () => {
    const ids = await store.putMany(50, 'running')
    const { all, db } = committer()
    db.fail('settle', 'after', linkLost(), { times: 4 })
    const landed = await all(ids, (_, i) => (i === 30 ? poison['NUL in a result']! : failed))
    expect(landed).toEqual(ids.map(() => 'written'))
    expect(await states()).toEqual({ waiting: 49, failed: 1 })
    expect(await noted()).toBe(50)
  })
})

test('once it gives up, what cannot be written is left and nobody waits for ever', async () => {
  const ids = await store.putMany(3, 'running')
  const { all, db, giveUp } = committer()
  db.fail('settle', 'before', linkLost(), { times: 1000 })
  const waiting = all(ids, succeeded)
  await db.askedFor('settle')
  giveUp()
  expect(await waiting).toEqual(['unwritten', 'unwritten', 'unwritten'])
  expect(await states()).toEqual({ running: 3 })
})
