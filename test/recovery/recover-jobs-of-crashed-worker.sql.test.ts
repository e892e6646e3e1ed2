/** The effect of each crash of a process on each of its jobs, in real SQL, at instants of the test. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { claimJobs } from '../../src/claiming/sql/claim.ts'
import type { Db } from '../../src/database/db.ts'
import { saveCheckpoints } from '../../src/execution/sql/checkpoint.ts'
import { backoffAfter } from '../../src/jobs/model/backoff.ts'
import type { CrashSuspicion } from '../../src/jobs/model/crash-suspicion.ts'
import { defaultPolicy, type JobPolicy } from '../../src/jobs/model/policy.ts'
import { applyJobAction } from '../../src/jobs/sql/job-actions.ts'
import { registerKinds } from '../../src/jobs/sql/job-kind.ts'
import { hours, milliseconds, minutes, seconds } from '../../src/lib/values/duration.ts'
import { recoverCrashedWorker } from '../../src/recovery/sql/recover-jobs-of-crashed-worker.ts'
import { orphanMessage, recoverOrphans } from '../../src/recovery/sql/recover-jobs-of-dead-worker.ts'
import type { CrashReport, SuspectedJob } from '../../src/supervisor/model/crash-report.ts'
import { leaveWorker } from '../../src/worker/sql/lease-heartbeat.ts'
import { settleJobs } from '../../src/worker/sql/settle.ts'
import { faulty, linkLost } from '../support/faulty-db.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()

const crashReport = (given: Partial<CrashReport> = {}): CrashReport => ({
  how: 'asked',
  why: 'SIGKILL',
  signal: 'SIGKILL',
  exitCode: null,
  memoryBytes: 1000,
  oom: false,
  started: [],
  suspectedJob: null,
  stderr: null,
  ...given,
})
const unexplained = (started: readonly string[]) =>
  crashReport({ how: 'unexplained', why: 'SIGSEGV', signal: 'SIGSEGV', started: started.map(first), stderr: 'oh' })
const named = (id: string, started: readonly string[], given: Partial<SuspectedJob> = {}) =>
  crashReport({
    how: 'named',
    why: 'exit code 1',
    signal: null,
    exitCode: 1,
    started: started.map(first),
    suspectedJob: { job: id, attempt: 1, how: 'uncaught', message: 'boom', stack: 'at boom', ...given },
  })
const first = (id: string) => `${id}/1`
const recoverCrashed = (what: CrashReport, seconds = 10, db: Db = store.db) =>
  recoverCrashedWorker(db, 'w', what, at(seconds), () => 0)

interface Row {
  state: string
  failures: number
  crashes: number
  restarts: number
  crash_suspicion: CrashSuspicion | null
  run_at: Date
  error: { type: string; code: string | null; message: string } | null
}
const rowOf = async (id: string) => (await store.job(id)) as unknown as Row
const policy = (given: Partial<JobPolicy>) =>
  registerKinds(store.db, [{ kind: 'k', queue: 'q', version: 1, policy: { ...defaultPolicy, ...given } }], at(0))
const setCare = (id: string, care: Partial<CrashSuspicion>) =>
  store.sql(`update retoma.job set crash_suspicion = $2 where id = $1`, [
    id,
    JSON.stringify({ level: 0, crashedWorker: null, unexplainedCrashes: 0, restartsWithoutProgress: 0, ...care }),
  ])
const evidence = async (id: string) =>
  store.sql(
    `select attempt, failure_type, code, message, stack, worker, evidence from retoma.failure where job_id = $1 order by attempt`,
    [id],
  )
/** Back to a worker, as its next attempt would be: attempt 1 again, so that certificates stay short. */
const again = (id: string) =>
  store.sql(
    `with gone as (delete from retoma.failure where job_id = $1)
     update retoma.job set state = 'running', worker_id = 'w', started_at = $2, progress_at = null where id = $1`,
    [id, at(0)],
  )

