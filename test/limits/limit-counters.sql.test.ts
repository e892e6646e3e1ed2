/** Limits of a queue and of its groups: what the statements let through, and that every way out of a lease is counted. */
import fc from 'fast-check'
import pg from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import { claimJobs, releaseClaims } from '../../src/claiming/sql/claim.ts'
import { claimLimited } from '../../src/claiming/sql/claim-limited.ts'
import { claimUnkeyed } from '../../src/claiming/sql/claim-unkeyed.ts'
import { enqueueJobs, enqueueUniform } from '../../src/enqueue/enqueue.sql.ts'
import { groupHasConcurrency } from '../../src/jobs/sql/group-limits.ts'
import { applyJobAction } from '../../src/jobs/sql/job-actions.ts'
import { minutes, seconds } from '../../src/lib/values/duration.ts'
import type { QueueLimits } from '../../src/limits/model/queue-limits.ts'
import { addLimitCounters, recountLimits } from '../../src/limits/sql/limit-counters.ts'
import { changeQueueLimits, relimitJobs, saveLimits } from '../../src/limits/sql/queue.ts'
import { pruneExpiredRows } from '../../src/maintenance/sql/expired-rows.ts'
import { recoverOrphans } from '../../src/recovery/sql/recover-jobs-of-dead-worker.ts'
import { settleJobs } from '../../src/worker/sql/settle.ts'
import { at, newJob, storeForFile } from '../support/store.ts'

const store = storeForFile()
beforeEach(() => store.worker('w'))

const limit = (limits: QueueLimits) => saveLimits(store.db, { q: limits }, at(0))
const enqueue = async (...jobs: Parameters<typeof newJob>[0][]) =>
  (await enqueueJobs(store.db.run, jobs.map(newJob), at(0))).map(each => each.id)
const claim = (want: number, given: { now?: Date; kinds?: string[]; worker?: string; lanes?: number } = {}) => {
  const { now = at(0), kinds = ['k'], worker = 'w', lanes = 100 } = given
  return claimLimited(store.db, { queue: 'q', want, worker, kinds, lanes }, now)
}
const claimIds = async (...given: Parameters<typeof claim>) => (await claim(...given)).claimed.map(each => each.id)
const gates = () =>
  store.sql<{ key: string; running: number }>(`select group_key as key, running from retoma.limit_counter order by 1`)
const settle = (ids: string[], attempt = 1, now = at(0)) =>
  settleJobs(
    store.db,
    'w',
    ids.map(id => ({ id, attempt, outcome: { state: 'succeeded', result: '1' } })),
    now,
  )

test('a queue with a limit runs no more at once than it says, and the next as soon as one has ended', async () => {
  await limit({ concurrency: 2 })
  const made = await enqueue({}, {}, {})
  const first = await claimIds(10)
  expect(first).toHaveLength(2)
  expect(await claimIds(10)).toEqual([])
  expect(await gates()).toEqual([{ key: '', running: 2 }])
  await settle(first.slice(0, 1))
  expect(await claimIds(10)).toEqual([made[2]])
  expect(await gates()).toEqual([{ key: '', running: 2 }])
})

test('priority counts in a queue with a limit, whatever groups its jobs are of', async () => {
  await limit({ concurrency: 1 })
  const made = await enqueue(
    { groupKey: 'a', priority: 9 },
    { groupKey: 'b', priority: 0 },
    { groupKey: 'a', priority: 4 },
  )
  for (const next of [made[1]!, made[2]!, made[0]!]) {
    expect(await claimIds(10)).toEqual([next])
    await settle([next])
  }
})

test('each group has its own limit, and the queue one over all', async () => {
  await limit({ concurrency: 5, perGroup: { concurrency: 2 } })
  await addLimitCounters(store.db, 'q', ['a', 'b', 'c'], at(0))
  await enqueue(...['a', 'a', 'a', 'b', 'b', 'b', 'c', 'c', 'c'].map(groupKey => ({ groupKey })))
  const { claimed } = await claim(10)
  const count = (key: string) => claimed.filter(each => each.limit_key === key).length
  expect([count('a'), count('b'), count('c')]).toEqual([2, 2, 1])
  expect(await gates()).toEqual([
    { key: '', running: 5 },
    { key: 'a', running: 2 },
    { key: 'b', running: 2 },
    { key: 'c', running: 1 },
  ])
})

