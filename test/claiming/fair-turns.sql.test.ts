/** Fair turns: how the starts of a queue are shared between its groups or batches, and that limits and priorities hold beside them. */
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { LimitedClaimer } from '../../src/claiming/limited-claimer.ts'
import { type ClaimedJob, releaseClaims } from '../../src/claiming/sql/claim.ts'
import { enqueueJobs, enqueueUniform } from '../../src/enqueue/enqueue.sql.ts'
import type { QueueLimits } from '../../src/limits/model/queue-limits.ts'
import { recountLimits } from '../../src/limits/sql/limit-counters.ts'
import { relimitJobs, saveLimits } from '../../src/limits/sql/queue.ts'
import { VirtualClock } from '../../src/testing/index.ts'
import { settleJobs } from '../../src/worker/sql/settle.ts'
import { at, newJob, storeForFile } from '../support/store.ts'

const store = storeForFile()
beforeEach(() => store.worker('w'))

const limit = (limits: QueueLimits) => saveLimits(store.db, { q: limits }, at(0))
const enqueue = async (...jobs: Parameters<typeof newJob>[0][]) =>
  (await enqueueJobs(store.db.run, jobs.map(newJob), at(0))).map(each => each.id)
const many = (count: number, groupKey: string, priority = 4) =>
  enqueueUniform(
    store.db.run,
    { queue: 'q', kind: 'k', priority, runAt: null, delayMs: 0, groupKey },
    Array.from({ length: count }, () => '{}'),
    at(0),
  )

/** Claims as one worker: the turns continue from claim to claim. */
function worker(now = at(10)) {
  const clock = new VirtualClock(now)
  const claimer = new LimitedClaimer(store.db, clock, { kinds: ['k'] })
  return async (want: number): Promise<ClaimedJob[]> => {
    const claimed: ClaimedJob[] = []
    await claimer.claim('w', { queue: 'q', want, keyed: true }, jobs => void claimed.push(...jobs))
    return claimed
  }
}

const settle = (jobs: readonly ClaimedJob[]) =>
  settleJobs(
    store.db,
    'w',
    jobs.map(({ id, attempt }) => ({ id, attempt, outcome: { state: 'succeeded', result: '1' } })),
    at(10),
  )

const countBy = (jobs: readonly ClaimedJob[], name: 'limit_key' | 'claim_rank' = 'limit_key') => {
  const counts: Record<string, number> = {}
  for (const job of jobs) counts[job[name]] = (counts[job[name]] ?? 0) + 1
  return counts
}

/** The next new worker begins with the first key. */
const fromTheFirst = () => store.sql(`update retoma.queue set turn_keys = '{}'`)

/** The keys of so many starts, one after the other. */
async function starts(claim: (want: number) => Promise<ClaimedJob[]>, count: number, want = 1): Promise<string[]> {
  const keys: string[] = []
  while (keys.length < count) {
    const jobs = await claim(want)
    if (jobs.length === 0) break
    // The jobs of one claim come in any order.
    keys.push(...jobs.map(job => job.limit_key).sort())
    await settle(jobs)
  }
  return keys
}

test('the ten jobs of a group are in the first claim, however many jobs of another group wait before', async () => {
  await limit({ fair: 'group' })
  await many(3000, 'big')
  await many(10, 'small')
  expect(countBy(await worker()(20))).toEqual({ big: 10, small: 10 })
})

test('without fair turns jobs start in the order of their time, whatever their group', async () => {
  await limit({ concurrency: 100 })
  await many(30, 'big')
  await many(10, 'small')
  const claimed = await worker()(20)
  expect(claimed.every(job => job.group_key === 'big')).toBe(true)
})

test('turns continue where the last claim of the worker stopped: with one slot the groups alternate', async () => {
  await limit({ fair: 'group' })
  for (const group of ['a', 'b', 'c']) await many(10, group)
  expect((await starts(worker(), 9)).join('')).toBe('abcabcabc')
})

test('a group starts as many jobs in its turn as its weight, with few slots and with many', async () => {
  await limit({ fair: 'group', weights: { b: 3 } })
  for (const group of ['a', 'b', 'c']) await many(60, group)
  expect((await starts(worker(), 15)).join('')).toBe('abbbcabbbcabbbc')
  await fromTheFirst()
  expect((await starts(worker(), 12, 2)).join('')).toBe('abbbacbbbcab')
  expect(countBy(await worker()(50))).toEqual({ a: 10, b: 30, c: 10 })
})

test('weights hold for claims of any size, also if a claim ends within a turn', async () => {
  await limit({ fair: 'group', weights: { b: 3, c: 2 } })
  for (const want of [3, 7, 10]) {
    await store.sql(`truncate retoma.job cascade`)
    await fromTheFirst()
    for (const group of ['a', 'b', 'c']) await many(200, group)
    const counts = { a: 0, b: 0, c: 0 }
    for (const key of await starts(worker(), 210, want)) counts[key as 'a']++
    for (const [key, share] of [['a', 35], ['b', 105], ['c', 70]] as const) // biome-ignore format: one row
      expect(Math.abs(counts[key] - share), `${key} of claims of ${want}`).toBeLessThanOrEqual(want)
  }
})

