/**
 * Everything through a real PgBouncer in transaction mode with two sessions: nothing fails, and nothing is left behind in
 * a session that somebody else is given next (docs/pgbouncer.md).
 */
import pg from 'pg'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { openDb } from '../../src/database/db.ts'
import { migrate } from '../../src/database/migrate.ts'
import { createEngine, defineGuard, defineJob, type Engine, type Log, minutes } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { examine } from '../../src/maintenance/index.ts'
import { createTestDatabase, testEngine, VirtualClock } from '../../src/testing/index.ts'
import { aborted, gate, until } from '../support/engine.ts'
import { type Pooler, pgbouncer, poolerTo } from '../support/pooler.ts'

type Line = { level: 'info' | 'warn' | 'error'; message: string }

/** The log lines of an engine, without debug lines. */
function hearing(): { log: Log; lines: Line[] } {
  const lines: Line[] = []
  const hear = (level: Line['level']) => (_: unknown, message: string) => void lines.push({ level, message })
  const log: Log = { debug() {}, info: hear('info'), warn: hear('warn'), error: hear('error'), child: () => log }
  return { log, lines }
}

const noHints = (line: Line) => line.message.includes('DATABASE_DIRECT_URL')
/** A heartbeat thread whose heartbeat has not landed for seven seconds says so; what matters is that its worker is heard of all the same. */
const isLateHeart = (line: Line) => line.message.startsWith('the heartbeat thread is silent')
const bad = (lines: Line[]) => lines.filter(each => each.level !== 'info' && !isLateHeart(each))

async function pooled(options: Parameters<typeof poolerTo>[1] = {}): Promise<{ url: string; pooler: Pooler }> {
  const { url, drop } = await createTestDatabase(inject('serverUrl'))
  onTestFinished(drop)
  return { url, pooler: await poolerTo(url, options) }
}

async function engineOn(given: Parameters<typeof createEngine>[0]): Promise<Engine> {
  const engine = await createEngine(given)
  onTestFinished(() => engine.close())
  return engine
}

