/** Engines with different schemas in one database: each has its own jobs, wake-ups, locks, watchdog and schedules. */
import pg from 'pg'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { schemaNames } from '../../src/database/schema-name.ts'
import {
  createEngine,
  defineBatch,
  defineGuard,
  defineJob,
  defineSchedule,
  type Engine,
  hours,
  minutes,
} from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { backupDatabase, checkBackup, examine, migrateDatabase, restoreDatabase } from '../../src/maintenance/index.ts'
import { createTestDatabase, VirtualClock } from '../../src/testing/index.ts'
import { folderWith } from '../cli/support.ts'
import { until } from '../support/engine.ts'
import { everyStatement } from '../support/statements.ts'

async function emptyDatabase(): Promise<{ url: string; client: pg.Client }> {
  const { url, drop } = await createTestDatabase(inject('serverUrl'))
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(async () => {
    await client.end()
    await drop()
  })
  return { url, client }
}

async function engineIn(databaseUrl: string, schema: string, options: object = {}): Promise<Engine> {
  const engine = await createEngine({ databaseUrl, schema, log: silentLog, ...options })
  onTestFinished(() => engine.close())
  return engine
}

test('two engines with two schemas do not see each other: jobs, keys, batches, workers, queues, tokens, events', async () => {
  const { url, client } = await emptyDatabase()
  const runs: string[] = []
  const named = (name: string) => {
    const job = defineJob<number>({ kind: 'work', run: () => void runs.push(name) })
    const done = defineJob<unknown>({ kind: 'done', run: () => void runs.push(`${name} done`) })
    return { job, batch: defineBatch({ name: 'b', job, onComplete: done }) }
  }
  const [one, two] = [named('one'), named('two')]
  const a = await engineIn(url, 'jobs_a', { jobs: [one.job], batches: [one.batch] })
  const b = await engineIn(url, 'jobs_b', { jobs: [two.job], batches: [two.batch] })

  const { id } = await a.enqueue(one.job, 1, { key: 'k' })
  expect((await b.enqueue(two.job, 1, { key: 'k' })).created).toBe(true)
  await a.submit(one.batch, [1, 2, 3], { key: 'k' })
  await a.queues.pause('default')
  await a.tokens.create({ user: 'ana', role: 'admin' })
  expect(await b.runUntilEmpty()).toMatchObject({ attempts: 1, succeeded: 1 })
  expect(runs).toEqual(['two'])
  await using _worker = await b.work()
  expect(await a.workers.list()).toEqual([])
  expect((await b.jobs.list()).items).toHaveLength(1)
  expect((await b.batches.list()).items).toEqual([])
  expect((await b.tokens.list()).items).toEqual([])
  expect(await b.queues.list()).toMatchObject([{ queue: 'default', paused: false }])
  await a.queues.resume('default')
  expect(await a.runUntilEmpty()).toMatchObject({ succeeded: 5 })
  expect(await a.job(id)).toMatchObject({ state: 'succeeded' })
  await client.query(`select set_config('search_path', 'jobs_a', false)`)
  expect((await client.query('select count(*)::int as n from job')).rows).toEqual([{ n: 5 }])
  expect((await client.query(`select to_regnamespace('retoma') is null as none`)).rows).toEqual([{ none: true }])
  await expect(a.explain({ job: id })).resolves.toMatchObject({ verdict: 'ok' })
})

test('a wake-up reaches the workers of its own schema only', async () => {
  const { url, client } = await emptyDatabase()
  const heard: string[] = []
  client.on('notification', ({ channel }) => void heard.push(channel))
  await client.query('listen jobs_a_wake; listen jobs_b_wake; listen retoma_wake')
  const job = defineJob({ kind: 'work', run: () => 1 })
  const sender = await engineIn(url, 'jobs_a', { jobs: [job] })
  const worker = await engineIn(url, 'jobs_a', { jobs: [job] })
  await using _worker = await worker.work()
  const { id } = await sender.enqueue(job, undefined)
  await sender.wait({ job: id })
  await until(() => heard.length > 0)
  expect(new Set(heard)).toEqual(new Set(['jobs_a_wake']))
})