test('a changed weight counts from the next claim on', async () => {
  await limit({ fair: 'group' })
  for (const group of ['a', 'b']) await many(50, group)
  const claim = worker()
  expect(countBy(await claim(20))).toEqual({ a: 10, b: 10 })
  await limit({ fair: 'group', weights: { a: 4 } })
  expect(countBy(await claim(20))).toEqual({ a: 16, b: 4 })
})

test('places that a group leaves unused go to other groups of the same priority, and only then to the next priority', async () => {
  await limit({ fair: 'group' })
  await many(100, 'a')
  await many(3, 'b')
  await many(100, 'c', 9)
  expect(countBy(await worker()(50))).toEqual({ a: 47, b: 3 })
  expect(countBy(await worker()(60))).toEqual({ a: 53, c: 7 })
})

test('a better priority starts first, and groups take turns within each priority', async () => {
  await limit({ fair: 'group' })
  await many(20, 'a', 5)
  await many(2, 'b', 5)
  await many(3, 'c', 0)
  await many(20, 'a', 0)
  expect((await starts(worker(), 10)).join('')).toBe('acacacaaaa')
  await many(1, 'b', 0)
  await fromTheFirst()
  expect((await starts(worker(), 16)).join('')).toBe('abaaaaaaaaaaaaab')
})

test('jobs that come back do not put their group before the others', async () => {
  await limit({ fair: 'group' })
  await many(10, 'a')
  await many(10, 'b')
  const claim = worker()
  const back = (await claim(10)).filter(job => job.limit_key === 'a')
  await releaseClaims(store.db, 'w', back, at(10))
  expect(countBy(await claim(6))).toEqual({ a: 3, b: 3 })
  const [mine] = back
  expect((await store.job(mine!.id)).state).toBe('running')
})

test('a group that was idle has no more turns than others when its jobs come', async () => {
  await limit({ fair: 'group' })
  await many(400, 'a')
  const claim = worker()
  expect(await starts(claim, 100, 10)).toHaveLength(100)
  await many(100, 'b')
  expect(countBy(await claim(40))).toEqual({ a: 20, b: 20 })
})

test('jobs for later take no turn', async () => {
  await limit({ fair: 'group' })
  await many(50, 'b')
  await enqueue(...Array.from({ length: 20 }, (_, i) => ({ groupKey: i % 2 ? 'a' : 'c', delayMs: 60_000 })))
  expect(countBy(await worker()(20))).toEqual({ b: 20 })
})

test('each of several workers shares its starts, so that together they do', async () => {
  await limit({ fair: 'group' })
  for (const group of ['a', 'b', 'c', 'd']) await many(100, group)
  const workers = [worker(), worker(), worker()]
  const keys: string[] = []
  for (let i = 0; i < 40; i++) keys.push(...(await Promise.all(workers.map(claim => starts(claim, 1)))).flat())
  for (const group of ['a', 'b', 'c', 'd']) expect(keys.filter(key => key === group)).toHaveLength(30)
})

test('workers that live for one job each take turns from one to the next', async () => {
  await limit({ fair: 'group' })
  for (const group of ['a', 'b', 'c']) await many(10, group)
  const keys: string[] = []
  for (let i = 0; i < 6; i++) keys.push(...(await starts(worker(), 1)))
  expect(keys.join('')).toBe('abcabc')
})

const batch = (id: number, name: string, blocked = false) =>
  store.sql(
    `insert into retoma.batch (id, name, kind, queue, policy, priority, state, claims_blocked, created_at)
     values ($1, $2, 'k', 'q', '{}', 4, $3, $4, $5)`,
    [id, name, blocked ? 'paused' : 'running', blocked, at(0)],
  )
const item = async (ids: readonly string[], id: number) => {
  await store.sql(`update retoma.job set batch_id = $1 where id = any ($2::bigint[])`, [id, ids])
  await relimitJobs(store.db, at(0))
}

test('batches take turns by the weight of their name, and jobs without a batch have one turn together', async () => {
  await limit({ fair: 'batch', weights: { urgent: 2 } })
  await batch(901, 'nightly')
  await batch(902, 'urgent')
  await item(await many(100, 'g'), 901)
  await item(await many(100, 'g'), 902)
  await many(100, 'g')
  expect(countBy(await worker()(40))).toEqual({ '': 10, 901: 10, 902: 20 })
})

test('the weight of a batch counts before the weight of its name', async () => {
  await limit({ fair: 'batch', weights: { nightly: 2 } })
  for (const id of [901, 902, 903]) await batch(id, 'nightly')
  await store.sql(`update retoma.batch set policy = '{"weight":7}' where id = 903`)
  for (const id of [901, 902, 903]) await item(await many(100, 'g'), id)
  expect(countBy(await worker()(22))).toEqual({ 901: 4, 902: 4, 903: 14 })
})

test('a paused batch takes no turn', async () => {
  await limit({ fair: 'batch' })
  await batch(901, 'a', true)
  await batch(902, 'b')
  await item(await many(50, 'g'), 901)
  await item(await many(50, 'g'), 902)
  expect(countBy(await worker()(20))).toEqual({ 902: 20 })
})

