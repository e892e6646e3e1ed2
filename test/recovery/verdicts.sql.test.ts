/**
 * Verdicts on a real database, at instants of the test: the time of each verdict, the affected jobs, and a single verdict of concurrent
 * watchdogs.
 */
import { describe, expect, test } from 'vitest'
import { applyBatchAction } from '../../src/batches/sql/batch-actions.ts'
import { createBatch } from '../../src/batches/sql/submit-batch.ts'
import { defaultPolicy, type JobPolicy } from '../../src/jobs/model/policy.ts'
import { registerKinds } from '../../src/jobs/sql/job-kind.ts'
import type { Clock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { type Duration, hours, milliseconds, minutes, seconds } from '../../src/lib/values/duration.ts'
import { pauseQueue } from '../../src/limits/sql/queue.ts'
import { type AttemptFacts, judgeAttempt } from '../../src/recovery/model/late-attempt-verdict.ts'
import { checkWorkers } from '../../src/recovery/sql/dead-workers.ts'
import { failOverdue } from '../../src/recovery/sql/expired-jobs.ts'
import { reportFindings, viewFindings } from '../../src/recovery/sql/findings.ts'
import { endAttempts, findLateAttempts } from '../../src/recovery/sql/late-attempts.ts'
import { Watchdog } from '../../src/recovery/watchdog.ts'
import { registerWorker } from '../../src/worker/sql/lease-heartbeat.ts'
import { settleJobs } from '../../src/worker/sql/settle.ts'
import { at, storeForFile, sweepFrom } from '../support/store.ts'
import { workerVerdict } from './reference-verdicts.ts'

const store = storeForFile()
const kind = (policy: Partial<JobPolicy>, name = 'k') =>
  registerKinds(store.db, [{ kind: name, queue: 'q', version: 1, policy: { ...defaultPolicy, ...policy } }], at(0))
const clockAt = (seconds: number) => ({ instant: () => at(seconds), elapsed: () => seconds * 1000 }) as unknown as Clock
/** One tick at that instant, by a process of its own; checks have followed each other since long ago, and all workers write heartbeats. */
async function tick(seconds: number, { since = -1e6, db = store.db } = {}) {
  await store.sql(`update retoma.periodic_lease set at = $1, since = $2`, [at(seconds - 5), at(since)])
  await store.sql(`update retoma.worker set heartbeat_at = $1 where dead_at is null`, [at(seconds)])
  return new Watchdog(db, clockAt(seconds), silentLog, () => 0).tick()
}
/** A running attempt of `w`, begun at that second. */
async function running(started = 0, given: { kind?: string; worker?: string; progress?: number } = {}) {
  const id = await store.put('running', given)
  const progress = given.progress === undefined ? null : at(given.progress)
  await store.sql(`update retoma.job set started_at = $2, progress_at = $3 where id = $1`, [id, at(started), progress])
  return id
}
/** A batch with this policy override, created at the same instant as its items. */
async function batchOf(kind: string, items: Partial<JobPolicy>): Promise<string> {
  const policy = {
    stallAfter: null,
    onStall: 'stall',
    maxResumes: 3,
    stopAfter: null,
    onComplete: null,
    items,
  } as const
  return (await createBatch(store.db, { name: 'b', key: null, kind, queue: 'q', priority: 4, policy }, at(0))).id
}
const warnings = async () =>
  (await store.sql<{ data: { what: string } }>(`select data from retoma.event where type = 'warning' order by id`)).map(
    ({ data }) => data.what,
  )
const random = (seed: number) => () => {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
  return seed / 2 ** 31
}

describe('an attempt that its worker does not end', () => {
  test('is ended a minute after its timeout, not a second before; a failure is counted and it backs off', async () => {
    await store.worker('w')
    await kind({ timeout: minutes(2) })
    const id = await running()
    expect((await tick(179)).timedOut).toEqual([])
    expect((await tick(180)).timedOut).toMatchObject([{ id, queue: 'q', state: 'waiting' }])
    expect(await store.job(id)).toMatchObject({
      state: 'waiting',
      failures: 1,
      last_worker: 'w',
      claim_rank: 8,
      run_at: at(185),
      error: { type: 'timeout', code: 'attempt_timeout' },
    })
    expect(await store.failures(id)).toEqual([
      { attempt: 1, failure_type: 'timeout', worker: 'w', code: 'attempt_timeout' },
    ])
    expect((await tick(400)).timedOut).toEqual([])
  })

  test('is failed when its tries are spent', async () => {
    await store.worker('w')
    await kind({ timeout: seconds(1), maxAttempts: 1 })
    const id = await running()
    await tick(61)
    expect(await store.job(id)).toMatchObject({ state: 'failed', failures: 1, finished_at: at(61) })
  })

  test('is given the time nobody checked, and the time another job blocked its loop', async () => {
    await store.worker('w')
    await kind({ timeout: minutes(2) })
    const id = await running()
    expect((await tick(1000, { since: 821 })).timedOut).toEqual([])
    await store.sql(`update retoma.worker set unblocked_at = $1`, [at(821)])
    expect((await tick(1000)).timedOut).toEqual([])
    await store.sql(`update retoma.worker set unblocked_at = null, blocked_since = $1, blocked_job = 999`, [at(900)])
    expect((await tick(1000)).timedOut).toEqual([])
    await store.sql(`update retoma.worker set blocked_job = $1`, [id])
    expect((await tick(1001)).timedOut).toMatchObject([{ id }])
  })

  test('behind a loop that another job, or nobody knows who, has blocked for as long as it may take and a minute goes elsewhere, at no charge', async () => {
    await store.worker('w')
    await kind({ timeout: minutes(2) })
    const id = await running()
    await store.sql(`update retoma.worker set blocked_since = $1, blocked_job = 999`, [at(900)])
    expect((await tick(1079)).stalled).toEqual([])
    expect((await tick(1080, { since: 901 })).stalled).toEqual([])
    await store.sql(`update retoma.worker set blocked_job = null`)
    expect(await tick(1080)).toMatchObject({ timedOut: [], stalled: [{ id, state: 'waiting' }] })
    expect(await store.job(id)).toMatchObject({
      failures: 0,
      restarts: 1,
      worker_id: null,
      last_worker: 'w',
      run_at: at(1080),
      crash_suspicion: { level: 0, restartsWithoutProgress: 1 },
      error: { type: 'hung' },
    })
    expect(await store.failures(id)).toMatchObject([{ attempt: 1, failure_type: 'hung', worker: 'w' }])
  })

  test('and that time and again gets nowhere behind such a loop runs alone, and waits for a person at last', async () => {
    await store.worker('w')
    await kind({ timeout: minutes(2) })
    const [third, tenth] = [await running(), await running()]
    await store.sql(
      `update retoma.job set crash_suspicion = '{"level": 0, "restartsWithoutProgress": 2}' where id = $1`,
      [third],
    )
    await store.sql(
      `update retoma.job set crash_suspicion = '{"level": 2, "restartsWithoutProgress": 9}' where id = $1`,
      [tenth],
    )
    await store.sql(`update retoma.worker set blocked_since = $1`, [at(10)])
    await tick(1000)
    expect(await store.job(third)).toMatchObject({
      state: 'waiting',
      crash_suspicion: { level: 2, restartsWithoutProgress: 3 },
    })
    expect(await store.job(tenth)).toMatchObject({ state: 'stalled', error: { code: 'too_many_restarts' } })
  })

  test.each([
    ['stall', 'stalled'],
    ['fail', 'failed'],
  ] as const)('behind such a loop becomes what its kind says of a worker that is gone: %s', async (onOrphan, state) => {
    await store.worker('w')
    await kind({ timeout: minutes(2), onOrphan })
    const id = await running()
    await store.sql(`update retoma.worker set blocked_since = $1`, [at(10)])
    await tick(1000)
    expect(await store.job(id)).toMatchObject({ state, failures: 0, restarts: 1 })
  })

  test('is left alone when it has moved on since it was judged, and when its worker has just locked it', async () => {
    await store.worker('w')
    await kind({ timeout: seconds(1) })
    const [moved, locked] = [await running(), await running()]
    const error = { message: 'm', code: null, cause: '' }
    const endings = (await findLateAttempts(store.db, '0', 10, at(100))).map(of => ({
      of,
      state: 'waiting' as const,
      delayMs: 0,
      error,
    }))
    expect(endings).toHaveLength(2)
    await store.sql(`update retoma.job set attempt = 2 where id = $1`, [moved])
    await store.another().transaction(async client => {
      await client.query(`select from retoma.job where id = $1 for update`, [locked])
      expect(await endAttempts(store.db, 'timeout', endings, at(100))).toEqual([])
    })
    expect(await endAttempts(store.db, 'timeout', endings, at(100))).toMatchObject([{ id: locked }])
    expect(await store.job(moved)).toMatchObject({ state: 'running', attempt: 2 })
  })

  test('is lost to its worker, whose own end of it comes too late and was another', async () => {
    await store.worker('w')
    await kind({ timeout: seconds(1) })
    const id = await running()
    await tick(100)
    const settle = (type: 'error' | 'timeout') => {
      const failure = { type, code: null, message: 'm', stack: null }
      return settleJobs(store.db, 'w', [{ id, attempt: 1, outcome: { state: 'failed', failure } }], at(101))
    }
    expect((await settle('error')).size).toBe(0)
    // To have run out of time is what the watchdog wrote.
    expect((await settle('timeout')).size).toBe(1)
    expect(await store.job(id)).toMatchObject({ state: 'waiting', failures: 1 })
  })

  test('is ended once by many watchdogs at once, however many there are of them', async () => {
    await store.worker('w')
    await kind({ timeout: seconds(1) })
    const ids = await store.putMany(1200, 'running')
    await store.sql(`update retoma.job set started_at = $1`, [at(0)])
    await store.sql(`update retoma.periodic_lease set at = $1, since = $1`, [at(0)])
    await store.sql(`update retoma.worker set heartbeat_at = $1`, [at(100)])
    const dogs = [store.db, store.another(), store.another()].map(
      db => new Watchdog(db, clockAt(100), silentLog, () => 0),
    )
    await store.sql(`update retoma.periodic_lease set at = $1`, [at(95)])
    const ended = (await Promise.all(dogs.map(watchdog => watchdog.tick()))).flatMap(each => each.timedOut)
    // A watchdog skips rows that another transaction has locked; the next tick handles the rows.
    ended.push(...(await tick(105)).timedOut)
    expect(ended.map(each => each.id).sort()).toEqual(ids.sort())
    expect(
      await store.sql(`select count(*)::int as n, sum(failures)::int as f from retoma.job where state = 'waiting'`),
    ).toEqual([{ n: 1200, f: 1200 }])
  })
})

test('checks that have followed each other since before anybody noted since when are watched from the first one that does', async () => {
  // As an upgrade finds it while watchdogs of the release before go on looking.
  await store.sql(`update retoma.periodic_lease set at = $1, since = '-infinity' where name = 'watchdog'`, [at(-5)])
  await new Watchdog(store.db, clockAt(0), silentLog, () => 0).tick()
  expect(await store.sql(`select since from retoma.periodic_lease where name = 'watchdog'`)).toEqual([{ since: at(0) }])
})

describe('an attempt without progress', () => {
  const stall = (more: Partial<JobPolicy> = {}) => kind({ stallAfter: minutes(10), timeout: hours(1), ...more })

  test('is stalled after stallAfter without a sign, not a second before, and waits for a person', async () => {
    await store.worker('w')
    await stall()
    const id = await running(0, { progress: 50 })
    expect((await tick(649)).stalled).toEqual([])
    expect((await tick(650)).stalled).toMatchObject([{ id, state: 'stalled' }])
    expect(await store.job(id)).toMatchObject({ state: 'stalled', failures: 0, error: { type: 'stalled' } })
    expect(await store.failures(id)).toMatchObject([{ failure_type: 'stalled', worker: 'w' }])
    expect((await tick(2000)).stalled).toEqual([])
  })

  test('runs again at once where the kind says retry, at no charge; is failed with its own words where it says fail', async () => {
    await store.worker('w')
    await stall({ onStall: 'retry' })
    const again = await running()
    await tick(600)
    expect(await store.job(again)).toMatchObject({
      state: 'waiting',
      failures: 0,
      restarts: 0,
      run_at: at(600),
      claim_rank: 8,
    })
    await stall({ onStall: 'fail', messages: { stalled: 'Processing timeout (watchdog)' } })
    const failed = await running()
    await tick(600)
    expect(await store.job(failed)).toMatchObject({
      state: 'failed',
      finished_at: at(600),
      error: { type: 'stalled', message: 'Processing timeout (watchdog)' },
    })
  })

  test('that gives a sign after it was judged goes on', async () => {
    await store.worker('w')
    await stall()
    const id = await running(0, { progress: 0.000001 })
    const [late] = await findLateAttempts(store.db, '0', 10, at(700))
    const ending = { of: late!, state: 'stalled' as const, delayMs: 0, error: { message: 'm', code: null, cause: '' } }
    await store.sql(`update retoma.job set progress_at = progress_at + interval '1 microsecond' where id = $1`, [id])
    expect(await endAttempts(store.db, 'stalled', [ending], at(700))).toEqual([])
    expect(await store.job(id)).toMatchObject({ state: 'running' })
  })

  test('of a kind that is swept every five minutes waits for the sweep', async () => {
    await store.worker('w')
    await stall({ sweepEvery: minutes(5) })
    const sweep = sweepFrom(600)
    // Due at that sweep to the second, and a second too late for it.
    const first = await running(sweep - 600)
    const second = await running(sweep - 599)
    expect((await tick(sweep - 1)).stalled).toEqual([])
    // The first tick writes the verdict of the first sweep; an attempt that is due after this sweep waits for the next sweep.
    expect((await tick(sweep + 4)).stalled).toMatchObject([{ id: first }])
    expect((await tick(sweep + 294)).stalled).toEqual([])
    expect((await tick(sweep + 295)).stalled).toMatchObject([{ id: second }])
  })

  test('of a kind that is swept rarely is reported as slow until then', async () => {
    await store.worker('w')
    await stall({ sweepEvery: minutes(5), expect: seconds(45) })
    const sweep = sweepFrom(600)
    const id = await running(sweep - 599)
    await tick(sweep + 200)
    expect(await viewFindings(store.db)).toMatchObject([{ verdict: 'slow', subject: `job:${id}` }])
  })

  test('is not judged while its loop is blocked, by whomever', async () => {
    await store.worker('w')
    await stall()
    const id = await running()
    await store.sql(`update retoma.worker set blocked_since = $1, blocked_job = $2`, [at(500), id])
    expect((await tick(900)).stalled).toEqual([])
  })
})

describe('a slow attempt', () => {
  test('is reported once, from the instant it was expected to be done, and cleared when it is over', async () => {
    await store.worker('w')
    await kind({ expect: seconds(45) })
    const id = await running()
    await tick(44)
    expect(await viewFindings(store.db)).toEqual([])
    await Promise.all([tick(45), tick(45, { db: store.another() })])
    await tick(50)
    expect(await viewFindings(store.db)).toMatchObject([
      { verdict: 'slow', subject: `job:${id}`, since: at(45), facts: { job: id } },
    ])
    expect(await warnings()).toEqual(['slow'])
    expect(await store.job(id)).toMatchObject({ state: 'running' })
    await store.sql(`update retoma.job set state = 'succeeded', worker_id = null, finished_at = $2 where id = $1`, [
      id,
      at(51),
    ])
    await tick(55)
    expect(await viewFindings(store.db)).toEqual([])
    expect(await warnings()).toEqual(['slow', 'slow over'])
    await tick(60)
    expect(await warnings()).toHaveLength(2)
  })
})

test('what is seen again with other facts is written anew, and reported once', async () => {
  const finding = { verdict: 'slow', subject: 'job:1', since: at(0), job: null, batch: null } as const
  for (const attempt of [1, 2, 3]) await reportFindings(store.db, [{ ...finding, facts: { attempt } }], at(attempt))
  expect(await viewFindings(store.db)).toMatchObject([{ since: at(0), seenAt: at(3), facts: { attempt: 3 } }])
  expect(await warnings()).toEqual(['slow'])
})

describe('a worker whose main loop is blocked', () => {
  test('is reported with the job and the stack of its heartbeat thread, and cleared when it goes round again', async () => {
    await store.worker('w')
    const id = await running()
    await store.sql(
      `update retoma.worker set blocked_since = $1, blocked_job = $2, blocked_attempt = 1, blocked_stack = 'at spin (a.js:1)'`,
      [at(5), id],
    )
    await tick(10)
    await tick(15)
    expect(await viewFindings(store.db)).toMatchObject([
      {
        verdict: 'hung',
        subject: 'worker:w',
        since: at(5),
        facts: { worker: 'w', job: id, stack: 'at spin (a.js:1)', pid: 1 },
      },
    ])
    await store.sql(`update retoma.worker set blocked_since = null`)
    await tick(20)
    expect(await viewFindings(store.db)).toEqual([])
    expect(await warnings()).toEqual(['hung', 'hung over'])
    expect(await store.sql(`select job_id from retoma.event`)).toEqual([{ job_id: id }, { job_id: id }])
  })
})

describe('ready jobs that nobody takes', () => {
  const found = async () =>
    (await viewFindings(store.db)).map(({ subject, facts }) => ({ subject, noWorker: facts.noWorker }))
  const queue = (name = 'q') => store.sql(`insert into retoma.queue (name) values ($1) on conflict do nothing`, [name])

  test('are starved after half a minute, not a second before, once for their queue and kind; taken, they are so no more', async () => {
    await queue()
    await store.putMany(3, 'waiting')
    await tick(29)
    expect(await found()).toEqual([])
    await Promise.all([tick(30), tick(30, { db: store.another() })])
    expect(await found()).toEqual([{ subject: 'queue:q/kind:k', noWorker: true }])
    await store.worker('w', at(31))
    await tick(61)
    expect(await found()).toEqual([])
    expect(await warnings()).toEqual(['starved', 'starved over'])
  })

  test('are so beside a worker that takes only other kinds, or other versions; behind many that are taken, too', async () => {
    await kind({}, 'other')
    await kind({})
    await store.putMany(3000, 'waiting')
    await store.put('waiting', { kind: 'other' })
    const [newer] = await store.putMany(1, 'waiting', { queue: 'v' })
    await queue('v')
    await store.sql(`update retoma.job set version = 2 where id = $1`, [newer])
    await registerWorker(
      store.db,
      { id: 'w', host: 'h', pid: 1, version: '0', queues: { q: 1, v: 1 }, kinds: ['k'] },
      at(0),
    )
    await tick(40)
    expect(await found()).toEqual([
      { subject: 'queue:q/kind:other', noWorker: false },
      { subject: 'queue:v/kind:k/version:2', noWorker: false },
    ])
  })

  test('under a limit are found as well; those of a paused queue or batch, or for later, wait as they should', async () => {
    for (const name of ['q', 'paused', 'later', 'held']) await queue(name)
    await store.sql(`update retoma.queue set paused = true where name = 'paused'`)
    await store.put('waiting', { queue: 'paused' })
    await store.put('waiting', { queue: 'later' })
    await store.sql(`update retoma.job set run_at = $1 where queue = 'later'`, [at(1000)])
    const held = await store.put('waiting', { queue: 'held' })
    await store.sql(`insert into retoma.batch (id, name, kind, queue, policy, state, claims_blocked, priority, created_at)
      values (7, 'b', 'k', 'held', '{}', 'paused', true, 4, $1)`, [at(0)]) // biome-ignore format: one statement
    await store.sql(`update retoma.job set batch_id = 7 where id = $1`, [held])
    await store.put('waiting')
    await store.sql(`update retoma.job set limited = true, limit_key = 'g' where queue = 'q'`)
    await tick(100)
    expect(await found()).toEqual([{ subject: 'queue:q/kind:k', noWorker: true }])
  })

  test('are not reported by the first checks after nobody checked: workers start as well', async () => {
    await queue()
    await store.put('waiting')
    await tick(1000, { since: 971 })
    expect(await found()).toEqual([])
    await tick(1031, { since: 971 })
    expect(await found()).toHaveLength(1)
  })
})

describe('jobs older than maxAge', () => {
  test.each(['waiting', 'running', 'stalled'] as const)(
    'that are %s are failed at maxAge, not a second before, with the kind’s words',
    async state => {
      await kind({ maxAge: hours(24), messages: { overdue: 'too old' } })
      const id = await store.put(state)
      expect(await failOverdue(store.db, 10, at(86_399))).toEqual([])
      expect(await failOverdue(store.db, 10, at(86_400))).toMatchObject([{ id }])
      expect(await store.job(id)).toMatchObject({
        state: 'failed',
        worker_id: null,
        finished_at: at(86_400),
        error: { type: 'overdue', message: 'too old' },
      })
      expect((await store.failures(id)).map(each => each.failure_type)).toEqual(state === 'running' ? ['overdue'] : [])
      expect(await failOverdue(store.db, 10, at(86_401))).toEqual([])
    },
  )

  test('for later are as old as the time since they might have begun; others and those without maxAge are left', async () => {
    await kind({ maxAge: hours(1) })
    await kind({}, 'free')
    const later = await store.put('waiting')
    await store.put('waiting', { kind: 'free' })
    const limited = await store.put('waiting')
    await store.sql(`update retoma.job set run_at = $2 where id = any ($1::bigint[])`, [[later, limited], at(7200)])
    await store.sql(`update retoma.job set limited = true where id = $1`, [limited])
    expect(await failOverdue(store.db, 10, at(10_799))).toEqual([])
    expect(await failOverdue(store.db, 10, at(10_800))).toMatchObject([{ id: later }, { id: limited }])
  })

  test('go in chunks, once by rivals, those that are locked at the next check', async () => {
    await kind({ maxAge: hours(1) })
    const ids = await store.putMany(500, 'waiting')
    const first = await failOverdue(store.db, 50, at(3600))
    expect(first).toHaveLength(50)
    const rest = [store.db, store.another(), store.another()].map(db => failOverdue(db, 1000, at(3600)))
    const all = [...first, ...(await Promise.all(rest)).flat()]
    expect(all.map(each => each.id).sort()).toEqual(ids.sort())
  })

  test('under a limit, and in backoff, are found as well', async () => {
    await kind({ maxAge: hours(1) })
    const gated = await store.put('waiting')
    await store.sql(`update retoma.job set limited = true where id = $1`, [gated])
    const again = await store.put('waiting')
    await store.sql(`update retoma.job set claim_rank = 8, attempt = 2, run_at = $2 where id = $1`, [again, at(4000)])
    expect((await failOverdue(store.db, 10, at(3600))).map(each => each.id).sort()).toEqual([gated, again].sort())
  })
})

describe('jobs that wait for longer than maxWait', () => {
  const itemOf = async (batch: string) => {
    const id = await store.put('waiting')
    await store.sql(`update retoma.job set batch_id = $2 where id = $1`, [id, batch])
    return id
  }
  const overdue = async (seconds: number) => (await failOverdue(store.db, 10, at(seconds))).map(each => each.id).sort()

  test('fail at maxWait, not a second before; a running or a stalled job never does', async () => {
    await kind({ maxWait: hours(24) })
    const [first, limited] = [await store.put('waiting'), await store.put('waiting')]
    await store.sql(`update retoma.job set limited = true where id = $1`, [limited])
    const others = [await store.put('running'), await store.put('stalled')]
    expect(await overdue(86_399)).toEqual([])
    expect(await overdue(86_400)).toEqual([first, limited].sort())
    expect(await store.job(first)).toMatchObject({
      state: 'failed',
      finished_at: at(86_400),
      error: { type: 'overdue', message: 'overdue: no worker took the job within 86400 s' },
    })
    expect(await overdue(10 * 86_400)).toEqual([])
    for (const id of others) expect(await store.job(id)).toMatchObject({ finished_at: null })
  })

  test('count from the instant at which the job became ready, however old the job is', async () => {
    await kind({ maxWait: hours(1) })
    const [delayed, released] = [await store.put('waiting'), await store.put('waiting')]
    await store.sql(`update retoma.job set run_at = $2 where id = $1`, [delayed, at(7200)])
    await store.sql(`update retoma.job set run_at = $2, attempt = 1, claim_rank = 8 where id = $1`, [
      released,
      at(90_000),
    ])
    expect(await overdue(10_799)).toEqual([])
    expect(await overdue(10_800)).toEqual([delayed])
    expect(await overdue(93_599)).toEqual([])
    expect(await overdue(93_600)).toEqual([released])
  })

  test('do not count the pause of the queue or of the batch', async () => {
    await kind({ maxWait: hours(1) })
    const batch = await batchOf('k', {})
    const [alone, item] = [await store.put('waiting'), await itemOf(batch)]
    await store.sql(`update retoma.queue set paused = true`)
    await store.sql(`update retoma.batch set state = 'paused', claims_blocked = true`)
    expect(await overdue(9000)).toEqual([])
    await pauseQueue(store.db, 'q', false, at(10_000))
    expect(await overdue(13_599)).toEqual([])
    expect(await overdue(13_600)).toEqual([alone])
    await applyBatchAction(store.db, 'resumePaused', batch, undefined, at(20_000))
    expect(await overdue(23_599)).toEqual([])
    expect(await overdue(23_600)).toEqual([item])
  })

  test('a batch may have another limit, or none', async () => {
    await kind({ maxWait: hours(1) })
    const [longer, never] = [await batchOf('k', { maxWait: hours(2) }), await batchOf('k', { maxWait: null })]
    const [alone, item] = [await store.put('waiting'), await itemOf(longer)]
    await itemOf(never)
    expect(await overdue(3600)).toEqual([alone])
    expect(await overdue(7199)).toEqual([])
    expect(await overdue(100_000)).toEqual([item])
  })
})

describe('where a statement judges, it judges as the pure function does:', () => {
  test('dead workers', async () => {
    const next = random(7)
    const pick = <T>(...of: T[]): T => of[Math.floor(next() * of.length)]!
    const now = 1000
    for (let round = 0; round < 8; round++) {
      await store.sql(`delete from retoma.worker; delete from retoma.kind`)
      const gap = pick(5, 9.999, 10, 60)
      await store.sql(`update retoma.periodic_lease set at = $1`, [at(now - gap)])
      const orphanAfters = [15, 17, 20, 60].map(seconds)
      for (const orphanAfter of orphanAfters) await kind({ orphanAfter }, `k${orphanAfter}`)
      const expected = new Map<string, string | undefined>()
      for (let i = 0; i < 60; i++) {
        const orphanAfter = pick<Duration>(...orphanAfters)
        const least = Math.min(orphanAfter, seconds(20)) / 1000
        const beat = pick(0, 5, least / 2, least / 2 + 0.001, least, least + 0.001, 19.9, 30, 300)
        const suspected = pick(null, null, 5, 9.999, 10, 30, 300)
        const reads = suspected === null ? 0 : pick(1, 2, 4, 5, 6)
        const kinds = [`k${orphanAfter}`, 'k60000']
        await registerWorker(
          store.db,
          { id: `w${i}`, host: 'h', pid: 1, version: '0', queues: {}, kinds },
          at(now - beat),
        )
        await store.sql(`update retoma.worker set suspected_at = $2, missed_checks = $3 where id = $1`, [
          `w${i}`,
          suspected === null ? null : at(now - suspected),
          reads,
        ])
        const facts = {
          heartbeatMs: beat * 1000,
          suspectedMs: suspected === null ? null : suspected * 1000,
          checks: reads + 1,
          watched: gap < 10,
          orphanAfter: seconds(least),
        }
        expected.set(`w${i}`, workerVerdict(facts))
      }
      const rule = { orphanAfterMs: defaultPolicy.orphanAfter, heartbeatMs: 5000, apartMs: 0 }
      const { judged } = await checkWorkers(store.db, rule, 'all', at(now))
      const found = new Map(judged.map(({ id, dead }) => [id, dead ? 'orphan' : 'suspect']))
      for (const [id, verdict] of expected) expect(found.get(id), `${round} ${id}`).toBe(verdict)
    }
  })

  test('what is overdue, and which attempts are looked at', async () => {
    const next = random(11)
    const pick = <T>(...of: T[]): T => of[Math.floor(next() * of.length)]!
    const now = 10_000
    const thresholds = () => ({
      timeout: pick(seconds(30), seconds(100), minutes(15)),
      stallAfter: pick(null, seconds(60), seconds(100)),
      expect: pick(null, seconds(20), seconds(200)),
      maxAge: pick(null, null, seconds(500), seconds(1000)),
      maxWait: pick(null, null, seconds(500), seconds(1000)),
    })
    const kinds = Array.from({ length: 12 }, (_, i) => ({
      name: `k${i}`,
      policy: {
        ...defaultPolicy,
        ...thresholds(),
        onStall: pick('stall' as const, 'fail' as const),
        maxAttempts: 1,
      },
    }))
    for (const { name, policy } of kinds) await kind(policy, name)
    // Of a kind alone, and of two batches of it that ask for something else.
    const sorts: { name: string; policy: JobPolicy; batch: string | null }[] = []
    for (const { name, policy } of kinds) {
      sorts.push({ name, policy, batch: null })
      for (let i = 0; i < 2; i++) {
        const items = Object.fromEntries(Object.entries(thresholds()).filter(() => pick(true, false)))
        sorts.push({ name, policy: { ...policy, ...items }, batch: await batchOf(name, items) })
      }
    }
    const workers = [null, 10, 80, 120].flatMap(free =>
      ['no', 'by it', 'by another'].map(blocked => ({ free, blocked })),
    )
    for (const [i, { free, blocked }] of workers.entries()) {
      await store.worker(`w${i}`)
      await store.sql(`update retoma.worker set unblocked_at = $2, blocked_since = $3 where id = $1`, [
        `w${i}`,
        free === null ? null : at(now - free),
        blocked === 'no' ? null : at(now - 6),
      ])
    }
    const expected = new Map<string, string | undefined>()
    for (let i = 0; i < 600; i++) {
      const { name, policy, batch } = pick(...sorts)
      const w = Math.floor(next() * workers.length)
      const { free, blocked } = workers[w]!
      // Only a single job can block its worker.
      const mine = blocked === 'by it' ? ('by another' as const) : (blocked as AttemptFacts['blocked'])
      const state = pick('waiting', 'running', 'running', 'running', 'stalled')
      const age = pick(400, 499.999, 500, 900, 1000, 3000)
      const ran = Math.min(age, pick(5, 20, 60, 90, 100, 159.999, 160, 300))
      const quiet = Math.min(ran, pick(1, 60, 99.999, 100, 300))
      const id = await store.put(state as 'running', { kind: name, worker: `w${w}` })
      const begun = state === 'waiting' ? pick(true, false) : true
      await store.sql(
        `update retoma.job set created_at = $2, run_at = $3, started_at = $4, progress_at = $5, attempt = $6, claim_rank = $7, batch_id = $8 where id = $1`,
        [
          id,
          at(now - age),
          at(now - (begun ? 0 : age)),
          at(now - ran),
          at(now - quiet),
          begun ? 1 : 0,
          begun ? 8 : 9,
          batch,
        ],
      )
      const facts: AttemptFacts = {
        runningMs: ran * 1000,
        quietMs: quiet * 1000,
        sweptMs: 0,
        blocked: mine,
        blockedMs: blocked === 'no' ? null : 6000,
        freeMs: free === null ? null : free * 1000,
        watchedMs: milliseconds(1e9),
      }
      const waited = state === 'waiting' && !begun ? age * 1000 : 0
      const overdue =
        (policy.maxAge !== null && age * 1000 >= policy.maxAge) || (policy.maxWait !== null && waited >= policy.maxWait)
      expected.set(id, overdue ? 'overdue' : state === 'running' ? judgeAttempt(facts, policy)?.verdict : undefined)
    }
    expect(new Set(expected.values()).size).toBe(5)
    await failOverdue(store.db, 1000, at(now))
    await tick(now)
    const rows = await store.sql<{ id: string; what: string | null }>(
      `select id, error ->> 'type' as what from retoma.job`,
    )
    const slow = new Set(
      (await viewFindings(store.db)).filter(each => each.verdict === 'slow').map(each => each.subject),
    )
    for (const { id, what } of rows)
      expect(what ?? (slow.has(`job:${id}`) ? 'slow' : undefined), id).toBe(expected.get(id))
  })
})