test('a job without a group is not limited by what each group may', async () => {
  await limit({ perGroup: { concurrency: 1 } })
  await enqueue({}, {}, {}, { groupKey: 'a' }, { groupKey: 'a' })
  const first = await claim(10)
  expect(first.claimed).toHaveLength(3)
  expect(first.missing).toEqual(['a'])
  await addLimitCounters(store.db, 'q', first.missing, at(0))
  expect(await claimIds(10)).toHaveLength(1)
  expect(await claimIds(10)).toEqual([])
})

test('in any stretch as long as a rate says no more start than it allows, and it tells when the next may', async () => {
  await limit({ rate: { limit: 2, per: minutes(1) } })
  await enqueue({}, {}, {}, {}, {})
  expect(await claimIds(1, { now: at(0) })).toHaveLength(1)
  expect(await claimIds(5, { now: at(10) })).toHaveLength(1)
  const full = await claim(5, { now: at(59) })
  expect(full).toMatchObject({ claimed: [], allowed: 0, nextMs: 1000 })
  expect(await claimIds(5, { now: at(60) })).toHaveLength(1)
  expect(await claim(5, { now: at(60) })).toMatchObject({ claimed: [], nextMs: 10_000 })
  expect(await claimIds(5, { now: at(70) })).toHaveLength(1)
})

test('a rate counts starts, not ends, and one given back keeps its start', async () => {
  await limit({ rate: { limit: 1, per: minutes(1) } })
  const [id] = await enqueue({}, {})
  const { claimed } = await claim(1)
  await releaseClaims(store.db, 'w', claimed, at(1))
  expect(await claimIds(1, { now: at(2) })).toEqual([])
  expect(await claimIds(1, { now: at(60) })).toEqual([id])
})

test('each group has its own rate', async () => {
  await limit({ perGroup: { rate: { limit: 1, per: seconds(10) } } })
  await addLimitCounters(store.db, 'q', ['a', 'b'], at(0))
  await enqueue(...['a', 'a', 'b', 'b'].map(groupKey => ({ groupKey })))
  expect((await claim(10)).claimed.map(each => each.limit_key).sort()).toEqual(['a', 'b'])
  expect(await claim(10, { now: at(4) })).toMatchObject({ claimed: [], nextMs: 6000 })
  expect((await claim(10, { now: at(10) })).claimed).toHaveLength(2)
})

test('a high rate is never exceeded in any stretch, though its row holds at most 257 instants', async () => {
  const [allowed, per] = [1000, 10_000]
  await limit({ rate: { limit: allowed, per: seconds(10) } })
  await enqueueUniform(
    store.db.run,
    { queue: 'q', kind: 'k', priority: 4, runAt: null, delayMs: 0, groupKey: null },
    Array.from({ length: 5000 }, () => '{}'),
    at(0),
  )
  const starts: number[] = []
  for (let ms = 0; ms < 30_000; ms += 97) {
    const { claimed } = await claim(1 + (ms % 31), { now: new Date(at(0).getTime() + ms) })
    for (const _ of claimed) starts.push(ms)
  }
  for (const [i, ms] of starts.entries()) {
    const [first] = [starts[i - allowed]]
    if (first !== undefined) expect(ms - first).toBeGreaterThanOrEqual(per)
  }
  expect(starts.length).toBeGreaterThan(2.5 * allowed)
  const [row] = await store.sql<{ n: number }>(`select cardinality(hit_at) as n from retoma.limit_counter`)
  expect(row!.n).toBeLessThanOrEqual(257)
})

test('many claims within one part of the time are noted at its end, and not beyond', async () => {
  await limit({ rate: { limit: 600, per: seconds(2) } })
  await enqueue(...Array.from({ length: 120 }, () => ({})))
  for (let i = 0; i < 30; i++) {
    const now = new Date(at(0).getTime() + i * 3)
    for (let times = 0; times < 4; times++) await claim(1, { now })
    const [row] = await store.sql<{ late: number }>(
      `select extract(epoch from hit_at[cardinality(hit_at)] - $1)::float8 * 1000 as late from retoma.limit_counter`,
      [now],
    )
    expect(row!.late).toBeLessThan(2000 / 256 + 0.01)
  }
})