test('fair turns that come take in what waits already, and the order of time is back when they go', async () => {
  await many(20, 'big')
  await many(5, 'small')
  await limit({ fair: 'group' })
  await relimitJobs(store.db, at(1))
  expect(countBy(await worker()(4))).toEqual({ big: 2, small: 2 })
  await limit({ concurrency: 100 })
  await relimitJobs(store.db, at(1))
  expect((await worker()(10)).every(job => job.group_key === 'big')).toBe(true)
})

test('keys that are no batches, from before a change, run all the same', async () => {
  await limit({ fair: 'group' })
  await many(5, 'not a number')
  await limit({ fair: 'batch', weights: { any: 2 } })
  expect(await worker()(10)).toHaveLength(5)
})

test('a named group has its own limits, and every other group the limits of each group', async () => {
  await limit({ perGroup: { concurrency: 2, 'tenant-7': { concurrency: 5 } } })
  for (const group of ['tenant-7', 'tenant-8']) await many(20, group)
  const claim = worker()
  const first = await claim(20)
  expect(countBy(first)).toEqual({ 'tenant-7': 5, 'tenant-8': 2 })
  expect(await claim(20)).toEqual([])
  expect(await recountLimits(store.db, at(0))).toEqual([])
  await settle(first)
  expect(await store.sql(`select group_key as key, running from retoma.limit_counter where running <> 0`)).toEqual([])
  await limit({ perGroup: { concurrency: 2, 'tenant-7': { concurrency: 1 } } })
  expect(countBy(await claim(20))).toEqual({ 'tenant-7': 1, 'tenant-8': 2 })
})

test('a group with a name alone is limited; the others are not', async () => {
  await limit({ perGroup: { b: { rate: { limit: 3, per: 10_000 as never } } } })
  for (const group of ['a', 'b', 'rate']) await many(10, group)
  expect(countBy(await worker()(40))).toEqual({ a: 10, b: 3, rate: 10 })
  expect(countBy(await worker(at(15))(40))).toEqual({})
  expect(countBy(await worker(at(21))(40))).toEqual({ b: 3 })
})

test('a limit that a group gets while its jobs run counts the running jobs after the next recount', async () => {
  await limit({ perGroup: { b: { concurrency: 1 } } })
  await many(10, 'a')
  await worker()(3)
  await limit({ perGroup: { a: { concurrency: 4 } } })
  expect(await worker()(1)).toHaveLength(1)
  await recountLimits(store.db, at(0))
  expect(countBy(await worker()(10))).toEqual({})
})

test('whatever waits in whatever priorities: no limit is exceeded, no place stays free, and better priorities start first', async () => {
  const group = fc.constantFrom('a', 'b', 'c', 'd')
  const jobs = fc.array(fc.record({ groupKey: group, priority: fc.constantFrom(0, 4, 9) }), {
    minLength: 1,
    maxLength: 40,
  })
  const caps = fc.dictionary(group, fc.integer({ min: 1, max: 5 }), { maxKeys: 4 })
  await fc.assert(
    fc.asyncProperty(jobs, caps, fc.integer({ min: 1, max: 12 }), fc.boolean(), async (given, cap, want, fair) => {
      await store.sql(`truncate retoma.job, retoma.limit_counter, retoma.queue cascade`)
      const named = Object.fromEntries(Object.entries(cap).map(([key, concurrency]) => [key, { concurrency }]))
      await limit({ perGroup: { ...(fair ? {} : { concurrency: 2 }), ...named }, fair: 'group' })
      await enqueue(...given)
      const claim = worker()
      const running: ClaimedJob[] = []
      const capOf = (key: string) => cap[key] ?? (fair ? Number.POSITIVE_INFINITY : 2)
      for (;;) {
        const claimed = await claim(want)
        if (claimed.length === 0) break
        running.push(...claimed)
        for (const [key, count] of Object.entries(countBy(running))) expect(count).toBeLessThanOrEqual(capOf(key))
        const waiting = await store.sql<{ key: string; claim_rank: number }>(
          `select limit_key as key, min(claim_rank)::int as claim_rank from retoma.job where state = 'waiting' group by 1`,
        )
        const left = waiting.filter(each => (countBy(running)[each.key] ?? 0) < capOf(each.key))
        if (claimed.length < want) expect(left).toEqual([])
        // A key that was below its limit all the time has no better job left than the worst that started.
        const worst = Math.max(...claimed.map(job => job.claim_rank))
        for (const each of left) expect(each.claim_rank).toBeGreaterThanOrEqual(worst)
      }
      const most = (key: string) => Math.min(capOf(key), given.filter(job => job.groupKey === key).length)
      expect(running).toHaveLength(
        [...new Set(given.map(job => job.groupKey))].reduce((sum, key) => sum + most(key), 0),
      )
      await settle(running)
      expect(await store.sql(`select from retoma.limit_counter where running <> 0`)).toEqual([])
    }),
    { numRuns: 12 },
  )
})