test('locks are per schema: events of one schema get positions while those of another are being placed', async () => {
  const { url, client } = await emptyDatabase()
  const job = defineJob({ kind: 'work', maxAttempts: 1, run: () => Promise.reject(new Error('no')) })
  const [a, b] = [await engineIn(url, 'jobs_a', { jobs: [job] }), await engineIn(url, 'jobs_b', { jobs: [job] })]
  await client.query('begin')
  await client.query(`select pg_advisory_xact_lock(7236842004 # ('jobs_b.event'::regclass::oid::bigint << 33))`)
  for (const engine of [a, b]) {
    await engine.enqueue(job, undefined)
    await engine.runUntilEmpty()
  }
  const first = async () => {
    for await (const event of a.events()) return event
    return undefined
  }
  const following = first()
  await a.enqueue(job, undefined)
  await a.runUntilEmpty()
  expect(await following).toMatchObject({ type: 'state' })
  const placed = async (schema: string) =>
    (await client.query(`select count(seq)::int as n from ${schema}.event`)).rows[0].n
  expect([await placed('jobs_a'), await placed('jobs_b')]).toEqual([expect.any(Number), 0])
  await client.query('rollback')
})

test('the watchdog and the scheduler of a schema care for their own rows only', async () => {
  const { url, client } = await emptyDatabase()
  const clock = new VirtualClock()
  const job = defineJob({ kind: 'old', maxAge: minutes(5), run: () => 1 })
  const schedule = defineSchedule({ name: 'nightly', job, every: hours(1) })
  const a = await engineIn(url, 'jobs_a', { jobs: [job], schedules: [schedule], clock })
  const b = await engineIn(url, 'jobs_b', { jobs: [job], schedules: [schedule], clock })
  const { id } = await a.enqueue(job, undefined)
  const { id: other } = await b.enqueue(job, undefined)
  await a.watch({ once: true })
  await clock.advance(minutes(61))
  expect((await a.watch({ once: true })).overdue).toContain(id)
  expect(await b.job(other)).toMatchObject({ state: 'waiting' })
  expect((await b.schedules.list())[0]?.lastAt ?? null).toBeNull()
  expect((await client.query('select count(*)::int as n from jobs_b.job')).rows).toEqual([{ n: 1 }])
  expect((await client.query('select count(*)::int as n from jobs_a.job')).rows[0].n).toBeGreaterThan(1)
})

test('the SQL of an application that names retoma.job means the schema of its engine: queries, transactions, handlers, tx', async () => {
  const { url, client } = await emptyDatabase()
  const counts: unknown[] = []
  const count = `select count(*)::int as n from retoma.job j where j.kind <> 'retoma.job'`
  const job = defineJob({
    kind: 'counts',
    run: async ctx => {
      counts.push((await ctx.query<{ n: number }>(count)).rows[0]!.n)
      await ctx.transaction('save', async tx => void counts.push((await tx.query<{ n: number }>(count)).rows[0]!.n))
    },
  })
  const engine = await engineIn(url, 'jobs_a', { jobs: [job] })
  await client.query('begin')
  await engine.enqueue(job, undefined, { tx: client })
  await client.query('commit')
  expect(await engine.runUntilEmpty()).toMatchObject({ succeeded: 1 })
  counts.push((await engine.query<{ n: number }>(count)).rows[0]!.n)
  expect(counts).toEqual([1, 1, 1])
})

test('a literal in the SQL of an application stays as written, unless PostgreSQL reads it as a name', async () => {
  const { url } = await emptyDatabase()
  const engine = await engineIn(url, 'jobs_a', { jobs: [defineJob({ kind: 'retoma.job', run: () => 1 })] })
  const { rows } = await engine.query(`
    select 'retoma.notify' as kind, E'it\\'s retoma.job' as escaped, "retoma.x"."retoma.job" as quoted, -- don't: retoma.job
      'retoma.job'::regclass::text as cast, to_regclass('retoma.batch')::text as called, /* retoma.job' */ 'a''retoma.job' as twice
    from (select 1 as "retoma.job") as "retoma.x", retoma.job where false
    union all select 'retoma.notify', 'it''s retoma.job', 1, 'retoma.job'::regclass::text, to_regclass('retoma.batch')::text, 'a''retoma.job'`)
  expect(rows).toEqual([
    {
      kind: 'retoma.notify',
      escaped: "it's retoma.job",
      quoted: 1,
      cast: 'jobs_a.job',
      called: 'jobs_a.batch',
      twice: "a'retoma.job",
    },
  ])
  await engine.query(`do $$ begin perform 1 from retoma.job; end $$`)
})

