/** Orphans of a kind are recovered at the instant and in the way of their policy, at instants of the test. */
import { describe, expect, test } from 'vitest'
import { defaultPolicy, type JobPolicy } from '../../src/jobs/model/policy.ts'
import { registerKinds } from '../../src/jobs/sql/job-kind.ts'
import type { Clock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { minutes, seconds } from '../../src/lib/values/duration.ts'
import { orphanMessage, recoverOrphans } from '../../src/recovery/sql/recover-jobs-of-dead-worker.ts'
import { Watchdog } from '../../src/recovery/watchdog.ts'
import { leaveWorker } from '../../src/worker/sql/lease-heartbeat.ts'
import { settleJobs } from '../../src/worker/sql/settle.ts'
import { at, storeForFile, sweepFrom } from '../support/store.ts'

const store = storeForFile()
const tick = async (seconds: number, db = store.db) => {
  const clock = { instant: () => at(seconds), elapsed: () => 0 } as unknown as Clock
  return (await new Watchdog(db, clock, silentLog).tick()).recovered.map(each => each.id)
}
const text = 'orphan: job RUNNING sem heartbeat; worker provavelmente morreu'
/** Seed 002's: FAILED two minutes after the last heartbeat, swept every five. */
const planner: Partial<JobPolicy> = {
  maxAttempts: 1,
  onOrphan: 'fail',
  orphanAfter: minutes(2),
  sweepEvery: minutes(5),
  messages: { orphan: text },
}
const kind = (policy: Partial<JobPolicy>, name = 'k') =>
  registerKinds(store.db, [{ kind: name, queue: 'q', version: 1, policy: { ...defaultPolicy, ...policy } }], at(0))
/** Dead by the verdict of the watchdog, its last heartbeat at that time. */
const deadSince = async (id: string, beat: number) => {
  await store.worker(id, at(beat))
  await store.sql(`update retoma.worker set dead_at = $2, suspected_at = $2 where id = $1`, [id, at(beat + 21)])
}

describe('a job of a kind with the numbers of seed 002', () => {
  test('fails in its own words between two and seven minutes after the last heartbeat, whenever that was', async () => {
    await kind(planner)
    const lost = new Map<string, number>()
    const found = new Map<string, number>()
    // A watchdog's ticks are never exactly five seconds apart. A worker dies every 47 s.
    for (let now = 0; now < 1800; now += 4.7) {
      if (now < 1200 && lost.size <= now / 47) {
        await store.worker(`w${lost.size}`, at(now))
        const id = await store.put('running', { worker: `w${lost.size}` })
        await store.sql(`update retoma.job set started_at = $2 where id = $1`, [id, at(now)])
        lost.set(id, now)
      }
      for (const id of await tick(now)) found.set(id, now)
    }
    expect(lost.size).toBeGreaterThan(20)
    for (const [id, beat] of lost) {
      expect(found.get(id)! - beat).toBeGreaterThanOrEqual(120)
      expect(found.get(id)! - beat).toBeLessThanOrEqual(420)
      expect(await store.job(id)).toMatchObject({
        state: 'failed',
        finished_at: at(found.get(id)!),
        worker_id: null,
        failures: 0,
        restarts: 1,
        error: { type: 'orphan', message: text, code: null },
      })
    }
    const reported = await store.sql(`select distinct failure_type, message from retoma.failure`)
    expect(reported).toEqual([{ failure_type: 'orphan', message: text }])
    // Some waited for a sweep.
    expect(new Set(found.values()).size).toBeLessThan(10)
  })

  test('is left alone until the very moment, and found by the first sweep from then on', async () => {
    await kind(planner)
    // Two that are lost in one second: for one the sweep comes just then, for the other just too soon.
    const sweep = sweepFrom(600)
    await deadSince('w', sweep - 120)
    await deadSince('v', sweep - 119.999)
    const ids = [await store.put('running'), await store.put('running', { worker: 'v' })]
    expect(await tick(sweep - 0.001)).toEqual([])
    expect(await store.job(ids[0]!)).toMatchObject({ state: 'running', worker_id: 'w' })
    expect(await tick(sweep)).toEqual([ids[0]])
    expect(await tick(sweep + 294.999)).toEqual([])
    expect(await tick(sweep + 295)).toEqual([ids[1]])
  })

  test('that started after the last heartbeat has its two minutes from the start', async () => {
    await kind(planner)
    const sweep = sweepFrom(600)
    await deadSince('w', sweep - 124.9)
    await deadSince('v', sweep - 125)
    const ids = [await store.put('running'), await store.put('running', { worker: 'v' })]
    await store.sql(`update retoma.job set started_at = $2 where id = $1`, [ids[0], at(sweep - 119.999)])
    await store.sql(`update retoma.job set started_at = $2 where id = $1`, [ids[1], at(sweep - 120)])
    expect(await tick(sweep)).toEqual([ids[1]])
    expect(await store.job(ids[0]!)).toMatchObject({ state: 'running', worker_id: 'w' })
    expect(await tick(sweep + 295)).toEqual([ids[0]])
    const signs = await store.sql<{ sign: string }>(
      `select evidence ->> 'heartbeatAt' as sign from retoma.failure order by at desc`,
    )
    expect(signs.map(({ sign }) => new Date(sign))).toEqual([at(sweep - 119.999), at(sweep - 120)])
  })

  test('a finish that lands before it is recovered is a true one', async () => {
    await kind(planner)
    await deadSince('w', 0)
    const id = await store.put('running')
    await tick(60)
    await settleJobs(store.db, 'w', [{ id, attempt: 1, outcome: { state: 'succeeded', result: '1' } }], at(61))
    expect(await tick(200)).toEqual([])
    expect(await store.job(id)).toMatchObject({ state: 'succeeded', restarts: 0 })
  })
})

describe('a sweep', () => {
  test('is made by all watchdogs at once, each job by one, and none of them writes anything for it', async () => {
    await kind(planner)
    const kinds = await store.sql(`select *, ctid::text from retoma.kind`)
    await deadSince('w', 0)
    const ids = await store.putMany(50, 'running')
    const sweep = sweepFrom(120)
    const found = await Promise.all([store.db, store.another(), store.another()].map(db => tick(sweep, db)))
    expect(found.flat().toSorted()).toEqual(ids.toSorted())
    expect(await store.sql(`select *, ctid::text from retoma.kind`)).toEqual(kinds)
  })

  test('that a watchdog dies in the middle of, or that nobody was there for, is made by the next tick of any', async () => {
    await kind(planner)
    await deadSince('w', 0)
    await store.putMany(30, 'running')
    const sweep = sweepFrom(120)
    expect(await recoverOrphans(store.db, 20, at(sweep))).toHaveLength(20)
    expect(await tick(sweep + 100)).toHaveLength(10)
  })

  test('is not waited for until a clock that has gone back comes round again', async () => {
    await kind(planner)
    await deadSince('w', 7200)
    const id = await store.put('running')
    expect(await tick(100)).toEqual([id])
  })
})

describe('a worker that stops by itself and cannot release its jobs', () => {
  const released = {
    state: 'waiting',
    failures: 0,
    crashes: 0,
    restarts: 0,
    uncounted_attempts: 0,
    worker_id: null,
    error: null,
  }

  test.each(['fail', 'stall', 'retry'] as const)('gives its jobs back uncharged with onOrphan %s', async onOrphan => {
    await kind({ ...planner, onOrphan })
    await store.worker('w', at(0))
    const id = await store.put('running')
    // The database was away: a watchdog has begun to suspect the worker.
    await store.sql(`update retoma.worker set suspected_at = $1`, [at(12)])
    await leaveWorker(store.db, 'w', 1000, at(15))
    expect(await tick(20)).toEqual([id])
    expect(await store.job(id)).toMatchObject({ ...released, run_at: at(20), claim_rank: 8, crash_suspicion: null })
    expect(await store.failures(id)).toEqual([])
    expect(await store.sql(`select from retoma.event`)).toEqual([])
  })

  test('gives back also a job whose claim was committed after the stop', async () => {
    await kind(planner)
    await store.worker('w', at(0))
    await leaveWorker(store.db, 'w', 1000, at(3), 'claims in doubt')
    const id = await store.put('running')
    expect(await tick(5)).toEqual([id])
    expect(await store.job(id)).toMatchObject(released)
  })
})

describe('a kind with longer times', () => {
  test('gets back at once what a worker left that went by itself, or whose row is gone', async () => {
    await kind({ orphanAfter: minutes(10), sweepEvery: minutes(5) })
    await store.worker('leaves', at(0))
    const ids = [
      await store.put('running', { worker: 'leaves' }),
      await store.put('running', { worker: 'never-there' }),
    ]
    await leaveWorker(store.db, 'leaves', 1000, at(3))
    expect(await tick(5)).toEqual(ids)
  })

  test('does not hold up the orphans of others, however many of its own are not due', async () => {
    await kind({ orphanAfter: minutes(10) }, 'slow')
    await deadSince('w', 0)
    await store.putMany(600, 'running', { kind: 'slow' })
    const id = await store.put('running')
    expect(await tick(30)).toEqual([id])
    expect(await tick(600)).toHaveLength(600)
  })

  test('that sweeps no less often than the watchdog ticks has its orphans at their time', async () => {
    await kind({ orphanAfter: seconds(60), sweepEvery: seconds(5) })
    await deadSince('w', 0)
    const id = await store.put('running')
    expect(await tick(59)).toEqual([])
    expect(await tick(60)).toEqual([id])
  })
})

test('an orphan that somebody has locked is passed by, and found at the next tick', async () => {
  const [held, free] = await store.putMany(2, 'running')
  await store.another().transaction(async client => {
    await client.query(`select from retoma.job where id = $1 for update`, [held])
    expect(await tick(0)).toEqual([free])
  })
  expect(await tick(5)).toEqual([held])
})

test('a kind without words of its own has ours, and its cause is the same', async () => {
  await kind({ messages: { orphan: text } }, 'told')
  const ids = [await store.put('running'), await store.put('running', { kind: 'told' })]
  await tick(0)
  const rows = await Promise.all(ids.map(id => store.job(id)))
  expect(rows.map(row => row.error!.message)).toEqual([orphanMessage, text])
  const causes = rows.map(row => (row.error as unknown as { cause: string }).cause)
  expect(causes[0]).toBe(causes[1])
})