async function rawClient(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

interface Traces {
  id: number
  prepared: number
  listening: number
  lock_timeout: string
  idle: string
  plans: string
}

/** What is left in both sessions of the pooler: each of two clients holds one while it looks. */
async function traces(pooler: Pooler): Promise<Traces[]> {
  const clients = [await rawClient(pooler.url), await rawClient(pooler.url)]
  for (const client of clients) await client.query('begin')
  const found = clients.map(client =>
    client.query<Traces>(
      `select pg_backend_pid() as id, (select count(*)::int from pg_prepared_statements) as prepared,
         (select count(*)::int from pg_listening_channels()) as listening, current_setting('lock_timeout') as lock_timeout,
         current_setting('idle_in_transaction_session_timeout') as idle, current_setting('plan_cache_mode') as plans`,
    ),
  )
  const rows = (await Promise.all(found)).map(({ rows: [row] }) => row!)
  for (const client of clients) await client.query('rollback')
  return rows
}

const untouched = { prepared: 0, listening: 0, lock_timeout: '0', idle: '0', plans: 'auto' }

describe.skipIf(pgbouncer === undefined)('through PgBouncer (skipped where `pgbouncer` is not installed)', () => {
  test('guards sweep, pass by what cannot be marked, and leave no trace', async () => {
    const { pooler } = await pooled()
    const client = await rawClient(pooler.url)
    await client.query(`create table docs (id int primary key, status text check (status <> 'FAILED' or id <> 3), at timestamptz);
      insert into docs select i, 'PROCESSING', now() - interval '11 minutes' from generate_series(1, 50) i`)
    const guard = defineGuard({
      name: 'docs',
      table: 'docs',
      status: { column: 'status', running: 'PROCESSING' },
      signal: 'at',
      after: minutes(10),
      limit: 10,
      set: { status: 'FAILED' },
    })
    const engines = await Promise.all([1, 2].map(() => engineOn({ databaseUrl: pooler.url, guards: [guard] })))
    expect(await engines[0]!.guards.run('docs', { dryRun: true })).toMatchObject({ marked: 50 })
    const runs = await Promise.all(engines.map(engine => engine.guards.run('docs')))
    expect(runs.reduce((sum, run) => sum + run.marked, 0)).toBe(49)
    expect(new Set(runs.flatMap(run => run.refused.map(each => each.key.id)))).toEqual(new Set([3]))
    expect(await engines[0]!.guards.list()).toMatchObject([{ total: 49 }])
    expect(await traces(pooler)).toMatchObject([untouched, untouched])
    expect(pooler.said()).not.toMatch(/prepared statement|26000|42P05|08P01/)
  })

  test('three workers and two sessions: 5,000 jobs each run once, without a complaint and without a trace', async () => {
    const { pooler } = await pooled()
    const { log, lines } = hearing()
    const ran = new Map<number, number>()
    const job = defineJob({
      kind: 'k',
      run: (_, i: number) => {
        ran.set(i, (ran.get(i) ?? 0) + 1)
        return i
      },
    })
    const engines = await Promise.all([1, 2, 3].map(() => engineOn({ databaseUrl: pooler.url, jobs: [job], log })))
    for (const engine of engines) await engine.work({ queues: { default: 50 } })
    const count = 5000
    const { ids } = await engines[0]!.enqueueMany(
      job,
      Array.from({ length: count }, (_, i) => i),
    )
    const client = await rawClient(pooler.url)
    await until(async () => {
      const { rows } = await client.query(`select count(*)::int as open from retoma.job where state <> 'succeeded'`)
      return rows[0].open === 0
    })
    expect(ids).toHaveLength(count)
    expect(ran.size).toBe(count)
    expect([...ran.values()].every(times => times === 1)).toBe(true)
    expect(bad(lines)).toEqual([])
    await expect.poll(() => lines.filter(noHints)).toHaveLength(3)
    const lives = await client.query(`select count(*)::int as all, count(dead_at)::int as dead from retoma.worker`)
    expect(lives.rows).toEqual([{ all: 3, dead: 0 }])
    const found = await traces(pooler)
    expect(new Set(found.map(each => each.id)).size).toBe(2)
    expect(found).toMatchObject([untouched, untouched])
    expect(pooler.said()).not.toMatch(/prepared statement|26000|42P05|08P01/)
  })

  test('migrations of three processes at once, up and down, end as one', async () => {
    const { pooler } = await pooled()
    const dbs = [1, 2, 3].map(() => openDb({ url: pooler.url, log: silentLog, connections: 1 }))
    onTestFinished(async () => void (await Promise.all(dbs.map(db => db.close()))))
    const done = await Promise.all(dbs.map(db => migrate(db)))
    const [first] = done
    expect(done.flatMap(each => each.ran).filter(name => name.startsWith('001'))).toEqual(['001_baseline up'])
    await migrate(dbs[0]!, { to: 0 })
    await migrate(dbs[1]!)
    expect(first!.to).toBeGreaterThan(0)
    expect(await traces(pooler)).toMatchObject([untouched, untouched])
  })

  test('keys are held, a running job hears its cancel, and an orphan is recovered', async () => {
    const { pooler } = await pooled()
    const started = gate()
    const job = defineJob({
      kind: 'k',
      run: async ({ signal }) => {
        started.open()
        await aborted(signal)
      },
    })
    const quick = defineJob({ kind: 'quick', run: () => 'ran' })
    const { engine, tick, run, clock, close } = await testEngine({ jobs: [job, quick], databaseUrl: pooler.url })
    onTestFinished(close)
    const held = await engine.enqueue(quick, undefined, { key: 'A' })
    expect(await engine.enqueue(quick, undefined, { key: 'A' })).toEqual({ id: held.id, created: false })

    const { id } = await engine.enqueue(job, undefined, { priority: 0 })
    await using worker = await engine.work()
    await started.passed
    expect(await engine.jobs.cancel(id)).toMatchObject({ state: 'cancelled', changed: true })
    await until(async () => {
      await clock.advance(1000 as never)
      return (await engine.job(held.id))?.state === 'succeeded'
    })
    await worker.stop()

    const orphan = await engine.enqueue(quick, undefined)
    const client = await rawClient(pooler.url)
    await client.query(`update retoma.job set state = 'running', worker_id = 'gone', attempt = 1 where id = $1`, [
      orphan.id,
    ])
    await tick()
    await run()
    expect(await engine.job(orphan.id)).toMatchObject({ state: 'succeeded', attempt: 2, restarts: 1 })
  })

  test("a handler's transaction applies once, also when its link is cut, and leaves no trace", async () => {
    const { url, pooler } = await pooled({ sessions: 3 })
    const direct = await rawClient(url)
    await direct.query('create table payment (amount int)')
    let calls = 0
    const job = defineJob({
      kind: 'k',
      maxAttempts: 1,
      run: ctx =>
        ctx.transaction('pay', async tx => {
          await tx.query(`set lock_timeout = '7s'`)
          await tx.query('create temp table mine () on commit drop')
          await tx.query('insert into payment values ($1)', [++calls])
          // The pooler's own link to PostgreSQL is cut under it.
          if (calls === 1) {
            const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
            await direct.query('select pg_terminate_backend($1)', [rows[0]!.pid])
            await tx.query('select 1')
          }
        }),
    })
    const engine = await engineOn({ databaseUrl: pooler.url, jobs: [job] })
    await engine.work()
    const { id } = await engine.enqueue(job, undefined)
    expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded', failures: 0 })
    expect((await direct.query('select amount from payment')).rows).toEqual([{ amount: 2 }])
    expect(await traces(pooler)).toMatchObject([untouched, untouched])
  })

  test('a check-up says that hints need another way, and leaves no LISTEN behind', async () => {
    const { url, pooler } = await pooled()
    const listen = async (given: { databaseDirectUrl?: string }) => {
      const { checks } = await examine({ databaseUrl: pooler.url, ...given })
      return checks.find(each => each.name === 'listen')
    }
    const found = await listen({})
    expect(await traces(pooler)).toMatchObject([untouched, untouched])
    expect(found).toMatchObject({
      verdict: 'warning',
      sentence: { en: expect.stringContaining('every second') },
      advice: { en: expect.stringContaining('DATABASE_DIRECT_URL') },
    })
    expect(await listen({ databaseDirectUrl: url })).toMatchObject({ verdict: 'ok' })
  })

  test('a statement has its settings with it, and a failing one leaves neither them nor a transaction', async () => {
    const { pooler } = await pooled()
    const db = openDb({ url: pooler.url, log: silentLog })
    onTestFinished(() => db.close())
    const text = `select current_setting('lock_timeout') as lock_timeout, current_setting('plan_cache_mode') as plans, $1::int / $2::int as answer`
    const ask = (by: number) => db.run({ name: 'ask', text }, [4, by])
    expect(await ask(2)).toEqual([{ lock_timeout: '10s', plans: 'force_generic_plan', answer: 2 }])
    await expect(ask(0)).rejects.toMatchObject({ code: '22012' })
    expect(await Promise.all([1, 2, 4].map(ask))).toHaveLength(3)
    expect(await traces(pooler)).toMatchObject([untouched, untouched])
  })

  test('a job enqueued by another process is picked up within seconds, and at once with a direct address', async () => {
    const { url, pooler } = await pooled()
    const { log, lines } = hearing()
    const job = defineJob({ kind: 'k', run: () => 'ran' })
    const sender = await engineOn({ databaseUrl: pooler.url, jobs: [job] })
    const worker = async (given: { databaseDirectUrl?: string; clock?: VirtualClock }) => {
      const engine = await engineOn({ databaseUrl: pooler.url, jobs: [job], log, ...given })
      return engine.work()
    }
    const polling = await worker({})
    await until(() => lines.some(noHints))
    const late = await sender.enqueue(job, undefined)
    expect(await sender.wait({ job: late.id })).toMatchObject({ state: 'succeeded' })
    await polling.stop()

    // On a clock that is stopped nothing is ever polled for. Whoever enqueues must live at the same time.
    const clock = new VirtualClock()
    await worker({ databaseDirectUrl: url, clock })
    const neighbour = await engineOn({ databaseUrl: pooler.url, jobs: [job], clock })
    const client = await rawClient(url)
    const listening = `select from pg_stat_activity where datname = current_database() and query like 'listen%'`
    await until(async () => (await client.query(listening)).rowCount === 1)
    const { id } = await neighbour.enqueue(job, undefined)
    expect(await sender.wait({ job: id })).toMatchObject({ state: 'succeeded' })
    expect(lines.filter(noHints)).toHaveLength(1)
    expect(bad(lines)).toEqual([])
  })

  test('in session mode it is used like the database itself: prepared statements, settings, LISTEN', async () => {
    const { pooler } = await pooled({ mode: 'session', sessions: 20 })
    const db = openDb({ url: pooler.url, log: silentLog, connections: 1 })
    onTestFinished(() => db.close())
    const text = `select current_setting('lock_timeout') as lock_timeout, (select count(*)::int from pg_prepared_statements) as prepared`
    await db.run({ name: 'ask', text }, [])
    expect(await db.run({ name: 'ask', text }, [])).toEqual([{ lock_timeout: '10s', prepared: 1 }])
    const listening = await db.session()
    expect(listening).toBeDefined()
    await listening!.end()
  })

  for (const [what, options] of Object.entries({
    'a single session': { sessions: 1 },
    'sessions that take turns': { sessions: 2, settings: ['server_round_robin = 1'] },
  }))
    test(`is seen with ${what}`, async () => {
      const { pooler } = await pooled(options)
      const db = openDb({ url: pooler.url, log: silentLog })
      onTestFinished(() => db.close())
      const ask = { name: 'ask', text: 'select count(*)::int as prepared from pg_prepared_statements' }
      expect(await Promise.all(Array.from({ length: 20 }, () => db.run(ask, [])))).toEqual(
        Array(20).fill([{ prepared: 0 }]),
      )
      expect(await db.session()).toBeUndefined()
    })
})
