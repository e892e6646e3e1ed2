import pg from 'pg'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { claimJobs } from '../../src/claiming/sql/claim.ts'
import type { Db } from '../../src/database/db.ts'
import { schemaNames } from '../../src/database/schema-name.ts'
import { runInCallerTransaction } from '../../src/database/transactions/caller-transaction.ts'
import { enqueueJobs } from '../../src/enqueue/enqueue.sql.ts'
import { applyJobAction } from '../../src/jobs/sql/job-actions.ts'
import { settleJobs } from '../../src/worker/sql/settle.ts'
import { at, newJob, storeForFile } from '../support/store.ts'

const store = storeForFile()
beforeEach(() => store.worker('w'))
const enqueue = async (given: Parameters<typeof newJob>[0], now = at(0), db: Db = store.db) =>
  (await enqueueJobs(db.run, [newJob(given)], now))[0]!
const jobs = async () => Number((await store.sql<{ n: string }>(`select count(*) as n from retoma.job`))[0]!.n)

/** Runs the job to its end as a worker would. */
async function finish(id: string, now = at(0)): Promise<void> {
  const [claimed] = await claimJobs(store.db, { wants: [{ queue: 'q', want: 1 }], kinds: ['k'], worker: 'w' }, now)
  expect(claimed?.id).toBe(id)
  await settleJobs(
    store.db,
    'w',
    [{ id, attempt: claimed!.attempt, outcome: { state: 'succeeded', result: '1' } }],
    now,
  )
}

/** A connection of the caller's own. */
async function caller(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: store.url })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

test('the same key answers the same job, per kind', async () => {
  const first = await enqueue({ key: 'a' })
  expect(first.created).toBe(true)
  expect(await enqueue({ key: 'a' })).toEqual({ id: first.id, created: false })
  expect(await enqueue({ key: 'b' })).toMatchObject({ created: true })
  expect(await enqueue({ key: 'a', kind: 'other' })).toMatchObject({ created: true })
  expect(await jobs()).toBe(3)
})

test('without a key every enqueue is a job of its own', async () => {
  const made = await enqueueJobs(store.db.run, [newJob(), newJob(), newJob()], at(0))
  expect(new Set(made.map(each => each.id)).size).toBe(3)
})

test('a key given twice in one call is one job', async () => {
  const [a, b, c] = await enqueueJobs(store.db.run, [newJob({ key: 'a' }), newJob(), newJob({ key: 'a' })], at(0))
  expect(a).toMatchObject({ created: true })
  expect(b).toMatchObject({ created: true })
  expect(c).toEqual({ id: a!.id, created: false })
})

test('the answers of one call stand in the order of its jobs', async () => {
  const made = await enqueueJobs(
    store.db.run,
    ['c', 'a', 'b'].map(key => newJob({ key, ref: key })),
    at(0),
  )
  for (const [i, ref] of ['c', 'a', 'b'].entries()) expect(await store.job(made[i]!.id)).toMatchObject({ ref })
})

test('many callers with the same keys in opposite order all get the same jobs, and none deadlocks', async () => {
  const keys = Array.from({ length: 40 }, (_, i) => `key-${i}`)
  const pools = Array.from({ length: 6 }, () => store.another())
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all(
      pools.map((pool, i) => {
        const mine = i % 2 === 0 ? keys : [...keys].reverse()
        const asked = mine.map(key => newJob({ key: `${round}-${key}` }))
        return enqueueJobs(pool.run, asked, at(0)).then(made => (i % 2 === 0 ? made : [...made].reverse()))
      }),
    )
    const created = answers.flat().filter(each => each.created)
    expect(created).toHaveLength(keys.length)
    for (const each of answers) expect(each.map(made => made.id)).toEqual(answers[0]!.map(made => made.id))
  }
})

test('many callers who find the keys of yesterday free them without a deadlock, and agree', async () => {
  const keys = Array.from({ length: 300 }, (_, i) => `key-${i}`)
  const pools = Array.from({ length: 6 }, () => store.another())
  const yesterday = keys.map(key => newJob({ key }))
  for (let round = 0; round < 3; round++) {
    await enqueueJobs(store.db.run, yesterday, at(round * 90_000))
    await store.sql(`update retoma.job set state = 'succeeded', finished_at = $1 where state = 'waiting'`, [
      at(round * 90_000),
    ])
    const answers = await Promise.all(
      pools.map((pool, i) => {
        // Different amounts, in opposite orders: what a plan reads them in differs, too.
        const mine = yesterday.slice(0, 300 - i * 55)
        return enqueueJobs(pool.run, i % 2 === 0 ? mine : mine.reverse(), at((round + 1) * 90_000))
      }),
    )
    expect(answers.flat().filter(each => each.created)).toHaveLength(keys.length)
  }
})