test('a guard over the tables of an engine is refused, whatever their schema', async () => {
  const { url } = await emptyDatabase()
  const guard = (table: string) =>
    defineGuard({
      name: 'own',
      table,
      status: { column: 'state', running: 'running' },
      signal: 'created_at',
      after: minutes(10),
      set: { state: 'failed' },
    })
  await expect(engineIn(url, 'jobs_a', { guards: [guard('jobs_a.job')] })).rejects.toMatchObject({
    code: 'bad_option',
    message: expect.stringContaining('a table of Retoma'),
  })
  const engine = await engineIn(`${url}${url.includes('?') ? '&' : '?'}options=-csearch_path%3Djobs_a`, 'jobs_a', {
    guards: [guard('job')],
  })
  await expect(engine.guards.run('own')).rejects.toThrow('it is a table of Retoma')
})

test('guards, migrations down, doctor, backup and restore work in a schema of another name, and a backup goes into any schema', async () => {
  const { url, client } = await emptyDatabase()
  await client.query(`create table doc (id int primary key, status text, updated_at timestamptz)`)
  await client.query(`insert into doc values (1, 'PROCESSING', now() - interval '1 hour')`)
  const guard = defineGuard({
    name: 'docs',
    table: 'doc',
    status: { column: 'status', running: 'PROCESSING' },
    signal: 'updated_at',
    after: minutes(10),
    set: { status: 'FAILED' },
  })
  const job = defineJob({ kind: 'work', run: () => 1 })
  const engine = await createEngine({ databaseUrl: url, schema: 'jobs_a', log: false, jobs: [job], guards: [guard] })
  expect(await engine.guards.run('docs')).toMatchObject({ marked: 1 })
  await engine.enqueue(job, undefined)
  await engine.close()

  const report = await examine({ databaseUrl: url, schema: 'jobs_a' })
  expect(report.checks.filter(({ verdict }) => verdict === 'failure')).toEqual([])
  const file = `${folderWith()}/backup.gz`
  const { rows } = await backupDatabase({ databaseUrl: url, schema: 'jobs_a', file })
  expect(rows).toMatchObject({ job: 1 })
  await restoreDatabase({ databaseUrl: url, schema: 'jobs_b', backup: await checkBackup(file) })
  expect((await client.query('select kind from jobs_b.job')).rows).toEqual([{ kind: 'work' }])
  await migrateDatabase({ databaseUrl: url, schema: 'jobs_a', to: 0, force: true })
  const there = await client.query(
    `select nspname as name from pg_namespace where nspname ~ '^(jobs|retoma)' order by 1`,
  )
  expect(there.rows).toEqual([{ name: 'jobs_b' }])
})

describe('the name of the schema', () => {
  test('stands in every statement of the source, once for each engine, and nothing changes by default', async () => {
    const all = await everyStatement()
    const names = schemaNames('jobs')
    expect(all.length).toBeGreaterThan(100)
    for (const statement of all) {
      expect(schemaNames().statement(statement)).toBe(statement)
      const named = names.statement(statement)
      expect(named.text).not.toMatch(/\bretoma\.(?!transaction\b)[a-z]|retoma_wake/)
      expect(names.statement(statement)).toBe(named)
    }
  })

  test.each(['public', 'pg_jobs', 'Jobs', 'a-b', 'a.b', '', '1a', 'x'.repeat(51), `a"b`])(
    '%j is refused',
    async schema => {
      const refused = createEngine({ databaseUrl: inject('serverUrl'), schema })
      await expect(refused).rejects.toMatchObject({ code: 'bad_option', facts: { option: 'schema' } })
    },
  )
})
