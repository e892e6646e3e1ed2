/**
 * A statement that holds a fence never names `state`: with that literal the planner takes the partial index of running
 * jobs, and each settle costs as much as all that ever ran (engine-notes A1).
 */
import { readFileSync } from 'node:fs'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { runCascadeChunk } from '../../src/batches/sql/batch-cascade.ts'
import { readBatchClocks } from '../../src/batches/sql/batch-stall-clock.ts'
import { armProbes, pauseBatches } from '../../src/batches/sql/provider-pauses.ts'
import { claimJobs, claimsNotBlocked, isClaimable, releaseClaims } from '../../src/claiming/sql/claim.ts'
import { claimLimited } from '../../src/claiming/sql/claim-limited.ts'
import { type Db, openDb, type Statement } from '../../src/database/db.ts'
import { migrate } from '../../src/database/migrate.ts'
import { findIncidents } from '../../src/incidents/sql/find-incidents.ts'
import { defaultPolicy } from '../../src/jobs/model/policy.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { takeSample } from '../../src/metrics/sql/job-count-sample.ts'
import { checkWorkers } from '../../src/recovery/sql/dead-workers.ts'
import { failOverdue } from '../../src/recovery/sql/expired-jobs.ts'
import { findLateAttempts } from '../../src/recovery/sql/late-attempts.ts'
import { recoverCrashedWorker } from '../../src/recovery/sql/recover-jobs-of-crashed-worker.ts'
import { recoverOrphans } from '../../src/recovery/sql/recover-jobs-of-dead-worker.ts'
import { starvedLanes } from '../../src/recovery/sql/unclaimed-jobs.ts'
import type { CrashReport } from '../../src/supervisor/model/crash-report.ts'
import { createTestDatabase } from '../../src/testing/index.ts'
import { settleJobs } from '../../src/worker/sql/settle.ts'
import { sqlFiles } from '../support/statements.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()
const root = new URL('../../', import.meta.url)

/** The `where` of every fence in a text: from its where or join to the end of that clause. */
function fences(text: string): string[] {
  const fence =
    /\b(?:where|on)\b(?:(?!\b(?:where|returning|select|from|update|set)\b)[^`;])*\bworker_id = (?:\$\d+|\w+\.worker_id)(?:(?!\breturning\b)[^`;)])*/g
  return [...text.matchAll(fence)].map(match => match[0]).filter(clause => /\battempt = /.test(clause))
}

const namesState = (clause: string) => /\bstate\b/.test(clause)

test('no fence in the store names the state', () => {
  const found = sqlFiles.flatMap(file =>
    fences(readFileSync(new URL(file, root), 'utf8')).map(clause => ({ file, clause })),
  )
  expect(new Set(found.map(each => each.file))).toEqual(
    new Set([
      'src/batches/sql/provider-pauses.ts',
      'src/claiming/sql/claim.ts',
      'src/events/sql/write-events.ts',
      'src/execution/sql/checkpoint.ts',
      'src/execution/sql/fenced-transaction.ts',
      'src/execution/sql/job-cost.ts',
      'src/recovery/sql/late-attempts.ts',
      'src/recovery/sql/recover-jobs-of-crashed-worker.ts',
      'src/recovery/sql/recover-jobs-of-dead-worker.ts',
      'src/worker/sql/lease-heartbeat.ts',
      'src/worker/sql/settle.ts',
    ]),
  )
  expect(found.filter(each => namesState(each.clause))).toEqual([])
})

test('one that did would be found', () => {
  const careless =
    "update job j set x = 1 from g where j.id = g.id and j.attempt = g.attempt and j.state = 'running' and j.worker_id = $8 returning j.id"
  expect(fences(careless).filter(namesState)).toHaveLength(1)
})

