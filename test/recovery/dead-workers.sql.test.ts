/** The orphan verdict and what follows from it, at instants the test passes in. orphanAfter 20 s, a heartbeat every 5 s. */
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { claimJobs } from '../../src/claiming/sql/claim.ts'
import type { Db } from '../../src/database/db.ts'
import { openDb } from '../../src/database/db.ts'
import { defaultPolicy, heartbeatEvery } from '../../src/jobs/model/policy.ts'
import { registerKinds } from '../../src/jobs/sql/job-kind.ts'
import type { Clock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { checkWorkers } from '../../src/recovery/sql/dead-workers.ts'
import { orphanMessage, recoverOrphans } from '../../src/recovery/sql/recover-jobs-of-dead-worker.ts'
import { Watchdog } from '../../src/recovery/watchdog.ts'
import { attemptsHeldBy, leaveWorker, writeHeartbeat } from '../../src/worker/sql/lease-heartbeat.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()
const rule = { orphanAfterMs: defaultPolicy.orphanAfter, heartbeatMs: heartbeatEvery, apartMs: 0 }
const judge = async (seconds: number) => (await checkWorkers(store.db, rule, 'all', at(seconds))).judged
const tick = (seconds: number, db = store.db) =>
  new Watchdog(db, { instant: () => at(seconds), elapsed: () => 0 } as unknown as Clock, silentLog).tick()
const beat = (seconds: number, id = 'w') =>
  writeHeartbeat(store.db, { id, memoryBytes: 1000, inFlight: [] }, 5000, at(seconds))
const worker = async (id = 'w') =>
  (
    await store.sql<{ heartbeat_at: Date; suspected_at: Date | null; missed_checks: number; dead_at: Date | null }>(
      `select * from retoma.worker where id = $1`,
      [id],
    )
  )[0]!

describe('a worker', () => {
  test('with heartbeats is neither suspected nor dead', async () => {
    await store.worker('w', at(0))
    for (let now = 5; now <= 60; now += 5) {
      await beat(now)
      expect(await judge(now + 4)).toEqual([])
    }
    expect(await worker()).toMatchObject({ suspected_at: null, dead_at: null })
  })

  test('is suspected when its heartbeat is older than half of orphanAfter, not before', async () => {
    await store.worker('w', at(0))
    expect(await judge(10)).toEqual([])
    expect(await judge(10.001)).toMatchObject([{ id: 'w', dead: false }])
    expect(await worker()).toMatchObject({ suspected_at: at(10.001), dead_at: null })
  })

  test('is dead once its heartbeat is older than orphanAfter and its suspicion two heartbeats old', async () => {
    await store.worker('w', at(0))
    await judge(11)
    expect(await judge(20)).toMatchObject([{ dead: false }])
    expect(await judge(20.999)).toMatchObject([{ dead: false }])
    expect(await judge(21)).toMatchObject([{ id: 'w', host: 'h', pid: 1, dead: true }])
    expect(await worker()).toMatchObject({ suspected_at: at(11), dead_at: at(21) })
    expect(await judge(30)).toEqual([])
  })

  test('is not dead for an old suspicion while its heartbeat is younger than orphanAfter', async () => {
    await store.worker('w', at(0))
    await judge(10)
    await store.sql(`update retoma.worker set suspected_at = $1`, [at(-60)])
    expect(await judge(19.9)).toMatchObject([{ dead: false }])
    expect(await judge(20.1)).toMatchObject([{ dead: true }])
  })

  test('is cleared of all suspicion by one heartbeat', async () => {
    await store.worker('w', at(0))
    await judge(15)
    expect(await beat(24)).toMatchObject({ alive: true })
    expect(await worker()).toMatchObject({ suspected_at: null })
    await judge(40)
    expect(await judge(44.5)).toMatchObject([{ dead: false }])
    expect(await judge(50)).toMatchObject([{ dead: true }])
  })

  test('that was declared dead stays dead after its heartbeat', async () => {
    await store.worker('w', at(0))
    for (const now of [11, 16, 21]) await judge(now)
    expect(await beat(32)).toMatchObject({ alive: false })
    expect(await worker()).toMatchObject({ heartbeat_at: at(0), dead_at: at(21) })
    expect(await beat(32, 'never-there')).toMatchObject({ alive: false })
  })

  test('hears with its heartbeat which of its attempts it has lost', async () => {
    await store.worker('w', at(0))
    const [mine, taken, over] = [
      await store.put('running', { attempt: 3 }),
      await store.put('running', { worker: 'other' }),
      await store.put('succeeded'),
    ]
    const inFlight = [
      { id: taken!, attempt: 1 },
      { id: mine!, attempt: 3 },
      { id: mine!, attempt: 2 },
      { id: over!, attempt: 1 },
      { id: '999', attempt: 1 },
    ]
    const heard = await writeHeartbeat(store.db, { id: 'w', memoryBytes: 1, inFlight }, 5000, at(1))
    expect(heard).toEqual({ alive: true, lost: inFlight.filter(each => each !== inFlight[1]) })
    expect(await attemptsHeldBy(store.db, 'w')).toEqual([{ id: mine, attempt: 3 }])
  })

  test('that leaves is gone; one that leaves jobs behind is dead at once, and they go back at the next tick', async () => {
    await store.worker('w', at(0))
    await store.worker('busy', at(0))
    const id = await store.put('running', { worker: 'busy' })
    for (const each of ['w', 'busy']) await leaveWorker(store.db, each, 1000, at(1))
    expect(await store.sql(`select id, dead_at from retoma.worker`)).toEqual([{ id: 'busy', dead_at: at(1) }])
    expect((await checkWorkers(store.db, rule, 'the lately dead', at(2))).orphans).toBe(true)
    expect((await tick(2)).recovered).toMatchObject([{ id, worker: 'busy' }])
  })

  test('whose heartbeat lies in the future, after a failover to a slower clock, ages from now on', async () => {
    await store.worker('w', at(3600))
    expect(await judge(0)).toMatchObject([{ dead: false }])
    expect(await worker()).toMatchObject({ heartbeat_at: at(0), suspected_at: null })
    expect(await judge(9)).toEqual([])
    await judge(11)
    await judge(16)
    expect(await judge(21.5)).toMatchObject([{ dead: true }])
  })

  test('whose heartbeat is a moment ahead of the watchdog is left alone', async () => {
    await store.worker('w', at(0.9))
    expect(await judge(0)).toEqual([])
    expect(await worker()).toMatchObject({ heartbeat_at: at(0.9) })
  })
})

test('a watchdog born after a long outage makes no orphan of a worker whose heartbeats come again', async () => {
  await store.worker('w', at(0))
  const id = await store.put('running')
  expect((await tick(180)).recovered).toEqual([])
  await beat(181)
  for (let now = 185; now < 240; now += 5) {
    await beat(now)
    expect((await tick(now + 1)).recovered).toEqual([])
  }
  expect(await store.job(id)).toMatchObject({ state: 'running', worker_id: 'w' })
})

describe('after an outage', () => {
  // The worst case: it was suspected just before the database went, and needs a whole beat to be heard again.
  test.each([5, 9, 10, 11, 14, 16, 20, 30, 60, 180, 3600])('of %s s a live worker is not declared dead', async away => {
    await store.worker('w', at(0))
    for (const now of [5, 10, 15]) await judge(now)
    expect(await worker()).toMatchObject({ suspected_at: at(15) })
    const back = 15 + away
    expect(await judge(back)).toMatchObject([{ dead: false }])
    expect(await beat(back + 4.9)).toMatchObject({ alive: true })
    for (let now = back + 5; now < back + 40; now += 5) {
      await judge(now)
      expect(await beat(now + 4.9)).toMatchObject({ alive: true })
    }
  })

  test('a worker that died in it is declared dead two heartbeats after the first check', async () => {
    await store.worker('w', at(0))
    for (const now of [5, 10, 15]) await judge(now)
    for (const now of [180, 185]) expect(await judge(now)).toMatchObject([{ dead: false }])
    expect(await judge(190)).toMatchObject([{ dead: true }])
  })

  test('the clock of another primary, an hour ahead or behind, makes no orphan of a worker with heartbeats', async () => {
    await store.worker('w', at(0))
    for (const now of [5, 10, 15]) await judge(now)
    for (const start of [3600, 0]) {
      expect(await judge(start)).toMatchObject([{ dead: false }])
      for (let now = start; now < start + 30; now += 5) {
        await judge(now + 1)
        expect(await beat(now + 4.9)).toMatchObject({ alive: true })
      }
    }
  })
})

describe('with a database that comes and goes', () => {
  // Up for a moment every so often: one look each time it is there, or two.
  test.each([
    [[0, 10, 20, 30, 40, 50, 60, 70, 80, 90]],
    [[0, 15, 30, 45, 60, 75, 90, 105]],
    [[0, 5, 20, 25, 40, 45, 60, 65, 80, 85]],
    [[0, 14, 19, 30, 45, 51, 66, 79, 84, 99]],
  ])('a dead worker is declared dead, one that lives is not: checks at %j', async rounds => {
    await store.worker('gone', at(-30))
    await store.worker('here', at(-5))
    const dead: number[] = []
    for (const now of rounds) {
      const judged = await judge(now)
      expect(judged.filter(each => each.id === 'here' && each.dead)).toEqual([])
      if (judged.some(each => each.id === 'gone' && each.dead)) dead.push(now)
      // The live one gets every second beat through.
      if (rounds.indexOf(now) % 2 === 1) expect(await beat(now + 1, 'here')).toMatchObject({ alive: true })
    }
    expect(dead).toHaveLength(1)
    expect(dead[0]).toBeLessThanOrEqual(80)
  })
})

describe('of many watchdogs', () => {
  const row = async () =>
    (
      await store.sql(
        `select at, ctid::text, xmin::text, xmax::text from retoma.periodic_lease where name = 'watchdog'`,
      )
    )[0]!

  test('one checks at a time, and the others write nothing', async () => {
    await store.worker('w', at(0))
    const dbs = [store.db, ...Array.from({ length: 7 }, () => store.another())]
    const asked = { ...rule, apartMs: 4500 }
    for (let now = 15; now <= 25; now += 5) {
      const rounds = await Promise.all(dbs.map(db => checkWorkers(db, asked, 'all', at(now))))
      expect(rounds.filter(each => each.judged.length > 0)).toHaveLength(1)
      expect(await row()).toMatchObject({ at: at(now) })
    }
    expect(await worker()).toMatchObject({ dead_at: at(25), missed_checks: 3 })
    const before = await row()
    await Promise.all(dbs.map(db => checkWorkers(db, asked, 'all', at(29))))
    expect(await row()).toEqual(before)
  })

  test('each recovers what nobody holds, also one that came too soon to check', async () => {
    await tick(0)
    const id = await store.put('running', { worker: 'vanished' })
    expect((await tick(1)).recovered).toMatchObject([{ id }])
    expect(await row()).toMatchObject({ at: at(0) })
  })
})

test('a dead worker is found within orphanAfter and one tick, however long the watchdog was away', async () => {
  await store.worker('w', at(0))
  const id = await store.put('running')
  const found: number[] = []
  for (let now = 0; now <= 40; now += 5) if ((await tick(now)).recovered.length > 0) found.push(now)
  expect(found).toEqual([25])
  expect(await store.job(id)).toMatchObject({ state: 'waiting', run_at: at(25) })
})

describe('a running job', () => {
  test('of a live worker is left alone, also of one that is only suspected', async () => {
    await store.worker('w', at(0))
    await store.put('running')
    expect((await tick(1)).recovered).toEqual([])
    expect((await tick(19)).recovered).toEqual([])
  })

  test('of a worker that is not there is recovered at once', async () => {
    const id = await store.put('running', { worker: 'vanished' })
    expect((await tick(0)).recovered).toEqual([{ id, queue: 'q', kind: 'k', state: 'waiting', worker: 'vanished' }])
  })

  test('whose claim was on its way when its worker was declared dead is found at the next tick', async () => {
    await store.worker('w', at(0))
    for (const now of [15, 20, 25]) await tick(now)
    const late = await store.put('running')
    expect((await tick(35)).recovered).toMatchObject([{ id: late }])
  })

  test('pays nothing for the death of its worker: a restart is counted, no failure', async () => {
    const id = await store.put('running', { attempt: 2 })
    await tick(7)
    expect(await store.job(id)).toMatchObject({
      state: 'waiting',
      attempt: 2,
      failures: 0,
      restarts: 1,
      worker_id: null,
      last_worker: 'w',
      claim_rank: 8,
      run_at: at(7),
      finished_at: null,
      error: { type: 'orphan', message: orphanMessage },
    })
    expect(await store.failures(id)).toEqual([{ attempt: 2, failure_type: 'orphan', worker: 'w', code: null }])
  })

  test.each([
    ['retry', 'waiting'],
    ['stall', 'stalled'],
    ['fail', 'failed'],
  ] as const)('goes where its kind says: %s', async (onOrphan, state) => {
    await registerKinds(
      store.db,
      [{ kind: 'k', queue: 'q', version: 1, policy: { ...defaultPolicy, onOrphan } }],
      at(0),
    )
    const id = await store.put('running')
    await store.sql(`update retoma.job set key = 'a', unique_until = 'final' where id = $1`, [id])
    expect((await tick(3)).recovered).toMatchObject([{ id, state }])
    expect(await store.job(id)).toMatchObject({
      state,
      restarts: 1,
      failures: 0,
      worker_id: null,
      finished_at: state === 'failed' ? at(3) : null,
      unique_until: state === 'failed' ? null : 'final',
    })
  })
})

test('more orphans than one bite are all recovered in one tick', async () => {
  await store.putMany(1250, 'running')
  const { recovered } = await tick(0)
  expect(new Set(recovered.map(each => each.id)).size).toBe(1250)
  expect(recovered).toHaveLength(1250)
})

test('watchdogs at once recover each job once', async () => {
  await store.putMany(1200, 'running')
  const ticks = await Promise.all([store.db, store.another(), store.another(), store.another()].map(db => tick(0, db)))
  const recovered = ticks.flatMap(each => each.recovered.map(job => job.id))
  expect(recovered).toHaveLength(1200)
  expect(new Set(recovered).size).toBe(1200)
  expect(await store.sql(`select state, restarts, count(*)::int as n from retoma.job group by 1, 2`)).toEqual([
    { state: 'waiting', restarts: 1, n: 1200 },
  ])
})

test('a job that another watchdog recovered and a live worker claimed meanwhile stays with that worker', async () => {
  await store.worker('live', at(0))
  const id = await store.put('running', { worker: 'dead' })
  // The slow watchdog reads jobs through a policy that waits for a lock: its snapshot is taken, its row locks are not.
  const slow = await slowReader('retoma.job')
  const looking = recoverOrphans(slow.db, 10, at(1))
  await slow.reading()
  expect(await recoverOrphans(store.db, 10, at(1))).toHaveLength(1)
  await claimJobs(store.db, { wants: [{ queue: 'q', want: 1 }], kinds: ['k'], worker: 'live' }, at(1))
  await slow.letGo()
  expect(await looking).toEqual([])
  expect(await store.job(id)).toMatchObject({ state: 'running', worker_id: 'live', attempt: 2, restarts: 1 })
})

test('dead workers are forgotten after a day though nobody else dies, those with jobs still to recover are not', async () => {
  for (const id of ['old', 'holding', 'young', 'alive']) await store.worker(id, at(0))
  await store.sql(`update retoma.worker set dead_at = $1 where id in ('old', 'holding')`, [at(0)])
  await store.sql(`update retoma.worker set dead_at = $1 where id = 'young'`, [at(3600)])
  await store.put('running', { worker: 'holding' })
  await judge(24 * 3600 + 1)
  const left = await store.sql<{ id: string }>(`select id from retoma.worker order by id`)
  expect(left.map(row => row.id)).toEqual(['alive', 'holding', 'young'])
})

/** A Db whose reads of a table stop, their snapshot taken, until they are let go. */
async function slowReader(table: string) {
  const key = 4242
  await store.sql(`
    create role slow login;
    grant usage on schema retoma to slow;
    grant all on all tables in schema retoma to slow;
    create function public.slowly() returns boolean volatile language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(${key}); return true; end $$;
    alter table ${table} enable row level security;
    create policy slowly on ${table} to slow using (public.slowly())`)
  const holder = new pg.Client({ connectionString: store.url })
  await holder.connect()
  await holder.query(`select pg_advisory_lock(${key})`)
  const url = new URL(store.url)
  url.username = 'slow'
  const db = openDb({ url: url.href, log: silentLog, connections: 1 })
  onTestFinished(async () => {
    await holder.end()
    await db.close()
    await store.sql(`
      drop policy slowly on ${table};
      alter table ${table} disable row level security;
      drop function public.slowly;
      revoke all on all tables in schema retoma from slow;
      revoke all on schema retoma from slow;
      drop role slow`)
  })
  return {
    db,
    async reading() {
      while (
        (
          await store.sql(
            `select from pg_locks where locktype = 'advisory' and objid = ${key} and not granted and database = (select oid from pg_database where datname = current_database())`,
          )
        ).length === 0
      );
    },
    letGo: () => holder.query(`select pg_advisory_unlock(${key})`),
  }
}

test('a check that takes its time is followed by checks among the lately dead, and by one at everything in due course', async () => {
  let ms = 0
  const asked: unknown[] = []
  const run: Db['run'] = async (statement, values) => {
    ms += 100
    asked.push(values[5])
    return store.db.run(statement, values)
  }
  const clock = { instant: () => at(ms / 1000), elapsed: () => ms } as unknown as Clock
  const watchdog = new Watchdog({ ...store.db, run }, clock, silentLog)
  const id = await store.put('running', { worker: 'w' })
  await store.worker('w', at(0))
  await watchdog.tick()
  await store.sql(`update retoma.worker set dead_at = $1`, [at(0)])
  ms += 500
  expect((await watchdog.tick()).recovered).toMatchObject([{ id }])
  ms += 1500
  await watchdog.tick()
  expect(asked.filter(each => typeof each === 'boolean')).toEqual([true, false, true])
})
