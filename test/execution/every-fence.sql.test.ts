/**
 * Every statement that writes or reads for an attempt names the whole fence: the job's id, the attempt and the worker. Each
 * statement runs here with a fence that is wrong in one column, so that a column that a statement forgets is noticed.
 */
import { beforeEach, describe, expect, test } from 'vitest'
import { pauseBatches } from '../../src/batches/sql/provider-pauses.ts'
import { type ClaimedJob, extendAttempts, releaseClaims, restartClaimAges } from '../../src/claiming/sql/claim.ts'
import type { Db } from '../../src/database/db.ts'
import { beginTransaction, commitTransaction } from '../../src/database/transactions/transaction.ts'
import { warnOfAttempt } from '../../src/events/sql/write-events.ts'
import { noteProgress, saveCheckpoints } from '../../src/execution/sql/checkpoint.ts'
import { saveInTransaction } from '../../src/execution/sql/fenced-transaction.ts'
import { addCosts } from '../../src/execution/sql/job-cost.ts'
import { type AttemptToEnd, endAttempts } from '../../src/recovery/sql/late-attempts.ts'
import { lostBy } from '../../src/worker/sql/lease-heartbeat.ts'
import { settleJobs } from '../../src/worker/sql/settle.ts'
import { everyStatement } from '../support/statements.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()

interface Fence {
  id: string
  attempt: number
  worker: string
}

const ending = ({ id, attempt, worker }: Fence): AttemptToEnd => ({
  of: { id, attempt, worker, signUs: null as never },
  state: 'failed',
  delayMs: 0,
  error: { message: 'no', code: null, cause: 'c' },
})

/** By the name of the statement: what an attempt does by it. Answers whether the fence held, where the call says so. */
const fenced: Record<string, (db: Db, fence: Fence) => Promise<unknown>> = {
  settle: async (db, { id, attempt, worker }) =>
    (await settleJobs(db, worker, [{ id, attempt, outcome: { state: 'succeeded', result: '1' } }], at(1))).size > 0,
  checkpoint_save: async (db, { id, attempt, worker }) =>
    (await saveCheckpoints(db, worker, [{ id, attempt, name: 's', value: '1' }], at(1))).size > 0,
  checkpoint_note: async (db, { id, attempt, worker }) =>
    (
      await noteProgress(
        db,
        worker,
        [{ id, attempt, checkpoint: 's', checkpointData: '1', progress: '{"done":1}' }],
        at(1),
      )
    ).size > 0,
  cost_add: async (db, { id, attempt, worker }) =>
    (await addCosts(db, worker, [{ id, attempt, call: 1, currency: 'USD', amount: '0.01' }])).size > 0,
  claim_release: async (db, { id, attempt, worker }) =>
    (await releaseClaims(db, worker, [{ id, attempt }], at(1))).size > 0,
  claim_restart_ages: (db, { id, attempt, worker }) =>
    restartClaimAges(db, worker, [{ id, attempt } as ClaimedJob], at(1)),
  claim_extend: (db, { id, attempt, worker }) => extendAttempts(db, worker, [{ id, attempt, ms: 1000 }]),
  event_warn: (db, fence) => warnOfAttempt(db, fence, 'unused_steps', {}, at(1)),
  batch_pause_by_job: async (db, { id, attempt, worker }) =>
    (await pauseBatches(db, worker, [{ id, attempt, reason: '{"code":"c"}' }], at(1))).length > 0,
  late_attempt_end_timeout: async (db, fence) => (await endAttempts(db, 'timeout', [ending(fence)], at(1))).length > 0,
  late_attempt_end_stalled: async (db, fence) => (await endAttempts(db, 'stalled', [ending(fence)], at(1))).length > 0,
  late_attempt_end_hung: async (db, fence) => (await endAttempts(db, 'hung', [ending(fence)], at(1))).length > 0,
  worker_lost_leases: async (db, { id, attempt, worker }) =>
    (await lostBy(db, worker, [{ id, attempt }], 5000)).length === 0,
}