test('eight claimers at once let no more through than the limits allow', async () => {
  await limit({ concurrency: 10, perGroup: { concurrency: 2 } })
  const keys = Array.from({ length: 8 }, (_, i) => `g${i}`)
  await addLimitCounters(store.db, 'q', keys, at(0))
  await enqueue(...Array.from({ length: 400 }, (_, i) => ({ groupKey: keys[i % 8]! })))
  const pools = Array.from({ length: 8 }, () => store.another())
  const running = new Map<string, number>()
  let [most, mostOfOne, ended] = [0, 0, 0]
  const work = async (db: (typeof pools)[number]) => {
    while (ended < 400) {
      const given = { queue: 'q', want: 3, worker: 'w', kinds: ['k'], lanes: 100 }
      const { claimed } = await claimLimited(db, given, at(0))
      for (const { limit_key } of claimed) running.set(limit_key, (running.get(limit_key) ?? 0) + 1)
      mostOfOne = Math.max(mostOfOne, ...running.values())
      most = Math.max(
        most,
        [...running.values()].reduce((a, b) => a + b, 0),
      )
      await new Promise(resolve => setImmediate(resolve))
      for (const { limit_key } of claimed) running.set(limit_key, running.get(limit_key)! - 1)
      const outcomes = claimed.map(({ id, attempt }) => ({
        id,
        attempt,
        outcome: { state: 'succeeded' as const, result: '1' },
      }))
      const { size } = await settleJobs(db, 'w', outcomes, at(0))
      ended += size
    }
  }
  await Promise.all(pools.map(work))
  expect({ most: most <= 10, mostOfOne: mostOfOne <= 2 }).toEqual({ most: true, mostOfOne: true })
  expect((await gates()).every(gate => gate.running === 0)).toBe(true)
})

describe('every way out of a lease is counted', () => {
  const ways: Record<string, (id: string) => Promise<unknown>> = {
    settle: id => settle([id]),
    retry: id =>
      settleJobs(
        store.db,
        'w',
        [{ id, attempt: 1, outcome: { state: 'waiting', failure: null, delay: seconds(0) } }],
        at(0),
      ),
    release: id => settleJobs(store.db, 'w', [{ id, attempt: 1, outcome: { state: 'released' } }], at(0)),
    'give back': id => releaseClaims(store.db, 'w', [{ id, attempt: 1 }], at(0)),
    cancel: id => applyJobAction(store.db, 'cancel', id, at(0)),
    recover: async () => {
      await store.sql(`update retoma.worker set dead_at = now()`)
      await recoverOrphans(store.db, 10, at(0))
    },
  }
  test.each(Object.entries(ways))('%s', async (_, way) => {
    await limit({ concurrency: 3, perGroup: { concurrency: 3 } })
    await addLimitCounters(store.db, 'q', ['a'], at(0))
    await enqueue({ groupKey: 'a' })
    const [id] = await claimIds(1)
    expect(await gates()).toEqual([
      { key: '', running: 1 },
      { key: 'a', running: 1 },
    ])
    await way(id!)
    expect(await gates()).toEqual([
      { key: '', running: 0 },
      { key: 'a', running: 0 },
    ])
    await way(id!)
    expect(await gates()).toEqual([
      { key: '', running: 0 },
      { key: 'a', running: 0 },
    ])
  })

  test('a waiting job that is cancelled has passed no gate', async () => {
    await limit({ concurrency: 3 })
    const [, waiting] = await enqueue({}, {})
    await claimIds(1)
    await applyJobAction(store.db, 'cancel', waiting!, at(0))
    expect(await gates()).toEqual([{ key: '', running: 1 }])
  })
})

test('the open way takes nothing of a queue with limits, the gated way nothing of one that is paused or has none', async () => {
  await enqueue({})
  await limit({ concurrency: 1 })
  await enqueue({})
  expect(await claimJobs(store.db, { wants: [{ queue: 'q', want: 1 }], kinds: ['k'], worker: 'w' }, at(0))).toEqual([])
  await store.sql(`update retoma.queue set paused = true`)
  expect(await claimIds(1)).toEqual([])
  await store.sql(`update retoma.queue set paused = false, limited = false`)
  expect(await claimIds(1)).toEqual([])
})