test('a key is held until 24 h after the end of its job, then it is free', async () => {
  const { id } = await enqueue({ key: 'a' })
  expect(await enqueue({ key: 'a' }, at(48 * 3600))).toEqual({ id, created: false })
  await finish(id, at(100))
  expect(await enqueue({ key: 'a' }, at(100 + 24 * 3600))).toEqual({ id, created: false })
  const next = await enqueue({ key: 'a' }, at(101 + 24 * 3600))
  expect(next.created).toBe(true)
  expect(await enqueue({ key: 'a' }, at(102 + 24 * 3600))).toEqual({ id: next.id, created: false })
  expect(await store.job(id)).toMatchObject({ state: 'succeeded', unique_until: null })
})

test("a key until 'final' is free with the end of its job, whatever that end is", async () => {
  const { id } = await enqueue({ key: 'a', keyHold: 'final' })
  expect(await enqueue({ key: 'a', keyHold: 'final' })).toEqual({ id, created: false })
  await finish(id)
  const second = await enqueue({ key: 'a', keyHold: 'final' })
  expect(second.created).toBe(true)
  await applyJobAction(store.db, 'cancel', second.id, at(0))
  expect((await enqueue({ key: 'a', keyHold: 'final' })).created).toBe(true)
})

test('a rival that commits the same key in the meantime is answered, not an empty hand', async () => {
  const rival = await caller()
  await rival.query('begin')
  const [theirs] = await enqueueJobs(runInCallerTransaction(rival, schemaNames()), [newJob({ key: 'a' })], at(0))
  const waiting = enqueue({ key: 'a' })
  await blocked()
  await rival.query('commit')
  expect(await waiting).toEqual({ id: theirs!.id, created: false })
})

test('a rival that rolls back leaves the key to the one who waited', async () => {
  const rival = await caller()
  await rival.query('begin')
  await enqueueJobs(runInCallerTransaction(rival, schemaNames()), [newJob({ key: 'a' })], at(0))
  const waiting = enqueue({ key: 'a' })
  await blocked()
  await rival.query('rollback')
  expect(await waiting).toMatchObject({ created: true })
  expect(await jobs()).toBe(1)
})

test('a holder that ends between the insert and the check makes room for a new job', async () => {
  const { id } = await enqueue({ key: 'a', keyHold: 'final' })
  let ended = false
  const run: Db['run'] = async (statement, values) => {
    if (statement.name === 'enqueue_find_holders' && !ended) {
      ended = true
      await applyJobAction(store.db, 'cancel', id, at(0))
    }
    return store.db.run(statement, values)
  }
  const [made] = await enqueueJobs(run, [newJob({ key: 'a', keyHold: 'final' })], at(0))
  expect(made).toMatchObject({ created: true })
  expect(made!.id).not.toBe(id)
})

test("in the caller's transaction: nothing before its commit, nothing after a rollback", async () => {
  const client = await caller()
  await client.query('begin')
  const [made] = await enqueueJobs(runInCallerTransaction(client, schemaNames()), [newJob()], at(0))
  expect(await store.job(made!.id)).toBeUndefined()
  await client.query('rollback')
  expect(await jobs()).toBe(0)
  await client.query('begin')
  const [kept] = await enqueueJobs(runInCallerTransaction(client, schemaNames()), [newJob()], at(0))
  await client.query('commit')
  expect(await store.job(kept!.id)).toMatchObject({ state: 'waiting' })
})

test('a time to run is kept, a delay counts from now, and a time in the past is now', async () => {
  const at5 = await enqueue({ runAt: at(5) })
  const delayed = await enqueue({ delayMs: 1500 })
  const past = await enqueue({ runAt: at(-86_400) })
  expect((await store.job(at5.id)).run_at).toEqual(at(5))
  expect((await store.job(delayed.id)).run_at).toEqual(at(1.5))
  expect((await store.job(past.id)).run_at).toEqual(at(0))
})

test('a delay of a fraction of a millisecond is kept to the microsecond', async () => {
  const { id } = await enqueue({ delayMs: 0.25 })
  expect(
    await store.sql(`select extract(microseconds from run_at)::int as us from retoma.job where id = $1`, [id]),
  ).toEqual([{ us: 250 }])
})

test('priority is the rank of what is new', async () => {
  for (const priority of [0, 4, 9]) {
    const { id } = await enqueue({ priority })
    expect((await store.job(id)).claim_rank).toBe(priority * 2 + 1)
  }
})

/** Resolves when some session waits for another's lock: an event of the database, so nothing has to be slept for. */
async function blocked(): Promise<void> {
  for (;;) {
    const waiting = await store.sql(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into retoma.job%'`,
    )
    if (waiting.length > 0) return
  }
}
