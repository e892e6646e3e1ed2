/** The fence: what an attempt writes lands once, or not at all once its lease is gone. */
import { describe, expect, test } from 'vitest'
import { claimJobs } from '../../src/claiming/sql/claim.ts'
import { applyJobAction } from '../../src/jobs/sql/job-actions.ts'
import { milliseconds, seconds } from '../../src/lib/values/duration.ts'
import { recoverOrphans } from '../../src/recovery/sql/recover-jobs-of-dead-worker.ts'
import { type SettleRow, settleJobs } from '../../src/worker/sql/settle.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()
const failure = { type: 'error', message: 'no', code: 'E_NO', stack: null } as const

const outcomes: Record<string, SettleRow['outcome']> = {
  succeeded: { state: 'succeeded', result: '{"ok":true}' },
  skipped: { state: 'skipped', reason: 'empty' },
  failed: { state: 'failed', failure },
  retry: { state: 'waiting', delay: seconds(5), failure },
  'a timeout': { state: 'waiting', delay: seconds(5), failure: { ...failure, type: 'timeout' } },
  snooze: { state: 'waiting', delay: seconds(60), failure: null },
  release: { state: 'released' },
}
const each = Object.entries(outcomes)
/** A person may run a failed one again; the others wait by themselves. */
const comesBack = each.filter(([, { state }]) => ['failed', 'waiting', 'released'].includes(state))
const charged = each.filter(([, outcome]) => 'failure' in outcome && outcome.failure !== null)

const settle = async (
  id: string,
  outcome: SettleRow['outcome'],
  given: { worker?: string; attempt?: number; now?: Date } = {},
) => {
  const landed = await settleJobs(
    store.db,
    given.worker ?? 'w',
    [{ id, attempt: given.attempt ?? 1, outcome }],
    given.now ?? at(1),
  )
  return landed.size === 1
}

/** The one job there is, claimed by that worker. */
async function claimAs(worker: string) {
  await store.sql(`delete from retoma.worker where id = $1`, [worker])
  await store.worker(worker)
  const [claimed] = await claimJobs(store.db, { wants: [{ queue: 'q', want: 1 }], kinds: ['k'], worker }, at(99))
  return claimed!
}

describe('a worker that lost its lease cannot settle:', () => {
  const ways: Record<string, (id: string) => Promise<unknown>> = {
    'its job was recovered': () => recoverOrphans(store.db, 10, at(0)),
    'its job was cancelled': id => applyJobAction(store.db, 'cancel', id, at(0)),
    'its job was recovered and claimed by another': async () => {
      await recoverOrphans(store.db, 10, at(0))
      await claimAs('other')
    },
    'its job was recovered and claimed by itself': async () => {
      await recoverOrphans(store.db, 10, at(0))
      await claimAs('w')
    },
    'another has the same attempt, after a failover': id =>
      store.sql(`update retoma.job set worker_id = 'other' where id = $1`, [id]),
    'its job is gone': id => store.sql(`delete from retoma.job where id = $1`, [id]),
  }
  for (const [way, lose] of Object.entries(ways)) {
    test.each(each)(`${way} (%s)`, async (_, outcome) => {
      const id = await store.put('running')
      await lose(id)
      const before = [await store.job(id), await store.failures(id)]
      expect(await settle(id, outcome)).toBe(false)
      expect([await store.job(id), await store.failures(id)]).toEqual(before)
    })
  }
})

describe('a settle whose answer was lost is sent again:', () => {
  test.each(each)('it is known as landed and counts once (%s)', async (_, outcome) => {
    const id = await store.put('running')
    expect(await settle(id, outcome, { now: at(1) })).toBe(true)
    const before = [await store.job(id), await store.failures(id)]
    expect(await settle(id, outcome, { now: at(9) })).toBe(true)
    expect([await store.job(id), await store.failures(id)]).toEqual(before)
  })

  test.each(comesBack)('even after another worker has claimed the job since (%s)', async (_, outcome) => {
    const id = await store.put('running')
    await settle(id, outcome)
    if (outcome.state === 'failed') await applyJobAction(store.db, 'retry', id, at(2))
    await claimAs('other')
    const before = [await store.job(id), await store.failures(id)]
    expect(before[0]).toMatchObject({ state: 'running', worker_id: 'other', attempt: 2 })
    expect(await settle(id, outcome)).toBe(true)
    expect([await store.job(id), await store.failures(id)]).toEqual(before)
  })

  test('a failure that another worker wrote for the same attempt is not taken for ours', async () => {
    const id = await store.put('running', { worker: 'other' })
    await settle(id, outcomes.failed!, { worker: 'other' })
    expect(await settle(id, outcomes.failed!)).toBe(false)
  })
})