/** These find their jobs themselves and fence what they found against a change meanwhile: test/recovery/recover-jobs-of-crashed-worker.sql.test.ts and test/recovery/dead-workers.sql.test.ts play that. */
const findTheirOwn = ['crashed_worker_recover', 'orphan_recover']

/**
 * These compare an attempt or a worker, and are no fence: whether an outcome landed, whether a finding still holds, jobs that nobody holds
 * any more, jobs that never started, reads for a person, the document that asks a question for its copies, and whether the owner of a turn still runs.
 */
const noFence = [
  'settle_was_written',
  'finding_clear',
  'claim_recall_deferred',
  'job_log_view',
  'list_ids_worker',
  'list_jobs_worker',
  'overdue_jobs_fail',
  'classifier answers.takeQuestion',
  'quotes turns.take',
]

/** Of a transaction that a handler was given; no statement of the pool's. */
async function keepInTransaction(db: Db, fence: Fence): Promise<boolean> {
  const connection = await db.leaseConnection()
  try {
    const kept = await saveInTransaction(
      connection,
      { ...fence, name: 's', value: '1', mark: await beginTransaction(connection) },
      at(1),
    )
    if (kept === 'kept') await commitTransaction(connection)
    return kept === 'kept'
  } finally {
    connection.release('in doubt')
  }
}

const tables = [
  'job',
  'failure',
  'checkpoint',
  'event',
  'batch',
  'batch_count',
  'limit_counter',
  'job_cost',
  'batch_cost',
]
const everything = async () =>
  (
    await store.sql(
      tables.map(table => `select '${table} ' || t::text as row from retoma.${table} t`).join(' union all '),
    )
  )
    .map(({ row }) => row)
    .sort()

/** The job is attempt 2 of worker `w`, in a batch. */
let right: Fence
beforeEach(async () => {
  const id = await store.put('running', { attempt: 2 })
  await store.sql(
    `insert into retoma.batch (id, name, kind, queue, policy, state, priority, total, created_at, submitted_at)
     values (1, 'b', 'k', 'q', '{}', 'running', 4, 1, $1, $1)`,
    [at(0)],
  )
  await store.sql(`update retoma.job set batch_id = 1, started_at = $1`, [at(0)])
  right = { id, attempt: 2, worker: 'w' }
})

/** Statements over the table of the documents, fenced by job and attempt: the tests of apps/documents run them. */
const ofDocuments = ['begin', 'fail', 'finish', 'touch'].map(name => `documents processing.${name}`)

const calls = Object.entries({ ...fenced, 'the checkpoint of a transaction': keepInTransaction })

describe.each(calls)('%s', (_, call) => {
  test.each<[string, Partial<Fence>]>([
    ['an older attempt of the same worker', { attempt: 1 }],
    ['a later attempt of the same worker', { attempt: 3 }],
    ['the same attempt of another worker', { worker: 'other' }],
  ])('changes nothing for %s', async (_, wrong) => {
    const before = await everything()
    expect(await call(store.db, { ...right, ...wrong })).not.toBe(true)
    expect(await everything()).toEqual(before)
  })

  test('changes nothing for another job that the same worker holds', async () => {
    const other = await store.put('running', { attempt: 1 })
    const before = await everything()
    expect(await call(store.db, { ...right, id: other })).not.toBe(true)
    expect(await everything()).toEqual(before)
  })

  test('works for the attempt that holds the job', async () => {
    const before = await everything()
    const answer = await call(store.db, right)
    if (call !== fenced.worker_lost_leases) expect(await everything()).not.toEqual(before)
    expect(answer).not.toBe(false)
  })
})

test('every statement with a fence is one of those', async () => {
  const compares = /\bj\.attempt = |\battempt = \$|\bj\.worker_id = [$gfh]|\bworker_id = \$\d+(?! and state)/
  const sets = /worker_id = \$\d+, started_at/g
  const found = (await everyStatement()).filter(({ text }) => compares.test(text.replace(sets, '')))
  const known = [...Object.keys(fenced), ...findTheirOwn, ...noFence, ...ofDocuments]
  expect(found.map(each => each.name).sort()).toEqual(known.sort())
})