describe('of a death that was asked for', () => {
  test('what had started goes back at once, a restart is counted, and nothing is charged', async () => {
    await store.worker('w')
    const id = await store.put('running')
    expect(await recoverCrashed(crashReport({ started: [first(id)] }))).toEqual([
      { id, queue: 'q', kind: 'k', state: 'waiting', worker: 'w', effect: 'restart' },
    ])
    expect(await rowOf(id)).toMatchObject({
      state: 'waiting',
      failures: 0,
      crashes: 0,
      restarts: 1,
      run_at: at(10),
      claim_rank: 8,
      crash_suspicion: { level: 0, crashedWorker: null, unexplainedCrashes: 0, restartsWithoutProgress: 1 },
      error: { type: 'orphan', message: orphanMessage },
    })
    expect(await evidence(id)).toMatchObject([{ attempt: 1, failure_type: 'orphan', worker: 'w' }])
  })

  test('what was claimed and never begun goes back with nothing noted, and is no start', async () => {
    await store.worker('w')
    const id = await store.put('running')
    expect(await recoverCrashed(crashReport())).toMatchObject([{ id, effect: 'unstarted', state: 'waiting' }])
    expect(await rowOf(id)).toMatchObject({
      state: 'waiting', restarts: 0, crash_suspicion: null, error: null, run_at: at(10), attempt: 1, uncounted_attempts: 1,
    }) // biome-ignore format: one row
    expect(await evidence(id)).toEqual([])
    expect(await store.sql(`select from retoma.event`)).toEqual([])
  })

  test('of five workers with 100 jobs none is isolated or charged', async () => {
    const workers = ['w1', 'w2', 'w3', 'w4', 'w5']
    for (const worker of workers) {
      await store.worker(worker)
      const ids = await store.putMany(20, 'running', { worker })
      await recoverCrashedWorker(store.db, worker, crashReport({ started: ids.map(first) }), at(1))
    }
    const rows = await store.sql(`
      select state, failures, crashes, restarts, crash_suspicion ->> 'level' as level, count(*)::int as n
      from retoma.job group by 1, 2, 3, 4, 5`)
    expect(rows).toEqual([{ state: 'waiting', failures: 0, crashes: 0, restarts: 1, level: '0', n: 100 }])
  })
})

describe('of a death that one job is named for', () => {
  test('that job pays a crash, with the evidence, and waits out its backoff; the others pay nothing', async () => {
    await store.worker('w')
    const [suspectedJob, other, unbegun] = await store.putMany(3, 'running')
    await recoverCrashed(named(suspectedJob!, [suspectedJob!, other!]))
    expect(await rowOf(suspectedJob!)).toMatchObject({
      state: 'waiting',
      failures: 0,
      crashes: 1,
      restarts: 0,
      crash_suspicion: null,
      run_at: at(15),
      error: { type: 'crash', code: null, message: 'boom' },
    })
    expect(await evidence(suspectedJob!)).toMatchObject([
      {
        failure_type: 'crash',
        stack: 'at boom',
        evidence: { exitCode: 1, signal: null, memoryBytes: 1000, oom: false },
      },
    ])
    // The other job did not crash the process: the restart is no crash of this job, however often it happens.
    expect(await rowOf(other!)).toMatchObject({
      state: 'waiting',
      crashes: 0,
      restarts: 1,
      crash_suspicion: null,
      run_at: at(10),
    })
    expect(await rowOf(unbegun!)).toMatchObject({ state: 'waiting', crashes: 0, restarts: 0 })
  })

  test.each([
    ['uncaught', 'crash'],
    ['exit', 'crash'],
    ['memory', 'crash'],
    ['timeout', 'timeout'],
  ] as const)('by %s it is kept as %s', async (how, what) => {
    await store.worker('w')
    const id = await store.put('running')
    await recoverCrashed(named(id, [id], { how }))
    expect(await evidence(id)).toMatchObject([{ failure_type: what, evidence: { how } }])
    expect(await rowOf(id)).toMatchObject({ crashes: 1 })
  })

  test('one that has no tries left fails, one that has crashed maxCrashes times fails as poison', async () => {
    await policy({ maxAttempts: 2, maxCrashes: 3 })
    await store.worker('w')
    const id = await store.put('running')
    await store.sql(`update retoma.job set failures = 1, key = 'a', unique_until = 'final' where id = $1`, [id])
    await recoverCrashed(named(id, [id]))
    expect(await store.job(id)).toMatchObject({
      state: 'failed',
      finished_at: at(10),
      unique_until: null,
      error: { type: 'crash', code: null },
    })
    await policy({ maxAttempts: 10, maxCrashes: 2 })
    const poison = await store.put('running')
    await store.sql(`update retoma.job set crashes = 1 where id = $1`, [poison])
    await recoverCrashed(named(poison, [poison]))
    expect(await rowOf(poison)).toMatchObject({
      state: 'failed',
      crashes: 2,
      error: { type: 'crash', code: 'poison', message: expect.stringMatching(/crashed 2 times.*boom/) },
    })
    expect(await evidence(poison)).toMatchObject([{ code: 'poison', evidence: { exitCode: 1 } }])
  })

  test('after its outcome has landed, nobody pays', async () => {
    await store.worker('w')
    const [suspectedJob, other] = await store.putMany(2, 'running')
    await settleJobs(
      store.db,
      'w',
      [{ id: suspectedJob!, attempt: 1, outcome: { state: 'succeeded', result: '1' } }],
      at(1),
    )
    expect(await recoverCrashed(named(suspectedJob!, [suspectedJob!, other!]))).toMatchObject([
      { id: other, effect: 'restart' },
    ])
    expect(await rowOf(suspectedJob!)).toMatchObject({ state: 'succeeded', crashes: 0 })
  })

  test('it backs off as its kind says, also after a thousand crashes', async () => {
    const backoff = { first: seconds(2), factor: 3, max: minutes(1), jitter: 0.5 }
    await policy({ maxAttempts: 1_000_000, maxCrashes: 1_000_000, backoff })
    for (const [crashes, wait] of [
      [0, 2],
      [1, 6],
      [2, 18],
      [999, 60],
    ] as const) {
      await store.worker(`w${crashes}`)
      const id = await store.put('running', { worker: `w${crashes}` })
      await store.sql(`update retoma.job set crashes = $2 where id = $1`, [id, crashes])
      await recoverCrashedWorker(store.db, `w${crashes}`, named(id, [id]), at(0), () => 0)
      expect(await rowOf(id)).toMatchObject({ run_at: at(wait) })
    }
  })
})

