import pg from 'pg'
import { beforeEach, expect, test } from 'vitest'
import { claimJobs, lookAhead, releaseClaims } from '../../src/claiming/sql/claim.ts'
import type { Db } from '../../src/database/db.ts'
import { enqueueJobs } from '../../src/enqueue/enqueue.sql.ts'
import { until } from '../support/engine.ts'
import { at, newJob, storeForFile } from '../support/store.ts'

const store = storeForFile()
beforeEach(() => store.worker('w'))
const enqueue = async (...jobs: Parameters<typeof newJob>[0][]) =>
  (await enqueueJobs(store.db.run, jobs.map(newJob), at(0))).map(each => each.id)
const claim = async (want: number, given: { queue?: string; kinds?: string[]; worker?: string; now?: Date } = {}) => {
  const { queue = 'q', kinds = ['k'], worker = 'w', now = at(0) } = given
  return claimJobs(store.db, { wants: [{ queue, want }], kinds, worker }, now)
}
const ids = (claimed: { id: string }[]) => claimed.map(each => each.id)

test('a claim is a lease: a new attempt, this worker, and everything a handler needs', async () => {
  const [id] = await enqueue({ input: '{"a":[1]}', ref: 'doc-1', groupKey: 'ana' })
  expect(await claim(10)).toEqual([
    {
      id,
      attempt: 1,
      queue: 'q',
      kind: 'k',
      input: { a: [1] },
      failures: 0,
      crashes: 0,
      crash_suspicion: null,
      override: null,
      ref: 'doc-1',
      batch_id: null,
      group_key: 'ana',
      limit_key: '',
      input_bytes: expect.any(Number),
      input_marked: false,
      tries_for: null,
      claim_rank: 9,
      run_at: '2030-01-01 12:00:00',
      checkpoint_data: null,
      trace: null,
      version: null,
      started_ms: at(0).getTime(),
    },
  ])
  expect(await store.job(id!)).toMatchObject({ state: 'running', attempt: 1, worker_id: 'w', started_at: at(0) })
})

test('an input weighs what it takes in memory, however well the table compresses it', async () => {
  await enqueue({ input: JSON.stringify('x'.repeat(1_000_000)) })
  const [stored] = await store.sql<{ bytes: number }>(`select pg_column_size(input) as bytes from retoma.job`)
  expect(stored!.bytes).toBeLessThan(100_000)
  expect(await claim(1)).toMatchObject([{ input: 'x'.repeat(1_000_000), input_bytes: 1_000_002 }])
})

test('only kinds that were asked for are claimed', async () => {
  const [, mine] = await enqueue({ kind: 'theirs' }, { kind: 'mine' }, { kind: 'theirs' })
  expect(ids(await claim(10, { kinds: ['mine', 'unheard-of'] }))).toEqual([mine])
  expect(await claim(10, { kinds: [] })).toEqual([])
})

test('only the queue that was asked for is claimed from', async () => {
  const [, other] = await enqueue({ queue: 'q' }, { queue: 'other' })
  expect(ids(await claim(10, { queue: 'other' }))).toEqual([other])
})

test('nothing is claimed from a paused queue, and all of it once the pause is over', async () => {
  const made = await enqueue({}, {})
  await store.sql(`insert into retoma.queue (name, paused) values ('q', true)`)
  expect(await claim(10)).toEqual([])
  await store.sql(`update retoma.queue set paused = false`)
  expect(ids(await claim(10)).sort()).toEqual(made.sort())
})

test('a job is not claimed before its time, and is at its instant', async () => {
  const [id] = await enqueue({ delayMs: 5000 })
  expect(await claim(10, { now: new Date(at(5).getTime() - 1) })).toEqual([])
  expect(await lookAhead(store.db, ['q'], at(2))).toEqual({
    dueMs: 3000,
    counted: [],
    keyed: [],
    limited: [],
    seen: '2030-01-01 12:00:01.75',
    unblockSeq: {},
  })
  expect(ids(await claim(10, { now: at(5) }))).toEqual([id])
  expect(await lookAhead(store.db, ['q'], at(5))).toMatchObject({ dueMs: null, limited: [] })
})

test('no more than wanted are claimed, the first priorities first, and what comes first within one', async () => {
  const priorities = [9, 0, 4, 0, 9, 4]
  const made = await enqueue(...priorities.map(priority => ({ priority })))
  const [last, first, middle, second, lastToo, middleToo] = made
  expect(ids(await claim(3)).sort()).toEqual([first, second, middle].sort())
  expect(ids(await claim(2)).sort()).toEqual([middleToo, last].sort())
  expect(ids(await claim(10))).toEqual([lastToo])
})

test('one claim that takes less than a priority has takes its oldest', async () => {
  const [late] = await enqueueJobs(store.db.run, [newJob()], at(2))
  const [early] = await enqueueJobs(store.db.run, [newJob()], at(1))
  expect(ids(await claim(1, { now: at(3) }))).toEqual([early!.id])
  expect(ids(await claim(1, { now: at(3) }))).toEqual([late!.id])
})

test('what comes back overtakes what is new of the same priority, and nothing of a better one', async () => {
  const [back] = await enqueue({})
  await releaseClaims(store.db, 'w', await claim(1), at(60))
  const [, better] = await enqueue({ priority: 4 }, { priority: 3 })
  expect(ids(await claim(1, { now: at(60) }))).toEqual([better])
  expect(ids(await claim(1, { now: at(60) }))).toEqual([back])
})