test('a worker that was declared dead gets nothing through a limit', async () => {
  await limit({ concurrency: 1 })
  await enqueue({})
  await store.sql(`update retoma.worker set dead_at = now()`)
  expect(await claimIds(1)).toEqual([])
  expect(await gates()).toEqual([{ key: '', running: 0 }])
})

test('jobs of kinds the worker has not are left, and take up no slot of their gate', async () => {
  await limit({ concurrency: 1 })
  const [, mine] = await enqueue({ kind: 'other' }, {})
  expect(await claimIds(1)).toEqual([mine])
})

test('what is for later is not claimed, and it tells when it falls due', async () => {
  await limit({ concurrency: 5 })
  const [later, , now] = await enqueue({ delayMs: 5000, priority: 0 }, { delayMs: 9000 }, { priority: 9 })
  const first = await claim(10, { now: at(1) })
  expect(first.claimed.map(each => each.id)).toEqual([now])
  expect(first.nextMs).toBe(4000)
  expect(await claimIds(10, { now: at(5) })).toEqual([later])
})

test('limits that come take in what waits already; limits that go let it out, ahead of every mark', async () => {
  const made = await enqueue({ groupKey: 'a' }, { groupKey: 'b' }, {})
  expect(await limit({ perGroup: { concurrency: 1 } })).toEqual(['q'])
  expect(await limit({ perGroup: { concurrency: 1 } })).toEqual([])
  const where = () => store.sql(`select limited, limit_key as key, run_at as "runAt" from retoma.job order by id`)
  await relimitJobs(store.db, at(1))
  expect(await where()).toEqual(['a', 'b', ''].map(key => ({ limited: true, key, runAt: at(0) })))
  await limit({ concurrency: 2 })
  await relimitJobs(store.db, at(2))
  expect(await where()).toEqual(made.map(() => ({ limited: true, key: '', runAt: at(0) })))
  await limit({ perGroup: { concurrency: 1 } })
  await relimitJobs(store.db, at(2))
  expect(await where()).toEqual(['a', 'b', ''].map(key => ({ limited: true, key, runAt: at(0) })))
  await limit({})
  await relimitJobs(store.db, at(3))
  expect(await where()).toEqual(made.map(() => ({ limited: false, key: '', runAt: at(3) })))
})

const change = (limits: QueueLimits, now = at(1)) => changeQueueLimits(store.db, 'q', limits, now)
const claimOpen = async (want: number) =>
  (await claimJobs(store.db, { wants: [{ queue: 'q', want }], kinds: ['k'], worker: 'w' }, at(0))).map(each => each.id)
const ofGroup = (groupKey: string, n: number) => Array.from({ length: n }, () => ({ groupKey }))