describe('of a death that nobody can explain', () => {
  test('those that had started are suspects: apart at first, alone the next time, and nothing is charged yet', async () => {
    await store.worker('w')
    const [a, b, unbegun] = await store.putMany(3, 'running')
    await recoverCrashed(unexplained([a!, b!]))
    const suspect = { state: 'waiting', crashes: 0, failures: 0, restarts: 1, run_at: at(10) }
    for (const id of [a!, b!])
      expect(await rowOf(id)).toMatchObject({
        ...suspect,
        crash_suspicion: { level: 1, crashedWorker: 'w', unexplainedCrashes: 1 },
      })
    expect(await rowOf(unbegun!)).toMatchObject({ restarts: 0, crash_suspicion: null })
    await Promise.all([a!, b!].map(again))
    await recoverCrashed(unexplained([a!, b!]))
    for (const id of [a!, b!])
      expect(await rowOf(id)).toMatchObject({
        crash_suspicion: { level: 2, crashedWorker: 'w', unexplainedCrashes: 2 },
      })
  })

  test('one that dies alone pays for it, and for the deaths before: poison is found at the third', async () => {
    await store.worker('w')
    const [id, other] = await store.putMany(2, 'running')
    for (let times = 0; times < 2; times++) {
      await recoverCrashed(unexplained([id!, other!]))
      await Promise.all([id!, other!].map(again))
    }
    await store.sql(`update retoma.job set state = 'waiting', worker_id = null where id = $1`, [other])
    expect(await recoverCrashed(unexplained([id!]), 30)).toMatchObject([{ id, effect: 'crash', state: 'failed' }])
    expect(await store.job(id!)).toMatchObject({
      state: 'failed',
      crashes: 3,
      finished_at: at(30),
      error: { code: 'poison', message: expect.stringContaining('SIGSEGV') },
    })
    expect(await evidence(id!)).toMatchObject([
      { failure_type: 'crash', evidence: { signal: 'SIGSEGV', stderr: 'oh' } },
    ])
    expect(await rowOf(other!)).toMatchObject({ crashes: 0, failures: 0 })
  })

  test('one that is named after deaths that nobody could explain pays for those, too, and for each once', async () => {
    await policy({ maxCrashes: 10, maxAttempts: 10 })
    await store.worker('w')
    const id = await store.put('running')
    await setCare(id, { level: 2, crashedWorker: 'before', unexplainedCrashes: 2 })
    await recoverCrashed(named(id, [id]))
    expect(await rowOf(id)).toMatchObject({
      crashes: 3,
      crash_suspicion: { level: 2, crashedWorker: null, unexplainedCrashes: 0 },
    })
    await again(id)
    await recoverCrashed(named(id, [id]))
    expect(await rowOf(id)).toMatchObject({ crashes: 4 })
  })

  test('one that was the only one to have started pays at once, and runs alone from then on', async () => {
    await policy({ maxAttempts: 5 })
    await store.worker('w')
    const [id] = await store.putMany(2, 'running')
    await recoverCrashed(unexplained([id!]))
    expect(await rowOf(id!)).toMatchObject({
      state: 'waiting',
      crashes: 1,
      run_at: at(15),
      crash_suspicion: { level: 2, crashedWorker: null, unexplainedCrashes: 0 },
    })
    for (const crashes of [2, 3]) {
      await again(id!)
      await recoverCrashed(unexplained([id!]))
      expect(await rowOf(id!)).toMatchObject({ crashes })
    }
    expect(await rowOf(id!)).toMatchObject({ state: 'failed', error: { code: 'poison' } })
  })

  test('one that ended before, and is still in the notes, is no suspect and keeps nobody from being alone', async () => {
    await store.worker('w')
    const [done, id] = await store.putMany(2, 'running')
    await settleJobs(store.db, 'w', [{ id: done!, attempt: 1, outcome: { state: 'succeeded', result: '1' } }], at(1))
    expect(await recoverCrashed(unexplained([done!, id!]))).toMatchObject([{ id, effect: 'crash' }])
    expect(await rowOf(done!)).toMatchObject({ state: 'succeeded', crash_suspicion: null })
  })

  test('one that ran in a process of its own, beside others, has not killed theirs', async () => {
    await store.worker('w')
    const [alone, other] = await store.putMany(2, 'running')
    await setCare(alone!, { level: 2, crashedWorker: 'before', unexplainedCrashes: 2 })
    await recoverCrashed(unexplained([alone!, other!]))
    expect(await rowOf(alone!)).toMatchObject({
      state: 'waiting',
      crashes: 0,
      crash_suspicion: { level: 2, crashedWorker: 'before', unexplainedCrashes: 2, restartsWithoutProgress: 1 },
    })
    expect(await rowOf(other!)).toMatchObject({
      crash_suspicion: { level: 1, crashedWorker: 'w', unexplainedCrashes: 1 },
    })
  })

  test('one that dies in a process of its own pays for the deaths before, too, and for each once', async () => {
    const id = await store.put('running')
    await setCare(id, { level: 2, crashedWorker: 'before', unexplainedCrashes: 2 })
    const failure = { type: 'crash', message: 'SIGSEGV', code: null, stack: null } as const
    const outcome = { state: 'waiting', delay: seconds(1), failure } as const
    await settleJobs(store.db, 'w', [{ id, attempt: 1, outcome }], at(1))
    expect(await rowOf(id)).toMatchObject({
      crashes: 3,
      crash_suspicion: { level: 2, crashedWorker: null, unexplainedCrashes: 0 },
    })
    await again(id)
    await settleJobs(store.db, 'w', [{ id, attempt: 1, outcome }], at(1))
    expect(await rowOf(id)).toMatchObject({ crashes: 4 })
  })

  test('a suspect that ends normally is cleared', async () => {
    const id = await store.put('running')
    await setCare(id, { level: 1, crashedWorker: 'before', unexplainedCrashes: 1 })
    await settleJobs(store.db, 'w', [{ id, attempt: 1, outcome: { state: 'succeeded', result: '1' } }], at(1))
    expect(await rowOf(id)).toMatchObject({ crash_suspicion: null })
  })
})

