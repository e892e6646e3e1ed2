/**
 * A policy override of a batch applies in every statement that judges a job. Each test has a job of the same kind without the override
 * beside it.
 */
import { beforeEach, describe, expect, test } from 'vitest'
import { createBatch } from '../../src/batches/sql/submit-batch.ts'
import { explainJobFacts } from '../../src/explain/sql/job-facts.ts'
import { defaultPolicy, type JobPolicy } from '../../src/jobs/model/policy.ts'
import { registerKinds } from '../../src/jobs/sql/job-kind.ts'
import type { Clock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { hours, minutes, seconds } from '../../src/lib/values/duration.ts'
import { failOverdue } from '../../src/recovery/sql/expired-jobs.ts'
import { viewFindings } from '../../src/recovery/sql/findings.ts'
import { findLateAttempts } from '../../src/recovery/sql/late-attempts.ts'
import { recoverCrashedWorker } from '../../src/recovery/sql/recover-jobs-of-crashed-worker.ts'
import { orphanMessage } from '../../src/recovery/sql/recover-jobs-of-dead-worker.ts'
import { Watchdog } from '../../src/recovery/watchdog.ts'
import type { CrashReport } from '../../src/supervisor/model/crash-report.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()
beforeEach(() => store.worker('w'))
const kind = (policy: Partial<JobPolicy>) =>
  registerKinds(store.db, [{ kind: 'k', queue: 'q', version: 1, policy: { ...defaultPolicy, ...policy } }], at(0))
async function batch(items?: Partial<JobPolicy>): Promise<string> {
  const policy = { stallAfter: null, onStall: 'stall', maxResumes: 3, stopAfter: null, onComplete: null } as const
  const made = { name: 'b', key: null, kind: 'k', queue: 'q', priority: 4 }
  return (await createBatch(store.db, { ...made, policy: items ? { ...policy, items } : policy }, at(0))).id
}
/** A job of that batch, or of none; a running one has run from the beginning. */
async function put(state: 'waiting' | 'running' | 'stalled', batch: string | null): Promise<string> {
  const id = await store.put(state)
  await store.sql(`update retoma.job set batch_id = $2, started_at = $3 where id = $1`, [id, batch, at(0)])
  return id
}
/** A job without a batch, a job of a batch without an override, and a job of a batch with the override. */
async function three(state: 'waiting' | 'running' | 'stalled', items: Partial<JobPolicy>) {
  return {
    alone: await put(state, null),
    plain: await put(state, await batch()),
    own: await put(state, await batch(items)),
  }
}
async function tick(seconds: number, beats = true) {
  await store.sql(`update retoma.periodic_lease set at = $1, since = $2`, [at(seconds - 5), at(-1e6)])
  if (beats) await store.sql(`update retoma.worker set heartbeat_at = $1 where dead_at is null`, [at(seconds)])
  const clock = { instant: () => at(seconds), elapsed: () => seconds * 1000 } as unknown as Clock
  return new Watchdog(store.db, clock, silentLog, () => 0).tick()
}
const ids = (rows: readonly { id: string }[]) => rows.map(each => each.id)

describe('an attempt that its worker does not end', () => {
  test('of a batch that allows less is ended by that, and its neighbours are not', async () => {
    await kind({ timeout: minutes(10) })
    const { own } = await three('running', { timeout: seconds(30), maxAttempts: 1 })
    expect((await tick(89)).timedOut).toEqual([])
    expect((await tick(90)).timedOut).toMatchObject([{ id: own, state: 'failed' }])
    expect(await store.job(own)).toMatchObject({ error: { type: 'timeout', message: expect.stringContaining('30 s') } })
  })

  test('of a batch that allows more is left alone until then, and backs off as that says', async () => {
    await kind({ timeout: minutes(1), maxAttempts: 1 })
    const backoff = { ...defaultPolicy.backoff, first: seconds(77) }
    const { alone, plain, own } = await three('running', { timeout: minutes(10), maxAttempts: 2, backoff })
    expect(ids((await tick(120)).timedOut)).toEqual([alone, plain])
    expect((await tick(659)).timedOut).toEqual([])
    expect((await tick(660)).timedOut).toMatchObject([{ id: own, state: 'waiting' }])
    expect(await store.job(own)).toMatchObject({ failures: 1, run_at: at(660 + 77) })
  })

  test('is looked at by what holds for it alone: what two batches allow says nothing of a third', async () => {
    await kind({ timeout: minutes(10) })
    await put('running', await batch({ timeout: hours(2) }))
    const strict = await put('running', await batch({ timeout: seconds(30) }))
    await put('running', await batch({ maxAttempts: 1 }))
    await put('running', null)
    expect(ids(await findLateAttempts(store.db, '0', 10, at(300)))).toEqual([strict])
  })

  test('of a batch that is over, and whose rows still follow, is judged likewise', async () => {
    await kind({ timeout: minutes(10) })
    const { own } = await three('running', { timeout: seconds(30) })
    await store.sql(
      `update retoma.batch set state = 'cancelled', claims_blocked = true, cascade = 'cancel', finished_at = $1 where policy ? 'items'`,
      [at(1)],
    )
    expect(ids((await tick(90)).timedOut)).toEqual([own])
  })
})

describe('an attempt of a job with a timeout of its own, that its worker does not end', () => {
  const own = (id: string, policy: Partial<JobPolicy>) =>
    store.sql(`update retoma.job set policy_override = $2 where id = $1`, [id, JSON.stringify(policy)])

  test('is ended by that timeout, shorter or longer than the timeout of its kind', async () => {
    await kind({ timeout: minutes(10) })
    const [short, long] = [await put('running', null), await put('running', null)]
    await own(short, { timeout: seconds(30), maxAttempts: 1 })
    await own(long, { timeout: minutes(60) })
    const plain = await put('running', null)
    expect((await tick(89)).timedOut).toEqual([])
    expect((await tick(90)).timedOut).toMatchObject([{ id: short, state: 'failed' }])
    expect(ids((await tick(660)).timedOut)).toEqual([plain])
    expect((await tick(3659)).timedOut).toEqual([])
    expect(ids((await tick(3660)).timedOut)).toEqual([long])
  })

  test('backs off as its override says, and is slow and stalled as its kind says', async () => {
    await kind({ timeout: minutes(1), expect: seconds(20), stallAfter: minutes(5) })
    const backoff = { ...defaultPolicy.backoff, first: seconds(77) }
    const patient = await put('running', null)
    await own(patient, { timeout: minutes(60), backoff })
    await tick(20)
    expect(await viewFindings(store.db)).toMatchObject([{ verdict: 'slow', subject: `job:${patient}` }])
    expect((await tick(299)).stalled).toEqual([])
    expect((await tick(300)).stalled).toMatchObject([{ id: patient, state: 'stalled' }])
    const hasty = await put('running', null)
    await own(hasty, { timeout: seconds(30), backoff })
    expect((await tick(90)).timedOut).toMatchObject([{ id: hasty, state: 'waiting' }])
    expect(await store.job(hasty)).toMatchObject({ failures: 1, run_at: at(90 + 77) })
  })
})

describe('an attempt without progress', () => {
  test('of a batch that asks for a stall becomes what that says, in its words', async () => {
    await kind({})
    const { own } = await three('running', {
      stallAfter: seconds(30),
      onStall: 'fail',
      messages: { stalled: 'travou no lote' },
    })
    expect((await tick(29)).stalled).toEqual([])
    expect((await tick(30)).stalled).toMatchObject([{ id: own, state: 'failed' }])
    expect(await store.job(own)).toMatchObject({ error: { type: 'stalled', message: 'travou no lote' } })
  })

  test('of a batch that wants none is left alone, though its kind does', async () => {
    await kind({ stallAfter: seconds(30) })
    const { alone, plain } = await three('running', { stallAfter: null })
    expect(ids((await tick(600)).stalled)).toEqual([alone, plain])
    expect((await tick(700)).stalled).toEqual([])
  })

  test('behind a loop that another has blocked becomes what its batch says of a worker that is gone', async () => {
    await kind({ timeout: minutes(1) })
    const { alone, own } = await three('running', { onOrphan: 'stall' })
    await store.sql(`update retoma.worker set blocked_since = $1`, [at(10)])
    await tick(1000)
    expect((await store.job(own)).state).toBe('stalled')
    expect((await store.job(alone)).state).toBe('waiting')
  })
})

test('an attempt past what its batch expects is shown as slow, and one of its kind is not', async () => {
  await kind({})
  const { own } = await three('running', { expect: seconds(20) })
  await tick(20)
  expect(await viewFindings(store.db)).toMatchObject([{ verdict: 'slow', subject: `job:${own}` }])
})

describe('of a worker that is gone', () => {
  test('without a crash report, an item becomes what its batch says, in its words', async () => {
    await kind({})
    const { alone, plain, own } = await three('running', { onOrphan: 'fail', messages: { orphan: 'morreu' } })
    await store.sql(`update retoma.worker set dead_at = $1, suspected_at = $1`, [at(21)])
    expect(ids((await tick(30, false)).recovered)).toEqual([alone, plain, own])
    for (const id of [alone, plain])
      expect(await store.job(id)).toMatchObject({ state: 'waiting', error: { message: orphanMessage } })
    expect(await store.job(own)).toMatchObject({ state: 'failed', error: { type: 'orphan', message: 'morreu' } })
  })

  test('an item of a kind that nobody has registered does, too', async () => {
    const { alone, own } = await three('running', { onOrphan: 'stall' })
    await store.sql(`delete from retoma.worker`)
    await tick(30, false)
    expect((await store.job(alone)).state).toBe('waiting')
    expect((await store.job(own)).state).toBe('stalled')
  })

  const crashReport = (given: Partial<CrashReport>): CrashReport => ({
    how: 'asked', why: 'x', signal: null, exitCode: 1, memoryBytes: null, oom: false, started: [], suspectedJob: null, stderr: null, ...given,
  }) // biome-ignore format: one certificate
  const recoverCrashed = (started: readonly string[], suspectedJob?: string) =>
    recoverCrashedWorker(
      store.db,
      'w',
      crashReport({
        started: started.map(id => `${id}/1`),
        ...(suspectedJob === undefined
          ? {}
          : {
              how: 'named',
              suspectedJob: { job: suspectedJob, attempt: 1, how: 'uncaught', message: 'boom', stack: null },
            }),
      }),
      at(10),
      () => 0,
    )

  test('with one, what its batch says is left to the watchdog, as what its kind says is', async () => {
    await kind({})
    const { alone, plain, own } = await three('running', { onOrphan: 'fail' })
    expect(ids(await recoverCrashed([alone, plain, own]))).toEqual([alone, plain])
    expect(await store.job(own)).toMatchObject({ state: 'running', worker_id: 'w' })
  })

  test('and with words of its batch, it is shown in those', async () => {
    await kind({ onOrphan: 'fail' })
    const { own } = await three('running', { onOrphan: 'retry', messages: { orphan: 'morreu' } })
    expect(ids(await recoverCrashed([own]))).toContain(own)
    expect(await store.job(own)).toMatchObject({ state: 'waiting', error: { message: 'morreu' } })
  })

  test.each([
    ['maxAttempts', { maxAttempts: 1 }, { state: 'failed', error: { type: 'crash' } }],
    ['maxCrashes', { maxCrashes: 1 }, { state: 'failed', error: { code: 'poison' } }],
    ['backoff', { backoff: { ...defaultPolicy.backoff, first: seconds(77) } }, { state: 'waiting', run_at: at(87) }],
  ])('its suspected job pays by what its batch says: %s', async (_, items, row) => {
    await kind({})
    const { own } = await three('running', items)
    await recoverCrashed([own], own)
    expect(await store.job(own)).toMatchObject({ crashes: 1, ...row })
  })

  test('a suspected job of no such batch pays by its kind', async () => {
    await kind({})
    const { plain } = await three('running', { maxCrashes: 1, maxAttempts: 1 })
    await recoverCrashed([plain], plain)
    expect(await store.job(plain)).toMatchObject({ state: 'waiting', crashes: 1, run_at: at(15) })
  })
})

describe.each(['waiting', 'running', 'stalled'] as const)('an item that is %s', state => {
  const failed = async (seconds: number) => new Set(ids(await failOverdue(store.db, 100, at(seconds))))

  test('and older than its batch allows is failed, by that alone', async () => {
    await kind({})
    const { own } = await three(state, { maxAge: minutes(10) })
    expect(await failed(599)).toEqual(new Set())
    expect(await failed(600)).toEqual(new Set([own]))
    expect(await store.job(own)).toMatchObject({
      state: 'failed',
      error: { message: 'overdue: not done within 600 s' },
    })
  })

  test('may be older than its kind allows where its batch says so', async () => {
    await kind({ maxAge: minutes(5) })
    const { alone, plain, own } = await three(state, { maxAge: minutes(10) })
    const never = await put(state, await batch({ maxAge: null }))
    expect(await failed(599)).toEqual(new Set([alone, plain]))
    expect(await failed(600)).toEqual(new Set([own]))
    expect(await failed(1e6)).toEqual(new Set())
    expect((await store.job(never)).state).toBe(state)
  })

  test('of a batch with words of its own for it is failed when its kind says, in those', async () => {
    await kind({ maxAge: minutes(5) })
    const { alone, plain, own } = await three(state, { messages: { overdue: 'passou da hora' } })
    expect(await failed(299)).toEqual(new Set())
    expect(await failed(300)).toEqual(new Set([alone, plain, own]))
    expect((await store.job(own)).error!.message).toBe('passou da hora')
    expect((await store.job(plain)).error!.message).toBe('overdue: not done within 300 s')
  })
})

test('an item of a queue with limits is overdue by what its batch says, too', async () => {
  await kind({ maxAge: minutes(5) })
  const { alone, plain, own } = await three('waiting', { maxAge: minutes(10) })
  await store.sql(`update retoma.job set limited = true`)
  expect(new Set(ids(await failOverdue(store.db, 100, at(400))))).toEqual(new Set([alone, plain]))
  expect(ids(await failOverdue(store.db, 100, at(600)))).toEqual([own])
})

test('what explains a job goes by the policy in force for it', async () => {
  await kind({ timeout: minutes(2), stallAfter: minutes(1) })
  const { plain, own } = await three('running', { maxAttempts: 9, stallAfter: null })
  const policyOf = async (id: string) => (await explainJobFacts(store.db, id, at(1)))!.policy
  expect(await policyOf(own)).toEqual({ ...defaultPolicy, timeout: minutes(2), maxAttempts: 9 })
  expect(await policyOf(plain)).toEqual({ ...defaultPolicy, timeout: minutes(2), stallAfter: minutes(1) })
})