describe('in a table with many finished and many running jobs', () => {
  /** What the planner would do with the first statement `work` sends. */
  async function planOf(
    work: (db: Db) => Promise<unknown>,
    change = (text: string) => text,
    { settings = 'select', db = store.db }: { settings?: string; db?: Db } = {},
  ): Promise<string> {
    let sent: { statement: Statement; values: unknown[] } | undefined
    const run = async (statement: Statement, values: unknown[]) => {
      sent ??= { statement, values }
      return []
    }
    const recording: Db = { ...db, run }
    await work(recording)
    return db.transaction(async client => {
      await client.query(settings)
      const { rows } = await client.query(`explain ${change(sent!.statement.text)}`, sent!.values)
      return (rows as { 'QUERY PLAN': string }[]).map(row => row['QUERY PLAN']).join('\n')
    })
  }
  const fill = async () => {
    await store.putMany(20_000, 'succeeded')
    const ids = await store.putMany(50, 'running')
    // Statistics of an idle moment: nothing runs. That is when autovacuum comes by.
    await store.sql(
      `update retoma.job set state = 'succeeded', worker_id = null, finished_at = $1 where state = 'running'`,
      [at(0)],
    )
    await store.sql(`vacuum analyze retoma.job`)
    return ids
  }
  const settle = (ids: string[]) => (db: Db) =>
    settleJobs(
      db,
      'w',
      ids.map(id => ({ id, attempt: 1, outcome: { state: 'succeeded', result: '1' } })),
      at(1),
    )

  test('a table of some ten thousand rows, analysed while none ran, is not read whole for a claim or a settle', async () => {
    // That is when reading it all looks cheap to the planner: docs/adr/0005-plans.md.
    const ids = await store.putMany(30_000, 'waiting')
    await store.sql(`vacuum analyze retoma.job`)
    const claim = await planOf(db =>
      claimJobs(db, { wants: [{ queue: 'q', want: 500 }], kinds: ['k'], worker: 'w' }, at(1)),
    )
    expect(claim).toContain('job_ready')
    expect(claim).toContain('job_pkey')
    expect(claim).not.toContain('Seq Scan on job')
    const plan = await planOf(settle(ids.slice(0, 500)))
    expect(plan).toContain('job_pkey')
    expect(plan).not.toContain('Seq Scan on job')
    const careless = await planOf(
      settle(ids.slice(0, 500)),
      text => text.replace(/\(select (\$\d::\w+\[\])\)/g, '$1'),
      { settings: 'set local enable_seqscan = on; set local plan_cache_mode = auto' },
    )
    expect(careless).toContain('Seq Scan on job')
  })

  test('a lane whose jobs are all of one batch is walked in its order, not sorted whole for each claim', async () => {
    // Analysed then, what is not of a held batch looks like nothing at all: docs/adr/0005-plans.md.
    await store.sql(
      `insert into retoma.batch (id, name, kind, queue, policy, priority, created_at) values (1, 'b', 'k', 'q', '{}', 4, $1)`,
      [at(0)],
    )
    await store.putMany(40_000, 'waiting')
    await store.sql(`update retoma.job set batch_id = 1, limited = id % 2 = 0`)
    await store.sql(`vacuum analyze retoma.job`)
    const takes = { kinds: ['k'], worker: 'w' }
    const claims: Record<string, (db: Db) => Promise<unknown>> = {
      job_ready: db => claimJobs(db, { wants: [{ queue: 'q', want: 20 }], ...takes }, at(1)),
      job_limited: db => claimLimited(db, { queue: 'q', want: 20, lanes: 20, ...takes }, at(1)).catch(() => {}),
    }
    // Of the lane; what was found is then taken by its ids, as "job j", however it likes.
    const sorted = 'Bitmap Heap Scan on job  ('
    for (const [index, claim] of Object.entries(claims)) {
      const plan = await planOf(claim)
      expect(plan, index).toContain(`Index Scan using ${index} on job`)
      expect(plan, index).not.toContain(sorted)
      // A lane of the limited index has a key besides: its plan does not depend on the filter.
      if (index === 'job_limited') continue
      const careless = await planOf(claim, text =>
        text.replaceAll(isClaimable, claimsNotBlocked).replaceAll('coalesce(batch_id, 0)', 'batch_id'),
      )
      expect(careless, index).toContain(sorted)
    }
  })

  test('a table that was empty when the plan was made is not read whole for a claim or a settle', async () => {
    // The plan stays until the next analyze, and 60,000 jobs may have come by then.
    const database = await createTestDatabase(inject('serverUrl'))
    const db = openDb({ url: database.url, log: silentLog })
    onTestFinished(async () => {
      await db.close()
      await database.drop()
    })
    await migrate(db)
    const plan = (work: (db: Db) => Promise<unknown>, settings = 'select') =>
      planOf(work, text => text, { settings, db })
    const claim = (db: Db) => claimJobs(db, { wants: [{ queue: 'q', want: 500 }], kinds: ['k'], worker: 'w' }, at(1))
    expect(await plan(claim)).toContain('job_ready')
    for (const work of [claim, settle(['1'])]) {
      expect(await plan(work)).toContain('job_pkey')
      expect(await plan(work)).not.toContain('Seq Scan on job')
      expect(await plan(work, 'set local enable_seqscan = on')).toContain('Seq Scan on job')
    }
  })

  test('the jobs of the dead are found by the index of what runs, and taken by the primary key', async () => {
    const ids = await fill()
    const crashReport: CrashReport = {
      how: 'asked', why: '', signal: null, exitCode: null, memoryBytes: null, oom: false, suspectedJob: null, stderr: null,
      started: ids.map(id => `${id}/1`),
    } // biome-ignore format: one certificate
    const careless = (text: string) => text.replaceAll("state = 'running'", "state || '' = 'running'")
    for (const work of [
      (db: Db) => recoverOrphans(db, 500, at(1)),
      (db: Db) => recoverCrashedWorker(db, 'w', crashReport, at(1)).catch(() => {}),
    ]) {
      const plan = await planOf(work)
      expect(plan).toContain('job_running')
      expect(plan).toContain('job_pkey')
      expect(plan).not.toContain('Seq Scan on job')
      expect(plan).not.toContain('Seq Scan on checkpoint')
      expect(await planOf(work, careless)).not.toContain('job_running')
    }
  })

  test('a fence goes by the primary key; with the state in it, by the index of running jobs', async () => {
    const ids = await fill()
    const held = ids.map(id => ({ id, attempt: 1 }))
    const pausing = held.map(each => ({ ...each, reason: '{"code":"provider"}' }))
    const all = [
      settle(ids),
      (db: Db) => releaseClaims(db, 'w', held, at(1)),
      (db: Db) => pauseBatches(db, 'w', pausing, at(1)),
    ]
    for (const work of all) {
      const plan = await planOf(work)
      expect(plan).toContain('job_pkey')
      expect(plan).not.toContain('job_running')
    }
    const careless = await planOf(settle(ids), text =>
      text.replace('j.worker_id = $8', "j.worker_id = $8 and j.state = 'running'"),
    )
    expect(careless).toContain('job_running')
  })
})

