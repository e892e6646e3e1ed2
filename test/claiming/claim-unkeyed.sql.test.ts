/** The claim of queues with limits and without keys: the same jobs as the claim by lanes, in the same order, counted in the same way. */
import fc from 'fast-check'
import pg from 'pg'
import { beforeEach, expect, test } from 'vitest'
import { claimLimited } from '../../src/claiming/sql/claim-limited.ts'
import { claimUnkeyed } from '../../src/claiming/sql/claim-unkeyed.ts'
import { type Db, runOn } from '../../src/database/db.ts'
import { enqueueJobs } from '../../src/enqueue/enqueue.sql.ts'
import { seconds } from '../../src/lib/values/duration.ts'
import type { QueueLimits } from '../../src/limits/model/queue-limits.ts'
import { changeQueueLimits, pauseQueue, saveLimits } from '../../src/limits/sql/queue.ts'
import { settleJobs } from '../../src/worker/sql/settle.ts'
import { at, newJob, storeForFile } from '../support/store.ts'

const store = storeForFile()
beforeEach(() => store.worker('w'))

const limit = (limits: QueueLimits) => saveLimits(store.db, { q: limits }, at(0))
const enqueue = async (...jobs: Parameters<typeof newJob>[0][]) =>
  (await enqueueJobs(store.db.run, jobs.map(newJob), at(0))).map(each => each.id)
const asked = (want: number) => ({ queue: 'q', want, worker: 'w', kinds: ['k'] })
const claim = (want: number, now: Date | null = at(0)) => claimUnkeyed(store.db, asked(want), now)
const claimIds = async (...given: Parameters<typeof claim>) => (await claim(...given)).claimed.map(each => each.id)
const counters = {
  name: 'test_counters',
  text: `select group_key as key, running, hit_at, hit_n from retoma.limit_counter order by 1`,
}

test('random jobs, limits and outcomes give the same claims as the claim by lanes', async () => {
  const job = fc.record({
    priority: fc.nat(9),
    delayMs: fc.constantFrom(0, 0, 0, 3000, 8000),
    kind: fc.constantFrom('k', 'k', 'k', 'other'),
    groupKey: fc.constantFrom('a', null),
  })
  const limits = fc.record(
    {
      concurrency: fc.integer({ min: 1, max: 8 }),
      rate: fc.record({ limit: fc.integer({ min: 1, max: 6 }), per: fc.constant(seconds(4)) }),
    },
    { requiredKeys: [] },
  )
  const step = fc.record({
    jobs: fc.array(job, { maxLength: 6 }),
    want: fc.integer({ min: 1, max: 6 }),
    ends: fc.nat(4),
    fails: fc.boolean(),
    limits: fc.option(
      limits.filter(each => Object.keys(each).length > 0),
      { freq: 4 },
    ),
  })
  await limit({ concurrency: 3 })
  const running: { id: string; attempt: number }[] = []
  let claimed = 0
  for (const [n, each] of fc.sample(step, { seed: 3, numRuns: 60 }).entries()) {
    const now = at(n)
    if (each.limits !== null) await changeQueueLimits(store.db, 'q', each.limits as QueueLimits, now)
    await enqueueJobs(store.db.run, each.jobs.map(newJob), now)
    const factsOf = async ({ claimed, allowed, rateMs }: typeof answer, db: Pick<Db, 'run'>) => ({
      ids: claimed.map(job => job.id).sort(),
      allowed,
      rateMs,
      counters: await db.run(counters, []),
    })
    const byLanes = await undone(async db =>
      factsOf(await claimLimited(db, { ...asked(each.want), lanes: 100 }, now), db),
    )
    const answer = await claim(each.want, now)
    expect(await factsOf(answer, store.db)).toEqual(byLanes)
    claimed += answer.claimed.length
    running.push(...answer.claimed)
    const ended = running.splice(0, each.ends)
    const outcome = each.fails
      ? { state: 'waiting' as const, failure: null, delay: seconds(0) }
      : { state: 'succeeded' as const, result: '1' }
    await settleJobs(
      store.db,
      'w',
      ended.map(({ id, attempt }) => ({ id, attempt, outcome })),
      now,
    )
  }
  expect(claimed).toBeGreaterThan(50)
})

/** Runs `work` in a transaction that is rolled back. */
async function undone<T>(work: (db: Db) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: store.url })
  await client.connect()
  try {
    await client.query('begin; set local enable_seqscan = off')
    return await work({ ...store.db, run: runOn(client) })
  } finally {
    await client.end()
  }
}

test('it tells when the first later job is due, and when the rate allows the next start', async () => {
  await limit({ rate: { limit: 2, per: seconds(10) } })
  const [, now] = await enqueue({ delayMs: 5000, priority: 0 }, { priority: 9 }, { delayMs: 7000, priority: 9 })
  expect(await claim(10)).toMatchObject({ claimed: [{ id: now }], nextMs: 5000, rateMs: null })
  expect(await claim(10, at(6))).toMatchObject({ claimed: [{}], allowed: 1, nextMs: 4000, rateMs: 4000 })
  expect(await claim(10, at(7))).toMatchObject({ claimed: [], allowed: 0, nextMs: 3000, rateMs: 3000 })
})

test('a paused queue, a dead worker and a queue with keys give no job', async () => {
  await limit({ concurrency: 5 })
  const made = await enqueue({}, {})
  await pauseQueue(store.db, 'q', true, at(0))
  expect(await claim(5)).toMatchObject({ claimed: [], allowed: 0, nextMs: null, rateMs: null })
  await pauseQueue(store.db, 'q', false, at(0))
  await changeQueueLimits(store.db, 'q', { concurrency: 5, fair: 'group' }, at(0))
  expect(await claimIds(5)).toEqual([])
  await changeQueueLimits(store.db, 'q', { concurrency: 5 }, at(0))
  await store.sql(`update retoma.worker set dead_at = now()`)
  expect(await claimIds(5)).toEqual([])
  await store.sql(`update retoma.worker set dead_at = null`)
  expect((await claimIds(5)).sort()).toEqual(made)
})

test('jobs that another transaction has locked are passed by', async () => {
  await limit({ concurrency: 10 })
  const made = await enqueue({}, {}, {})
  const rival = new pg.Client({ connectionString: store.url })
  await rival.connect()
  try {
    await rival.query('begin')
    await rival.query(`select from retoma.job where id = $1 for update`, [made[0]])
    expect((await claimIds(10)).sort()).toEqual(made.slice(1))
  } finally {
    await rival.end()
  }
  expect(await claimIds(10)).toEqual([made[0]])
})

test('claimers at once let no more through than the limit allows', async () => {
  await limit({ concurrency: 5 })
  await enqueue(...Array.from({ length: 100 }, () => ({})))
  const pools = Array.from({ length: 4 }, () => store.another())
  const claims = await Promise.all(pools.flatMap(db => [3, 3, 3].map(want => claimUnkeyed(db, asked(want), at(0)))))
  expect(claims.flatMap(each => each.claimed)).toHaveLength(5)
  expect(await store.db.run(counters, [])).toMatchObject([{ key: '', running: 5 }])
})
