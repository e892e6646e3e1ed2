/** Counts behind somebody's long transaction: they begin at the first live entry, and miss nothing. */
import pg from 'pg'
import { expect, test } from 'vitest'
import { claimJobs } from '../../src/claiming/sql/claim.ts'
import { claimLimited } from '../../src/claiming/sql/claim-limited.ts'
import { enqueueJobs } from '../../src/enqueue/enqueue.sql.ts'
import { explainQueueFacts } from '../../src/explain/sql/queue-facts.ts'
import { raiseFloors } from '../../src/jobs/sql/job-floor.ts'
import { viewQueues } from '../../src/jobs/sql/job-view.ts'
import type { QueueLimits } from '../../src/limits/model/queue-limits.ts'
import { depthOf, saveLimits } from '../../src/limits/sql/queue.ts'
import { readStarved, readWork } from '../../src/maintenance/sql/read-doctor-facts.ts'
import { takeSample } from '../../src/metrics/sql/job-count-sample.ts'
import { readStats } from '../../src/metrics/sql/read-stats.ts'
import { starvedLanes } from '../../src/recovery/sql/unclaimed-jobs.ts'
import { settleJobs } from '../../src/worker/sql/settle.ts'
import { newJob, storeForFile } from '../support/store.ts'

const store = storeForFile()
const many = 1000

/** Floors never pass the last second. */
const past = () => new Date(Date.now() - 60_000)

const enqueue = (count: number, now: Date | null = null, run = store.db.run) =>
  enqueueJobs(
    run,
    Array.from({ length: count }, () => newJob()),
    now,
  )

/** Floors are raised once a second at most: a test need not wait for that. */
async function raise(): Promise<void> {
  await store.sql(`update retoma.periodic_lease set at = '-infinity' where name = 'job_floor'`)
  await raiseFloors(store.db, ['q'])
}

/** A connection with a transaction that stays open until `work` is done. */
async function inTransaction(work: (session: pg.Client) => Promise<void>): Promise<void> {
  const session = new pg.Client({ connectionString: store.url })
  await session.connect()
  try {
    await session.query('begin isolation level repeatable read')
    await session.query('select count(*) from retoma.kind')
    await work(session)
  } finally {
    await session.end()
  }
}

/** The doctor, which has no named statements, searches all running jobs for orphans: this search uses no floor. */
const waitingIndexes = ['job_ready', 'job_limited', 'job_limited_due']

/** How many index entries of what waits and runs a statement reads, dead ones too. */
async function entriesOf(text: string, values: unknown[], indexes: readonly string[]): Promise<number> {
  const client = new pg.Client({ connectionString: store.url })
  await client.connect()
  try {
    await client.query('begin; set local enable_seqscan = off')
    await client.query(text, values)
    const read = (index: string) => `pg_stat_get_xact_tuples_returned('retoma.${index}'::regclass)`
    const { rows } = await client.query(`select ${indexes.map(read).join(' + ')} as entries`)
    return Number(rows[0].entries)
  } finally {
    await client.end()
  }
}

const claimOpen = (want: number, now: Date | null) =>
  claimJobs(store.db, { wants: [{ queue: 'q', want }], kinds: ['k'], worker: 'w' }, now)
const claimUnderLimit = async (want: number, now: Date | null) =>
  (await claimLimited(store.db, { queue: 'q', want, kinds: ['k'], worker: 'w', lanes: 1000 }, now)).claimed

async function burn(count: number, claim = claimOpen): Promise<void> {
  await enqueue(count, past())
  const claimed = await claim(count, past())
  expect(claimed).toHaveLength(count)
  await settleJobs(
    store.db,
    'w',
    claimed.map(({ id, attempt }) => ({ id, attempt, outcome: { state: 'succeeded', result: 'null' } })),
    null,
  )
}

const counted = async () => {
  const [queue] = await viewQueues(store.db, null)
  await store.sql(
    `update retoma.periodic_lease set at = '-infinity', since = '-infinity' where name = 'job_count_sample'`,
  )
  await takeSample(store.db, 0, null)
  const { counts } = await readStats(store.db, { except: [], now: null })
  const jobs = (state: string) => counts.find(each => each.state === state)?.jobs ?? 0
  const { ready } = (await explainQueueFacts(store.db, 'q', null))!
  const { waiting } = await depthOf(store.db, 'q')
  expect([jobs('ready'), jobs('running'), ready.jobs, waiting]).toEqual([
    queue!.ready,
    queue!.running,
    queue!.ready,
    queue!.ready,
  ])
  return { ready: queue!.ready, running: queue!.running }
}