test('a watchdog goes by the indexes of what runs and what waits, never over the whole table', async () => {
  await store.putMany(20_000, 'succeeded')
  await store.sql(`vacuum analyze retoma.job`)
  const kind = { name: 'k', queue: 'q', policy: { ...defaultPolicy, maxAge: 1000, maxWait: 1000 } }
  const checks: Record<string, (db: Db) => Promise<unknown>> = {
    check: db => checkWorkers(db, { orphanAfterMs: 1, heartbeatMs: 1, apartMs: 0 }, 'all', at(0)),
    late: db => findLateAttempts(db, '0', 10, at(0)),
    starved: db => starvedLanes(db, at(0)),
    overdue: db => failOverdue(db, 10, at(0)),
    clocks: db => readBatchClocks(db, ['1'], at(0)),
    probes: db => armProbes(db, at(0)),
    incidents: db => findIncidents(db, { queue: 'n', apartMs: 0, readyMs: 0 }, at(0)),
    sample: db => takeSample(db, 1, at(0)),
  }
  for (const [name, check] of Object.entries(checks)) {
    const sent: { statement: Statement; values: unknown[] }[] = []
    const run = async (statement: Statement, values: unknown[]) => {
      sent.push({ statement, values })
      return [kind]
    }
    await check({ ...store.db, run } as unknown as Db).catch(() => {})
    const { statement, values } = sent.at(-1)!
    const plan = await store.db.transaction(async client => {
      const { rows } = await client.query(`explain ${statement.text}`, values)
      return (rows as { 'QUERY PLAN': string }[]).map(row => row['QUERY PLAN']).join('\n')
    })
    expect(plan, name).toMatch(/Index (Only )?Scan using job_(running|ready|stalled|gated)/)
    expect(plan, name).not.toContain('Seq Scan on job')
  }
})

test('a bite of a retry begins in the index where the last one ended', async () => {
  let sent: { statement: Statement; values: unknown[] } | undefined
  const run = async (statement: Statement, values: unknown[]) => {
    sent = { statement, values }
    return [{ cascade: 'retry', done: true }]
  }
  await runCascadeChunk({ ...store.db, run } as Db, '1', at(0))
  await store.sql(`set enable_seqscan = off`)
  const rows = await store.sql<{ 'QUERY PLAN': string }>(`explain ${sent!.statement.text}`, sent!.values)
  await store.sql(`reset enable_seqscan`)
  const conditions = rows.map(row => row['QUERY PLAN']).filter(line => line.includes('Index Cond'))
  expect(conditions.join('\n')).toMatch(/batch_id = h\.id\) AND \(ROW\(COALESCE\(\(\w*\.?error ->> 'cause'/)
})