describe('a kind that wants more than the verdict', () => {
  test.each([
    ['onOrphan fail', { onOrphan: 'fail' }],
    ['onOrphan stall', { onOrphan: 'stall' }],
    ['a longer orphanAfter', { orphanAfter: minutes(2) }],
  ] as const)('%s: its innocent jobs stay for the watchdog, those that never began do not', async (_, given) => {
    await policy(given)
    await store.worker('w')
    const [started, unbegun] = await store.putMany(2, 'running')
    expect(await recoverCrashed(crashReport({ started: [first(started!)] }))).toMatchObject([
      { id: unbegun, effect: 'unstarted' },
    ])
    expect(await store.job(started!)).toMatchObject({ state: 'running', worker_id: 'w', restarts: 0 })
    const back = await recoverOrphans(store.db, 10, at(120))
    expect(back).toMatchObject([{ id: started }])
    expect(await rowOf(started!)).toMatchObject({ restarts: 1 })
  })

  test('onOrphan stall: its suspected job pays all the same', async () => {
    await policy({ onOrphan: 'stall', maxAttempts: 3 })
    await store.worker('w')
    const id = await store.put('running')
    expect(await recoverCrashed(named(id, [id]))).toMatchObject([{ id, effect: 'crash', state: 'waiting' }])
  })

  test.each(['uncaught', 'exit', 'memory'] as const)(
    'onOrphan fail: its suspected job, named by %s, fails as every orphan of the kind: at orphanAfter and in the words of the kind',
    async how => {
      await policy({
        onOrphan: 'fail',
        maxAttempts: 3,
        orphanAfter: minutes(2),
        messages: { orphan: 'its worker died' },
      })
      await store.worker('w')
      const [id, other] = [await store.put('running'), await store.put('running', { kind: 'other' })]
      expect(await recoverCrashed(named(id, [id, other], { how }))).toMatchObject([{ id: other, effect: 'restart' }])
      expect(await recoverOrphans(store.db, 10, at(119))).toEqual([])
      expect(await recoverOrphans(store.db, 10, at(120))).toMatchObject([{ id, state: 'failed' }])
      expect(await rowOf(id)).toMatchObject({ crashes: 0, error: { type: 'orphan', message: 'its worker died' } })
      expect(await evidence(id)).toMatchObject([{ failure_type: 'orphan', evidence: { why: 'exit code 1' } }])
    },
  )

  test('onOrphan fail: its suspected job, named by a timeout, has timed out', async () => {
    await policy({ onOrphan: 'fail', maxAttempts: 1, orphanAfter: minutes(2) })
    await store.worker('w')
    const id = await store.put('running')
    await recoverCrashed(named(id, [id], { how: 'timeout' }))
    expect(await rowOf(id)).toMatchObject({ state: 'failed', error: { type: 'timeout' } })
  })

  test.each(['fail', 'stall'] as const)('onOrphan %s: after a requested stop its jobs are released', async onOrphan => {
    await policy({ onOrphan, orphanAfter: minutes(2) })
    await store.worker('w')
    const [id, unbegun] = await store.putMany(2, 'running')
    const report = crashReport({ stopRequested: true, exitCode: 0, signal: null, started: [first(id!)] })
    expect(await recoverCrashed(report)).toMatchObject([{ effect: 'released' }, { effect: 'unstarted' }])
    expect(await rowOf(id!)).toMatchObject({ state: 'waiting', restarts: 0, crash_suspicion: null, error: null })
    expect(await store.job(unbegun!)).toMatchObject({ state: 'waiting', uncounted_attempts: 1 })
    expect(await evidence(id!)).toEqual([])
  })

  test('a report about a worker that stopped by itself releases its jobs', async () => {
    await policy({ onOrphan: 'fail', orphanAfter: minutes(2) })
    await store.worker('w')
    const id = await store.put('running')
    await leaveWorker(store.db, 'w', 1000, at(5))
    expect(await recoverCrashed(crashReport({ started: [first(id)] }))).toMatchObject([{ id, effect: 'released' }])
    expect(await rowOf(id)).toMatchObject({ state: 'waiting', restarts: 0, error: null })
  })
})

