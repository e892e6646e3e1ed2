/** Every transition in every state on a real database, against the table the docs are printed from. */
import { beforeEach, describe, expect, test } from 'vitest'
import { claimJobs, releaseClaims } from '../../src/claiming/sql/claim.ts'
import { defaultPolicy, type PolicyAction } from '../../src/jobs/model/policy.ts'
import { type JobState, states, transitions } from '../../src/jobs/model/state.ts'
import { applyJobAction, type JobActionName } from '../../src/jobs/sql/job-actions.ts'
import { registerKinds } from '../../src/jobs/sql/job-kind.ts'
import { milliseconds } from '../../src/lib/values/duration.ts'
import { failOverdue } from '../../src/recovery/sql/expired-jobs.ts'
import { endAttempts } from '../../src/recovery/sql/late-attempts.ts'
import { recoverCrashedWorker } from '../../src/recovery/sql/recover-jobs-of-crashed-worker.ts'
import { recoverOrphans } from '../../src/recovery/sql/recover-jobs-of-dead-worker.ts'
import type { CrashReport } from '../../src/supervisor/model/crash-report.ts'
import { type SettleRow, settleJobs } from '../../src/worker/sql/settle.ts'
import { gate } from '../support/engine.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()
beforeEach(() => store.worker('w2'))
const failure = { type: 'error', message: 'no', code: null, stack: null } as const

const settle = (outcome: SettleRow['outcome']) => (id: string) =>
  settleJobs(store.db, 'w', [{ id, attempt: 1, outcome }], at(5))
const recover = (onOrphan: PolicyAction) => async () => {
  await registerKinds(store.db, [{ kind: 'k', queue: 'q', version: 1, policy: { ...defaultPolicy, onOrphan } }], at(5))
  await recoverOrphans(store.db, 10, at(5))
}
const recoverCrashed =
  (how: CrashReport['how'], crashes = 0) =>
  async (id: string) => {
    await store.sql(`update retoma.job set crashes = $2 where id = $1 and state = 'running'`, [id, crashes])
    const suspectedJob = { job: id, attempt: 1, how: 'exit', message: 'exit', stack: null } as const
    const died = { how, why: 'exit', signal: null, exitCode: 1, memoryBytes: null, oom: false, stderr: null }
    await recoverCrashedWorker(
      store.db,
      'w',
      { ...died, started: [`${id}/1`], suspectedJob: how === 'named' ? suspectedJob : null },
      at(5),
    )
  }
const error = { message: 'no', code: null, cause: '' }
const endBy = (type: 'timeout' | 'stalled', state: 'waiting' | 'stalled' | 'failed') => (id: string) =>
  endAttempts(store.db, type, [{ of: { id, attempt: 1, worker: 'w', signUs: null }, state, delayMs: 1, error }], at(5))
const expire = async () => {
  const policy = { ...defaultPolicy, maxAge: milliseconds(1000) }
  await registerKinds(store.db, [{ kind: 'k', queue: 'q', version: 1, policy }], at(5))
  await failOverdue(store.db, 10, at(5))
}
const action = (name: JobActionName) => (id: string) => applyJobAction(store.db, name, id, at(5))

const runs: Record<string, (id: string) => Promise<unknown>> = {
  claim: () => claimJobs(store.db, { wants: [{ queue: 'q', want: 1 }], kinds: ['k'], worker: 'w2' }, at(5)),
  succeed: settle({ state: 'succeeded', result: '1' }),
  skip: settle({ state: 'skipped', reason: 'empty' }),
  'back off': settle({ state: 'waiting', delay: milliseconds(1), failure }),
  snooze: settle({ state: 'waiting', delay: milliseconds(1), failure: null }),
  defer: settle({ state: 'deferred', delay: milliseconds(1), pause: null, provider: null }),
  fail: settle({ state: 'failed', failure }),
  'release unstarted': id => releaseClaims(store.db, 'w', [{ id, attempt: 1 }], at(5)),
  release: settle({ state: 'released' }),
  recover: recover('retry'),
  'stall orphan': recover('stall'),
  'fail orphan': recover('fail'),
  'stall after restarts': async id => {
    const care = { level: 2, crashedWorker: null, unexplainedCrashes: 0, restartsWithoutProgress: 9 }
    await store.sql(`update retoma.job set crash_suspicion = $2 where id = $1 and state = 'running'`, [
      id,
      JSON.stringify(care),
    ])
    await recoverOrphans(store.db, 10, at(5))
  },
  'recover after restart': recoverCrashed('asked'),
  'count crash': recoverCrashed('named'),
  poison: recoverCrashed('named', 2),
  'time out': endBy('timeout', 'waiting'),
  'time out for good': endBy('timeout', 'failed'),
  'retry on stall': endBy('stalled', 'waiting'),
  stall: endBy('stalled', 'stalled'),
  'fail on stall': endBy('stalled', 'failed'),
  expire,
  resume: action('resume'),
  cancel: action('cancel'),
  retry: action('retry'),
  rerun: action('rerun'),
  'skip by hand': id => applyJobAction(store.db, 'skip', id, at(5), { reason: 'not needed' }),
  'fail by hand': id => applyJobAction(store.db, 'fail', id, at(5), { reason: 'too old', code: 'too_old' }),
}

test('every transition of the table is tried, and no other', () => {
  expect(Object.keys(runs).sort()).toEqual(transitions.map(way => way.name).sort())
})

describe.each(states)('a job that is %s', from => {
  test.each(transitions)(`$name leads to $to from $from, and nowhere else`, async ({ name, from: allowed, to }) => {
    const id = await store.put(from)
    const before = await store.job(id)
    await runs[name]!(id)
    const after = await store.job(id)
    if (allowed.includes(from) && from !== to) expect(after.state).toBe(to)
    else expect(after).toEqual(before)
    expect(after.worker_id === null).toBe(after.state !== 'running')
  })
})