test('a job is never claimed by two, however many claim at once', async () => {
  await store.putMany(400, 'waiting')
  const workers = Array.from({ length: 12 }, (_, i) => `w-${i}`)
  for (const worker of workers) await store.worker(worker)
  const pools = [store.db, store.another(), store.another(), store.another()]
  const claimed = await Promise.all(
    workers.map(async (worker, i) => {
      const mine: string[] = []
      for (;;) {
        const some = await claimJobs(
          pools[i % pools.length]!,
          { wants: [{ queue: 'q', want: 7 }], kinds: ['k'], worker },
          at(1),
        )
        if (some.length === 0) return mine
        mine.push(...ids(some))
      }
    }),
  )
  const all = claimed.flat()
  expect(all).toHaveLength(400)
  expect(new Set(all).size).toBe(400)
  expect(await store.sql(`select distinct attempt from retoma.job`)).toEqual([{ attempt: 1 }])
})

test('a claim that was never begun goes back by its fence alone, and costs nothing', async () => {
  const made = await enqueue({}, {})
  const [mine, theirs] = await claim(2)
  await store.sql(`update retoma.job set worker_id = 'other' where id = $1`, [theirs!.id])
  await releaseClaims(store.db, 'w', [mine!, theirs!], at(9))
  expect(await store.job(mine!.id)).toMatchObject({
    state: 'waiting',
    worker_id: null,
    failures: 0,
    restarts: 0,
    run_at: at(9),
  })
  // A claim that was given back is no start: what a person sees as attempts is attempt less uncounted_attempts.
  expect(await store.sql(`select attempt, uncounted_attempts from retoma.job where id = $1`, [mine!.id])).toEqual([
    { attempt: 1, uncounted_attempts: 1 },
  ])
  expect(await store.job(theirs!.id)).toMatchObject({ state: 'running', worker_id: 'other' })
  await releaseClaims(store.db, 'other', [{ id: theirs!.id, attempt: 7 }], at(9))
  expect(await store.job(theirs!.id)).toMatchObject({ state: 'running' })
  expect(made).toHaveLength(2)
})

test('microseconds are kept: of two jobs of one millisecond the earlier is first', async () => {
  const [early, late] = await enqueue({}, {})
  await store.sql(`update retoma.job set run_at = $2::timestamptz + interval '2 microseconds' where id = $1`, [
    early,
    at(0),
  ])
  await store.sql(`update retoma.job set run_at = $2::timestamptz + interval '1 microsecond' where id = $1`, [
    late,
    at(0),
  ])
  expect(ids(await claim(1, { now: at(1) }))).toEqual([late])
})

test('a worker that is dead or not there claims nothing', async () => {
  await enqueue({})
  expect(await claim(1, { worker: 'never-there' })).toEqual([])
  await store.sql(`update retoma.worker set dead_at = $1 where id = 'w'`, [at(0)])
  expect(await claim(1)).toEqual([])
  await store.worker('w2')
  expect(await claim(1, { worker: 'w2' })).toHaveLength(1)
})

test('claims are released in the order of their ids, as a cancel of their batch locks them', async () => {
  await store.putMany(20_000, 'succeeded')
  await store.sql('analyze retoma.job')
  const [first, second] = await enqueue({}, {})
  const claims = (await claim(2)).toSorted((a, b) => (a.id < b.id ? 1 : -1))
  expect(ids(claims)).toEqual([second, first])
  const rival = new pg.Client({ connectionString: store.url })
  await rival.connect()
  try {
    const lock = `select from retoma.job where id = $1 for update`
    await rival.query('begin')
    await rival.query(lock, [first])
    const back = releaseClaims(store.db, 'w', claims, at(1))
    const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until(async () => (await store.sql(waits)).length > 0)
    await rival.query(lock, [second])
    await rival.query('rollback')
    expect(await back).toEqual(new Set(['q']))
  } finally {
    await rival.end()
  }
})

test('a claim is atomic with its transaction: one whose connection is lost before the commit leaves the job as it was', async () => {
  await store.worker('other')
  const id = await store.put('waiting')
  const client = new pg.Client({ connectionString: store.url })
  client.on('error', () => {})
  await client.connect()
  await client.query('begin')
  const run = async (statement: { text: string }, values: unknown[]) =>
    (await client.query(statement.text, values)).rows
  const wants = [{ queue: 'q', want: 1 }]
  const mine = await claimJobs({ run } as unknown as Db, { wants, kinds: ['k'], worker: 'w' }, at(1))
  expect(mine.map(each => each.id)).toEqual([id])
  // No other transaction sees the claim or waits for the claim: SKIP LOCKED skips the locked row.
  expect(await store.job(id)).toMatchObject({ state: 'waiting', attempt: 0, worker_id: null })
  expect(await claimJobs(store.db, { wants, kinds: ['k'], worker: 'other' }, at(1))).toEqual([])
  const { rows } = await client.query('select pg_backend_pid() as pid')
  await store.sql(`select pg_terminate_backend($1, 60000)`, [rows[0].pid])
  expect(await store.job(id)).toMatchObject({ state: 'waiting', attempt: 0, worker_id: null })
  expect(await claimJobs(store.db, { wants, kinds: ['k'], worker: 'other' }, at(1))).toMatchObject([{ id, attempt: 1 }])
})

test('a claim passes by rows that another has locked, and does not wait for them', async () => {
  const ids = await store.putMany(5, 'waiting')
  const client = new pg.Client({ connectionString: store.url })
  await client.connect()
  try {
    await client.query('begin')
    await client.query(`select from retoma.job where id = any ($1::bigint[]) for update`, [ids.slice(0, 2)])
    const claimed = await claimJobs(store.db, { wants: [{ queue: 'q', want: 5 }], kinds: ['k'], worker: 'w' }, at(1))
    expect(claimed.map(each => each.id).sort()).toEqual(ids.slice(2).sort())
  } finally {
    await client.end()
  }
})