test('the backoff of a crash is the backoff of a failure, jitter included', async () => {
  await store.worker('w')
  const backoffs = fc.record({
    first: fc.integer({ min: 0, max: hours(1) }).map(milliseconds),
    factor: fc.double({ min: 1, max: 100, noNaN: true }),
    max: fc.integer({ min: 1, max: hours(48) }).map(milliseconds),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  const counts = fc.oneof(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 13, max: 500_000 }))
  const randoms = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
  await fc.assert(
    fc.asyncProperty(backoffs, counts, randoms, async (backoff, failures, random) => {
      await policy({ backoff, maxAttempts: 1_000_000, maxCrashes: 1_000_000 })
      const id = await store.put('running')
      await store.sql(`update retoma.job set failures = $2 where id = $1`, [id, failures])
      await recoverCrashedWorker(store.db, 'w', named(id, [id]), at(10), () => random)
      const delay = (await rowOf(id)).run_at.getTime() - at(10).getTime()
      expect(Math.abs(delay - backoffAfter(failures + 1, backoff, random))).toBeLessThanOrEqual(1)
    }),
    { numRuns: 40, examples: [[{ ...defaultPolicy.backoff, jitter: 1 }, 1, 0.5]] },
  )
})

describe('restarts in a row', () => {
  const restart = {
    'without a certificate': () => recoverOrphans(store.db, 10, at(5)),
    'asked for': (id: string) => recoverCrashed(crashReport({ started: [first(id)] }), 5),
  }
  describe.each(Object.entries(restart))('%s', (_, restarted) => {
    test('three without a step of progress make a job run alone, ten stall it for a person', async () => {
      const id = await store.put('running')
      for (let times = 1; times <= 10; times++) {
        await again(id)
        await restarted(id)
        const { state, crash_suspicion, restarts } = await rowOf(id)
        expect({
          state,
          restarts,
          level: crash_suspicion?.level,
          restartsWithoutProgress: crash_suspicion?.restartsWithoutProgress,
        }).toEqual({
          state: times < 10 ? 'waiting' : 'stalled',
          restarts: times,
          level: times < 3 ? 0 : 2,
          restartsWithoutProgress: times,
        })
      }
      expect(await rowOf(id)).toMatchObject({ failures: 0, error: { type: 'orphan', code: 'too_many_restarts' } })
      expect(await evidence(id)).toMatchObject([{ code: 'too_many_restarts' }])
      await applyJobAction(store.db, 'resume', id, at(6))
      expect(await rowOf(id)).toMatchObject({ state: 'waiting', crash_suspicion: null })
    })

    test.each(['a step', 'a place'])('%s of this attempt begins the row anew', async what => {
      const id = await store.put('running')
      await setCare(id, { level: 2, restartsWithoutProgress: 9 })
      await store.sql(`update retoma.job set started_at = $2 where id = $1`, [id, at(0)])
      if (what === 'a place') await store.sql(`update retoma.job set progress_at = $2 where id = $1`, [id, at(1)])
      else await saveCheckpoints(store.db, 'w', [{ id, attempt: 1, name: 's', value: '1' }], at(1))
      await restarted(id)
      expect(await rowOf(id)).toMatchObject({ state: 'waiting', restarts: 1, crash_suspicion: null })
    })

    test('a step of an earlier attempt does not', async () => {
      const id = await store.put('running')
      await saveCheckpoints(store.db, 'w', [{ id, attempt: 1, name: 's', value: '1' }], at(1))
      await store.sql(`update retoma.job set attempt = 2, started_at = $2, progress_at = $3 where id = $1`, [
        id,
        at(2),
        at(1),
      ])
      await (_ === 'asked for' ? recoverCrashed(crashReport({ started: [`${id}/2`] }), 5) : restarted(id))
      expect(await rowOf(id)).toMatchObject({ crash_suspicion: { restartsWithoutProgress: 1 } })
    })
  })

  test('an unexplained death is one of them, too: whatever takes the process each time, it ends', async () => {
    await store.worker('w')
    const [id, other] = await store.putMany(2, 'running')
    for (let times = 1; times <= 10; times++) {
      await Promise.all([id!, other!].map(again))
      await recoverCrashed(unexplained([id!, other!]))
    }
    for (const each of [id!, other!])
      expect(await rowOf(each)).toMatchObject({ state: 'stalled', crashes: 0, error: { code: 'too_many_restarts' } })
  })
})