describe('jobs that run count in new limits from the first moment on', () => {
  const ways: Record<
    string,
    { before: QueueLimits; after: QueueLimits; counters: { key: string; running: number }[] }
  > = {
    'the first limit of a queue': {
      before: {},
      after: { concurrency: 2 },
      counters: [{ key: '', running: 4 }],
    },
    'the first limit of a group': {
      before: {},
      after: { perGroup: { a: { concurrency: 2 } } },
      counters: [
        { key: '', running: 0 },
        { key: 'a', running: 4 },
      ],
    },
    'the first limit per group of a queue with a limit': {
      before: { concurrency: 10 },
      after: { concurrency: 10, perGroup: { concurrency: 2 } },
      counters: [
        { key: '', running: 4 },
        { key: 'a', running: 4 },
      ],
    },
    'a concurrency beside a rate': {
      before: { rate: { limit: 100, per: seconds(1) } },
      after: { concurrency: 2 },
      counters: [{ key: '', running: 4 }],
    },
    'a limit per group after turns of batches': {
      before: { fair: 'batch' },
      after: { perGroup: { concurrency: 2 } },
      counters: [
        { key: '', running: 0 },
        { key: 'a', running: 4 },
      ],
    },
  }
  test.each(Object.entries(ways))('%s', async (_, { before, after, counters }) => {
    await limit(before)
    await enqueue(...ofGroup('a', 7))
    const running = [...(await claimOpen(4)), ...(await claimIds(4))]
    expect(running).toHaveLength(4)
    await change(after)
    expect(await gates()).toEqual(counters)
    // The waiting jobs have not moved yet.
    expect(await claimIds(10)).toEqual([])
    await relimitJobs(store.db, at(1))
    expect(await claimIds(10)).toEqual([])
    await settle(running.slice(0, 3))
    expect(await claimIds(10)).toHaveLength(1)
    await settle(running.slice(3))
    expect(await claimIds(10)).toHaveLength(1)
  })

  test('a bound of admission per group is no limit of starts', async () => {
    await limit({ fair: 'batch' })
    await enqueue(...ofGroup('a', 2))
    await change({ concurrency: 5, perGroup: { admit: { limit: 5, per: seconds(1) } } })
    expect(await claimIds(10)).toHaveLength(2)
  })

  test('limits in the code of a new deploy', async () => {
    await limit({})
    await enqueue({}, {}, {})
    await claimOpen(2)
    await limit({ concurrency: 2 })
    await relimitJobs(store.db, at(1))
    expect(await gates()).toEqual([{ key: '', running: 2 }])
    expect(await claimIds(10)).toEqual([])
  })

  test('a job whose handler holds a transaction open delays no change, and the janitor counts the job', async () => {
    await limit({})
    const [id] = await enqueue({}, {})
    await claimOpen(1)
    const handler = new pg.Client({ connectionString: store.url })
    await handler.connect()
    try {
      await handler.query('begin')
      await handler.query(`select from retoma.job where id = $1 for share`, [id])
      await change({ concurrency: 1 })
    } finally {
      await handler.end()
    }
    expect(await recountLimits(store.db, at(0))).toEqual([{ queue: 'q', key: '' }])
    expect(await gates()).toEqual([{ key: '', running: 1 }])
  })

  test('after any changes the counters are the numbers of running jobs', async () => {
    const all: QueueLimits[] = [
      {},
      { concurrency: 3 },
      { rate: { limit: 1000, per: seconds(1) } },
      { fair: 'group' },
      { fair: 'batch', concurrency: 4 },
      { perGroup: { concurrency: 2 } },
      { concurrency: 5, perGroup: { a: { concurrency: 1 } } },
    ]
    const group = fc.constantFrom('a', 'b', null)
    const step = fc.record({
      groups: fc.array(group, { maxLength: 3 }),
      wanted: fc.nat(3),
      ends: fc.option(fc.nat()),
      limits: fc.option(fc.constantFrom(...all)),
      moves: fc.boolean(),
    })
    const counted = `
      select k.key, coalesce(g.running, 0) as running, (
          select count(*)::int from retoma.job j where j.state = 'running' and (k.key = '' or j.group_key = k.key)
        ) as actual
      from retoma.queue q cross join (values (''), ('a'), ('b')) as k (key)
        left join retoma.limit_counter g on g.queue = q.name and g.group_key = k.key
      where case when k.key = '' then q.limits ? 'concurrency' else ${groupHasConcurrency('q.limits', 'k.key')} end`
    let running: string[] = []
    await limit({})
    for (const { groups, wanted, ends, limits, moves } of fc.sample(step, { seed: 7, numRuns: 80 })) {
      await enqueue(...groups.map(groupKey => ({ groupKey })))
      const { claimed, missing } = await claim(wanted)
      await addLimitCounters(store.db, 'q', missing, at(0))
      running.push(...claimed.map(each => each.id), ...(await claimOpen(wanted)))
      if (ends !== null && running.length > 0) {
        const ended = running[ends % running.length]!
        running = running.filter(id => id !== ended)
        await settle([ended])
      }
      if (limits !== null) await change(limits)
      if (moves) await relimitJobs(store.db, at(1))
      for (const { key, running, actual } of await store.sql<Record<string, unknown>>(counted))
        expect({ limits, key, running }).toEqual({ limits, key, running: actual })
    }
  })
})