test.each([
  ['without limits', { maxDepth: 100_000 }, claimOpen],
  ['with a limit', { maxDepth: 100_000, concurrency: 5000 }, claimUnderLimit],
  ['with fair turns', { maxDepth: 100_000, fair: 'group' }, claimUnderLimit],
] as const)(
  'behind a long transaction counts of a queue %s read no more than on an empty queue, and are exact',
  async (_, limits, claim) => {
    await store.worker('w', new Date())
    await saveLimits(store.db, { q: limits as QueueLimits }, null)
    await inTransaction(async () => {
      await burn(many, claim)
      await raise()
      const statements = await statementsOf(async () => {
        await counted()
        await starvedLanes(store.db, null)
        await readStarved(store.db, 1000, null)
        await readWork(store.db, 1000, null)
      })
      expect(statements.length).toBeGreaterThanOrEqual(5)
      for (const { name, text, values } of statements)
        expect([
          name,
          await entriesOf(text, values, name === '' ? waitingIndexes : [...waitingIndexes, 'job_running']),
        ]).toEqual([name, expect.toSatisfy((entries: number) => entries < 100)])
      await enqueue(7)
      await claim(3, null)
      expect(await counted()).toEqual({ ready: 4, running: 3 })
      await raise()
      expect(await counted()).toEqual({ ready: 4, running: 3 })
    })
  },
)

test('a floor does not pass what an open transaction has enqueued, so it is counted from its commit on', async () => {
  await store.worker('w', new Date())
  await store.sql(`insert into retoma.queue (name, limits) values ('q', '{"maxDepth": 100000}') on conflict do nothing`)
  const late = new pg.Client({ connectionString: store.url })
  await late.connect()
  try {
    await late.query('begin')
    await enqueue(1, null, async ({ text }, values) => (await late.query(text, values)).rows as never)
    await burn(10)
    await raise()
    await late.query('commit')
    expect(await counted()).toEqual({ ready: 1, running: 0 })
  } finally {
    await late.end()
  }
})

test('a floor of a clock that ran ahead counts for nothing', async () => {
  await store.worker('w', new Date())
  await store.sql(`insert into retoma.queue (name, limits) values ('q', '{"maxDepth": 100000}') on conflict do nothing`)
  await store.sql(
    `insert into retoma.job_floor (state, name, claim_rank, at, searched_at) values ('waiting', 'q', 9, now() + interval '1 h', now() + interval '1 h')`,
  )
  await enqueue(2)
  expect(await counted()).toEqual({ ready: 2, running: 0 })
  await raise()
  expect(await store.sql(`select from retoma.job_floor where at > now() or searched_at > now()`)).toEqual([])
  expect(await counted()).toEqual({ ready: 2, running: 0 })
})

/** Seconds pass for the floors. */
const age = (seconds: number) =>
  store.sql(`update retoma.job_floor set searched_at = searched_at - make_interval(secs => $1)`, [seconds])

/** Nobody takes its kind: no claim will find it. */
async function commitBelowFloor(): Promise<void> {
  await store.worker('w', new Date())
  await store.sql(`insert into retoma.queue (name, limits) values ('q', '{"maxDepth": 100000}') on conflict do nothing`)
  await burn(10)
  await raise()
  await enqueueJobs(store.db.run, [newJob({ kind: 'nobodys' })], new Date(Date.now() - 600_000))
}

test('a job that a late commit puts before a floor is found by every count and check within a minute, though nobody raises floors', async () => {
  await commitBelowFloor()
  await age(60)
  expect(await counted()).toEqual({ ready: 1, running: 0 })
  expect(await starvedLanes(store.db, null)).toMatchObject([{ kind: 'nobodys', jobs: 1 }])
})

test('a job that a late commit puts before a floor is found by the next search from the start, which lowers the floor', async () => {
  await commitBelowFloor()
  await age(45)
  await raise()
  expect(await counted()).toEqual({ ready: 1, running: 0 })
  await raise()
  expect(await counted()).toEqual({ ready: 1, running: 0 })
  expect(await store.sql(`select from retoma.job_floor where searched_at <= now() - interval '45 s'`)).toEqual([])
})

/** The reads that `work` sends. */
async function statementsOf(
  work: () => Promise<unknown>,
): Promise<{ name: string; text: string; values: unknown[] }[]> {
  const sent: { name: string; text: string; values: unknown[] }[] = []
  const { run } = store.db
  store.db.run = (async (statement, values, deadlineMs) => {
    if (!statement.name.startsWith('job_count_sample'))
      sent.push({ name: statement.name, text: statement.text, values })
    return run(statement, values, deadlineMs)
  }) as typeof run
  try {
    await work()
  } finally {
    store.db.run = run
  }
  return sent
}