describe('a burial', () => {
  test('keeps the crash report with the worker, and what of its notes was still open', async () => {
    await store.worker('w')
    const [id] = await store.putMany(2, 'running')
    await recoverCrashed({ ...unexplained([id!]), started: [first(id!), '999/4'], stderr: 'a\u0000b\ud800' }, 10)
    expect(await store.sql(`select dead_at, crash_report from retoma.worker`)).toEqual([
      {
        dead_at: at(10),
        crash_report: {
          how: 'unexplained',
          why: 'SIGSEGV',
          signal: 'SIGSEGV',
          exitCode: null,
          memoryBytes: 1000,
          oom: false,
          suspectedJob: null,
          stderr: 'ab\ufffd',
          started: [first(id!)],
        },
      },
    ])
  })

  test('done twice moves and charges nothing the second time, also when the first answer was lost', async () => {
    await store.worker('w')
    const [suspectedJob, other] = await store.putMany(2, 'running')
    const db = faulty(store.db)
    db.fail('crashed_worker_recover', 'after', linkLost())
    await expect(recoverCrashed(named(suspectedJob!, [suspectedJob!, other!]), 10, db)).rejects.toThrow(
      'Connection terminated',
    )
    const once = [await store.job(suspectedJob!), await store.job(other!)]
    expect(once).toMatchObject([{ crashes: 1 }, { restarts: 1 }])
    expect(await recoverCrashed(named(suspectedJob!, [suspectedJob!, other!]), 20, db)).toEqual([])
    expect([await store.job(suspectedJob!), await store.job(other!)]).toEqual(once)
    expect(await store.sql(`select dead_at, crash_report -> 'started' as started from retoma.worker`)).toEqual([
      { dead_at: at(10), started: [first(suspectedJob!), first(other!)] },
    ])
  })

  test('and watchdogs at once move each job once', async () => {
    await store.worker('w')
    await store.sql(`update retoma.worker set dead_at = $1`, [at(0)])
    const ids = await store.putMany(300, 'running')
    const dbs = Array.from({ length: 4 }, () => store.another())
    const [crashed, ...orphans] = await Promise.all([
      recoverCrashed(named(ids[150]!, ids), 10, dbs[0]),
      ...dbs.slice(1).map(db => recoverOrphans(db, 200, at(10))),
    ])
    const moved = [crashed!, ...orphans].flat().map(each => each.id)
    expect(moved.toSorted()).toEqual(ids.toSorted())
    const [sum] = await store.sql(`select sum(restarts + crashes)::int as n, max(crashes) as most from retoma.job`)
    expect(sum).toMatchObject({ n: 300 })
    expect(await store.sql(`select from retoma.failure`)).toHaveLength(300)
  })

  test('waits for a row that somebody has locked, and then goes by what it finds', async () => {
    await store.worker('w')
    const [suspectedJob, cancelled] = await store.putMany(2, 'running')
    let recovering: Promise<unknown> | undefined
    await store.another().transaction(async client => {
      await client.query(`select from retoma.job where id = $1 for update`, [suspectedJob])
      await client.query(
        `update retoma.job set state = 'cancelled', worker_id = null, finished_at = now() where id = $1`,
        [cancelled],
      )
      recovering = recoverCrashed(named(suspectedJob!, [suspectedJob!, cancelled!]))
      const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      await expect.poll(async () => (await store.sql(waits)).length).toBe(1)
    })
    expect(await recovering).toMatchObject([{ id: suspectedJob, effect: 'crash' }])
    expect(await rowOf(cancelled!)).toMatchObject({ state: 'cancelled', restarts: 0 })
  })

  test('of a worker whose row is gone moves its jobs; one that holds nothing moves nothing', async () => {
    const id = await store.put('running')
    expect(await recoverCrashed(crashReport({ started: [first(id)] }))).toHaveLength(1)
    expect(await recoverCrashed(crashReport())).toEqual([])
  })

  test('of the largest worker there may be stays within its deadline: its cost grows with its jobs, not with their square', async () => {
    // As after a night in which thousands were done and removed: PostgreSQL takes the table for empty (docs/adr/0005-plans.md).
    await store.sql(`alter table retoma.job set (autovacuum_enabled = off)`)
    await store.putMany(10_000, 'succeeded')
    await store.sql(`delete from retoma.job`)
    await store.sql(`analyze retoma.job`)
    await store.worker('w')
    const ids = await store.putMany(10_000, 'running')
    expect(await recoverCrashed(unexplained(ids))).toHaveLength(10_000)
  })

  test('takes a large worker in chunks, and it is dead with the last of them', async () => {
    await store.worker('w')
    const ids = await store.putMany(2001, 'running')
    const chunks: number[] = []
    const run: Db['run'] = async (statement, values, deadlineMs) => {
      const rows = await store.db.run(statement, values, deadlineMs)
      chunks.push(rows.length)
      const [worker] = await store.sql(
        `select dead_at, jsonb_array_length(crash_report -> 'started') as begun from retoma.worker`,
      )
      expect(worker).toEqual({ dead_at: chunks.length < 3 ? null : at(10), begun: 2001 })
      return rows as never
    }
    const recovered = await recoverCrashed(unexplained(ids), 10, { ...store.db, run })
    expect(chunks).toEqual([1000, 1000, 1])
    expect(recovered.map(each => each.id)).toEqual(ids)
    expect(new Set(recovered.map(each => each.effect))).toEqual(new Set(['suspect']))
  })

  test('goes on where one that was cut off between two chunks has ended, and nobody is charged for being the last', async () => {
    await store.worker('w')
    const ids = await store.putMany(1001, 'running')
    const db = faulty(store.db)
    db.fail('crashed_worker_recover', 'after', linkLost())
    await expect(recoverCrashed(unexplained(ids), 10, db)).rejects.toThrow('Connection terminated')
    expect(await recoverCrashed(unexplained(ids), 20, db)).toMatchObject([
      { id: ids[1000], effect: 'suspect', state: 'waiting' },
    ])
    const sums = `select sum(restarts)::int as restarts, sum(crashes)::int as crashes, count(worker_id)::int as held from retoma.job`
    expect(await store.sql(sums)).toEqual([{ restarts: 1001, crashes: 0, held: 0 }])
  })

  test('that never gets through leaves its jobs to the watchdog, who takes them in chunks of its own', async () => {
    await store.worker('w')
    const ids = await store.putMany(1001, 'running')
    const db = faulty(store.db)
    db.fail('crashed_worker_recover', 'after', linkLost())
    await expect(recoverCrashed(unexplained(ids), 10, db)).rejects.toThrow('Connection terminated')
    // Nobody comes back to it; its heartbeat is missed.
    await store.sql(`update retoma.worker set suspected_at = $1, dead_at = $2`, [at(20), at(30)])
    expect(await recoverOrphans(store.db, 500, at(30))).toMatchObject([{ id: ids[1000], state: 'waiting' }])
    expect(await rowOf(ids[1000]!)).toMatchObject({ restarts: 1, crashes: 0 })
  })

  test('takes nothing from the next attempt of a job that is not its worker’s any more', async () => {
    await store.worker('w')
    const id = await store.put('running', { worker: 'live', attempt: 1 })
    expect(await recoverCrashed(named(id, [id]))).toEqual([])
    expect(await rowOf(id)).toMatchObject({ state: 'running', crashes: 0 })
  })

  test('a claim that was on its way then is back at the next tick, with nothing noted', async () => {
    await store.worker('w')
    const [started] = await store.putMany(1, 'running')
    await recoverCrashed(crashReport({ started: [first(started!)] }))
    const late = await store.put('running')
    expect(await recoverOrphans(store.db, 10, at(11))).toMatchObject([{ id: late, state: 'waiting' }])
    expect(await rowOf(late)).toMatchObject({
      restarts: 0,
      crash_suspicion: null,
      error: null,
      attempt: 1,
      uncounted_attempts: 1,
    })
    expect(await evidence(late)).toEqual([])
  })

  test('ends the worker: it claims nothing more', async () => {
    await store.worker('w')
    await recoverCrashed(crashReport())
    await store.put('waiting')
    const wants = [{ queue: 'q', want: 1 }]
    expect(await claimJobs(store.db, { wants, kinds: ['k'], worker: 'w' }, at(20))).toEqual([])
  })

  test('notes an event for what it moved, releases limit counters and counts the batch', async () => {
    await store.worker('w')
    const [suspectedJob, other] = await store.putMany(2, 'running')
    await store.sql(`update retoma.queue set limits = '{"concurrency": 5}', limited = true where name = 'q'`)
    await store.sql(`insert into retoma.limit_counter (queue, group_key, running, used_at) values ('q', '', 2, $1)`, [
      at(0),
    ])
    await store.sql(`update retoma.job set limited = true, batch_id = 7, ref = 'r' || id`)
    await recoverCrashed(named(suspectedJob!, [suspectedJob!, other!]))
    expect(await store.sql(`select running from retoma.limit_counter`)).toEqual([{ running: 0 }])
    expect(await store.sql(`select sum(released)::int as released from retoma.batch_count where batch_id = 7`)).toEqual(
      [{ released: 2 }],
    )
    const reported = await store.sql(
      `select job_id as id, data ->> 'failure_type' as type, data ->> 'to' as to from retoma.event order by id`,
    )
    expect(reported.toSorted((a, b) => Number(a.id) - Number(b.id))).toEqual([
      { id: suspectedJob, type: 'crash', to: 'waiting' },
      { id: other, type: 'orphan', to: 'waiting' },
    ])
  })
})