test('a job that is run again goes by the limits its queue has now', async () => {
  const [id] = await enqueue({ groupKey: 'a' })
  await applyJobAction(store.db, 'cancel', id!, at(0))
  await limit({ perGroup: { concurrency: 1 } })
  await applyJobAction(store.db, 'retry', id!, at(0))
  expect(await store.sql(`select limited, limit_key from retoma.job`)).toEqual([{ limited: true, limit_key: 'a' }])
})

test('a gate that counts wrong is put right, and only that one', async () => {
  await limit({ concurrency: 5, perGroup: { concurrency: 5 } })
  await addLimitCounters(store.db, 'q', ['a', 'b'], at(0))
  await enqueue({ groupKey: 'a' }, { groupKey: 'b' })
  await claimIds(2)
  expect(await recountLimits(store.db, at(0))).toEqual([])
  await store.sql(`update retoma.limit_counter set running = 4 where group_key in ('', 'a')`)
  expect((await recountLimits(store.db, at(0))).map(each => each.key).sort()).toEqual(['', 'a'])
  expect(await gates()).toEqual([
    { key: '', running: 2 },
    { key: 'a', running: 1 },
    { key: 'b', running: 1 },
  ])
})

test("limit counters of groups that are no longer used are taken away; those in use, and the queue's own, stay", async () => {
  await limit({ perGroup: { concurrency: 5 } })
  await addLimitCounters(store.db, 'q', ['old'], at(-26 * 3600))
  await addLimitCounters(store.db, 'q', ['new', 'busy'], at(0))
  await store.sql(`update retoma.limit_counter set running = 1, used_at = $1 where group_key = 'busy'`, [
    at(-26 * 3600),
  ])
  await store.sql(`update retoma.limit_counter set used_at = $1 where group_key = ''`, [at(-26 * 3600)])
  await pruneExpiredRows(store.db, 1000, at(0))
  expect((await gates()).map(gate => gate.key)).toEqual(['', 'busy', 'new'])
})

test('jobs under a key that their queue no longer knows run all the same, and the janitor puts them right', async () => {
  await limit({ concurrency: 5, perGroup: { concurrency: 1 } })
  await addLimitCounters(store.db, 'q', ['a'], at(0))
  await enqueue({ groupKey: 'a' })
  const [id] = await claimIds(1)
  await limit({ concurrency: 5 })
  await settleJobs(store.db, 'w', [{ id: id!, attempt: 1, outcome: { state: 'released' } }], at(0))
  expect(await claimIds(5)).toEqual([id])
  await releaseClaims(store.db, 'w', [{ id: id!, attempt: 2 }], at(0))
  await relimitJobs(store.db, at(0))
  expect(await store.sql(`select limit_key from retoma.job`)).toEqual([{ limit_key: '' }])
  expect((await gates())[0]).toEqual({ key: '', running: 0 })
})

test.each([
  ['lanes', claimLimited],
  ['no keys', claimUnkeyed],
] as const)(
  'a start counts from the instant behind the gate, however long that was waited for (%s)',
  async (_, send) => {
    await limit({ rate: { limit: 1, per: seconds(1) } })
    await enqueue({}, {})
    const holder = store.another()
    let letGo = () => {}
    const held = new Promise<void>(resolve => {
      letGo = resolve
    })
    let locked = () => {}
    const hasLocked = new Promise<void>(resolve => {
      locked = resolve
    })
    const holding = holder.transaction(async client => {
      await client.query(`select from retoma.limit_counter for update`)
      locked()
      await held
    })
    await hasLocked
    await store.sql(`update retoma.job set run_at = '-infinity'`)
    // Without an instant: the database's own clock.
    const first = send(store.db, { queue: 'q', want: 1, worker: 'w', kinds: ['k'], lanes: 100 }, null)
    // Of this database: other tests use the same server.
    const waits = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    await expect.poll(() => store.sql(waits)).toHaveLength(1)
    await store.sql(`select pg_sleep(0.3)`)
    letGo()
    await holding
    expect((await first).claimed).toHaveLength(1)
    const [hit] = await store.sql<{ late: number }>(
      `select extract(epoch from g.hit_at[1] - j.started_at)::float8 as late from retoma.limit_counter g, retoma.job j where j.state = 'running'`,
    )
    expect(hit!.late).toBeGreaterThan(0.29)
  },
)