describe('an action repeated changes nothing more:', () => {
  const from: Record<JobActionName, JobState> = {
    cancel: 'running',
    retry: 'failed',
    rerun: 'succeeded',
    resume: 'stalled',
    skip: 'running',
    fail: 'stalled',
  }
  test.each(Object.entries(from))('%s', async (name, state) => {
    const id = await store.put(state)
    expect(await applyJobAction(store.db, name as JobActionName, id, at(5))).toMatchObject({ moved: true })
    const once = await store.job(id)
    expect(await applyJobAction(store.db, name as JobActionName, id, at(9))).toEqual({
      state: once.state,
      queue: 'q',
      ran: false,
      batch: null,
      moved: false,
    })
    expect(await store.job(id)).toEqual(once)
  })

  test.each(Object.entries(from))('%s, by ten people at once: one of them did it', async (name, state) => {
    const id = await store.put(state)
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => applyJobAction(store.db, name as JobActionName, id, at(5))),
    )
    expect(answers.filter(each => each?.moved)).toHaveLength(1)
    expect(new Set(answers.map(each => each?.state)).size).toBe(1)
  })

  test('recover', async () => {
    const id = await store.put('running')
    expect(await recoverOrphans(store.db, 10, at(5))).toHaveLength(1)
    const once = await store.job(id)
    expect(await recoverOrphans(store.db, 10, at(6))).toEqual([])
    expect(await store.job(id)).toEqual(once)
  })
})

test('a job that is not there is answered with nothing', async () => {
  for (const name of ['cancel', 'retry', 'rerun', 'resume'] as const)
    expect(await applyJobAction(store.db, name, '999999', at(0))).toBeUndefined()
})

test('a cancelled attempt keeps who ran it, and a retry goes on counting attempts with a new budget', async () => {
  const id = await store.put('running', { attempt: 3 })
  await store.sql(`update retoma.job set failures = 2, crashes = 1, restarts = 4 where id = $1`, [id])
  await applyJobAction(store.db, 'cancel', id, at(5))
  expect(await store.job(id)).toMatchObject({
    state: 'cancelled',
    last_worker: 'w',
    worker_id: null,
    finished_at: at(5),
  })
  await applyJobAction(store.db, 'retry', id, at(7))
  expect(await store.job(id)).toMatchObject({
    state: 'waiting',
    attempt: 3,
    failures: 0,
    restarts: 0,
    finished_at: null,
    run_at: at(7),
    claim_rank: 8,
  })
})

describe('what the steps of a job have saved', () => {
  const before = { checkpoint: 's', checkpoint_data: { page: 3 }, progress: { done: 1 } }
  async function saved(state: JobState) {
    const id = await store.put(state)
    await store.sql(`update retoma.job set checkpoint = 's', checkpoint_data = '{"page":3}', progress = '{"done":1}', progress_at = $2, result = '1'
      where id = $1`, [id, at(0)]) // biome-ignore format: one statement
    await store.sql(`insert into retoma.checkpoint (job_id, name, attempt, value, at) values ($1, 's', 1, '1', $2)`, [
      id,
      at(0),
    ])
    const other = await store.put('failed')
    await store.sql(`insert into retoma.checkpoint (job_id, name, attempt, value, at) values ($1, 's', 1, '1', $2)`, [
      other,
      at(0),
    ])
    const count = async () =>
      (await store.sql<{ n: number }>(`select count(*)::int as n from retoma.checkpoint where job_id = $1`, [id]))[0]!.n
    return { id, other, count }
  }

  test('is kept by a retry', async () => {
    const { id, count } = await saved('failed')
    await applyJobAction(store.db, 'retry', id, at(5))
    expect(await count()).toBe(1)
    expect(await store.job(id)).toMatchObject({ state: 'waiting', ...before })
  })

  test('is deleted by a rerun, with its progress and its result, and no other job loses anything', async () => {
    const { id, other, count } = await saved('succeeded')
    expect(await applyJobAction(store.db, 'rerun', id, at(5))).toMatchObject({ moved: true })
    expect(await count()).toBe(0)
    const forgotten = {
      checkpoint: null,
      checkpoint_data: null,
      progress: null,
      progress_at: null,
      result: null,
      error: null,
    }
    expect(await store.job(id)).toMatchObject({ state: 'waiting', attempt: 1, ...forgotten })
    expect(await store.sql(`select job_id as id from retoma.checkpoint`)).toEqual([{ id: other }])
  })

  test('stays when a rerun is not possible', async () => {
    const { id, count } = await saved('running')
    expect(await applyJobAction(store.db, 'rerun', id, at(5))).toMatchObject({ moved: false })
    expect(await count()).toBe(1)
  })

  test('is gone after a rerun also when it was saved while the rerun waited for the row', async () => {
    const { id, count } = await saved('failed')
    const moved = gate()
    const go = gate()
    // Somebody retries it, it runs, saves another step and fails again, all before the rerun gets the row.
    const rival = store.another().transaction(async client => {
      await client.query(`select from retoma.job where id = $1 for update`, [id])
      moved.open()
      await go.passed
      await client.query(`update retoma.job set attempt = 2 where id = $1`, [id])
      await client.query(
        `insert into retoma.checkpoint (job_id, name, attempt, value, at) values ($1, 'late', 2, '1', $2)`,
        [id, at(1)],
      )
    })
    await moved.passed
    const rerun = applyJobAction(store.db, 'rerun', id, at(5))
    const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await expect.poll(async () => (await store.sql(waits)).length).toBe(1)
    go.open()
    await rival
    expect(await rerun).toMatchObject({ moved: true })
    expect(await count()).toBe(0)
  })
})