test('each outcome is written as it is', async () => {
  const rows: Record<string, unknown> = {}
  for (const [name, outcome] of each) {
    const id = await store.put('running')
    await settle(id, outcome, { now: at(10) })
    const { state, failures, result, error, claim_rank, run_at, finished_at, worker_id, last_worker } =
      await store.job(id)
    expect({ worker_id, last_worker }).toEqual({ worker_id: null, last_worker: 'w' })
    rows[name] = [
      state,
      failures,
      result,
      error?.type ?? null,
      claim_rank,
      (run_at.getTime() - at(0).getTime()) / 1000,
      finished_at,
    ]
  }
  expect(rows).toEqual({
    succeeded: ['succeeded', 0, { ok: true }, null, 9, 0, at(10)],
    skipped: ['skipped', 0, null, 'skipped', 9, 0, at(10)],
    failed: ['failed', 1, null, 'error', 9, 0, at(10)],
    retry: ['waiting', 1, null, 'error', 8, 15, null],
    'a timeout': ['waiting', 1, null, 'timeout', 8, 15, null],
    snooze: ['waiting', 0, null, null, 8, 70, null],
    release: ['waiting', 0, null, null, 8, 10, null],
  })
})

test('a snooze or a release keeps the error of the try before, a success clears it', async () => {
  const id = await store.put('running')
  await settle(id, { state: 'waiting', delay: milliseconds(0), failure })
  for (const outcome of [outcomes.snooze!, outcomes.release!, outcomes.succeeded!]) {
    const claimed = await claimAs('w')
    expect((await store.job(id)).error).toMatchObject({ message: 'no' })
    await settle(id, outcome, { attempt: claimed.attempt })
  }
  expect((await store.job(id)).error).toBeNull()
})

test('two attempts of one job in one flush are reported apart', async () => {
  const id = await store.put('running', { attempt: 2 })
  const late: SettleRow = { id, attempt: 1, outcome: outcomes.succeeded! }
  const held: SettleRow = { id, attempt: 2, outcome: outcomes.skipped! }
  expect(await settleJobs(store.db, 'w', [late, held], at(1))).toEqual(new Set([held]))
  expect(await store.job(id)).toMatchObject({ state: 'skipped' })
})

test('500 outcomes are one statement, each its own', async () => {
  const ids = await store.putMany(500, 'running')
  const lost = await store.putMany(10, 'running', { worker: 'other' })
  const settles = [...ids, ...lost].map((id, i): SettleRow => ({ id, attempt: 1, outcome: each[i % each.length]![1] }))
  const landed = await settleJobs(store.db, 'w', settles.reverse(), at(1))
  expect(landed.size).toBe(500)
  const [row] = await store.sql(
    `select count(*) filter (where worker_id is not null)::int as running, sum(failures)::int as failures,
       (select count(*)::int from retoma.failure) as noted from retoma.job`,
  )
  const counted = ids.filter((_, i) => charged.includes(each[i % each.length]!)).length
  expect(row).toEqual({ running: 10, failures: counted, noted: counted })
})

test('a key until final is let go by an end and kept by a wait', async () => {
  for (const [name, outcome] of each) {
    const id = await store.put('running')
    await store.sql(`update retoma.job set key = $2, unique_until = 'final' where id = $1`, [id, name])
    await settle(id, outcome)
    const { unique_until, finished_at } = await store.job(id)
    expect(unique_until).toBe(finished_at === null ? 'final' : null)
  }
})