test('it tells when a rate allows the next start only while it does not allow one now', async () => {
  await limit({ rate: { limit: 2, per: seconds(10) } })
  await enqueue({}, {}, {})
  expect(await claim(1)).toMatchObject({ claimed: [{}], nextMs: null })
  // The last place is taken by this very claim: the next is free when the first of them has had its time.
  expect(await claim(5, { now: at(4) })).toMatchObject({ claimed: [{}], nextMs: 6000 })
})

test('starts noted by a clock that ran ahead do not stop a rate for ever', async () => {
  await limit({ rate: { limit: 1, per: seconds(10) } })
  await enqueue({}, {})
  await claimIds(1, { now: at(3600) })
  await store.sql(`update retoma.job set run_at = $1 where state = 'waiting'`, [at(0)])
  expect(await claimIds(1, { now: at(1) })).toHaveLength(1)
  expect(await claimIds(1, { now: at(2) })).toHaveLength(0)
})

test('a claim under a limit passes by jobs that another transaction has locked, and takes the next ones at once', async () => {
  await limit({ concurrency: 10 })
  const made = await enqueue({}, {}, {})
  const rival = new pg.Client({ connectionString: store.url })
  await rival.connect()
  try {
    await rival.query('begin')
    await rival.query(`select from retoma.job where id = $1 for update`, [made[0]])
    expect((await claimIds(10)).sort()).toEqual(made.slice(1).sort())
  } finally {
    await rival.end()
  }
  expect(await claimIds(10)).toEqual([made[0]])
})

/** The index entries of limited jobs that the statements of `work` read, each sent once more in one transaction. */
async function limitedEntriesOf(work: () => Promise<unknown>): Promise<number> {
  const { run, transaction } = store.db
  const sent: [string, unknown[]][] = []
  store.db.transaction = work =>
    transaction(client => {
      const query = (text: string, values: unknown[] = []) => {
        sent.push([text, values])
        return client.query(text, values)
      }
      return work({ query })
    })
  store.db.run = ((statement, values, deadlineMs) => {
    sent.push([statement.text, values])
    return run(statement, values, deadlineMs)
  }) as typeof run
  await work().finally(() => Object.assign(store.db, { run, transaction }))
  const client = new pg.Client({ connectionString: store.url })
  await client.connect()
  try {
    await client.query('begin; set local enable_seqscan = off')
    for (const [text, values] of sent) await client.query(text, values)
    const read = (index: string) => `pg_stat_get_xact_tuples_returned('retoma.${index}'::regclass)`
    const { rows } = await client.query(`select ${read('job_limited')} + ${read('job_limited_due')} as n`)
    return Number(rows[0].n)
  } finally {
    await client.end()
  }
}

test('another number in the limits of a full queue reads no waiting job; a change of the keys moves all, also after a crash of the caller', async () => {
  await limit({ concurrency: 1, fair: 'group' })
  await store.sql(`update retoma.queue set keys_changed_at = null`)
  await enqueue(...Array.from({ length: 500 }, (_, n) => ({ groupKey: `g${n % 5}` })))
  const moved = () => relimitJobs(store.db, at(1))
  expect(await limitedEntriesOf(async () => [await change({ concurrency: 2, fair: 'group' }), await moved()])).toBe(0)
  // The process that changed the limits dies before the jobs are moved; the janitor moves them.
  await change({ concurrency: 2, fair: 'batch' })
  await moved()
  const keys = () => store.sql(`select distinct limit_key as key from retoma.job`)
  expect(await keys()).toEqual([{ key: '' }])
  // A transaction enqueued under the earlier limits and is committed now.
  await store.sql(`update retoma.job set limit_key = 'g1' where id = (select min(id) from retoma.job)`)
  await relimitJobs(store.db, at(62))
  expect(await keys()).toEqual([{ key: '' }])
  await relimitJobs(store.db, at(62))
  expect(await store.sql(`select keys_changed_at from retoma.queue`)).toEqual([{ keys_changed_at: null }])
})
