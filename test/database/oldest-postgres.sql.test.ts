/** The oldest PostgreSQL we promise: every statement of the store runs there, too. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { stallBatch } from '../../src/batches/sql/batch-actions.ts'
import { openDb } from '../../src/database/db.ts'
import { checkSchema, migrate } from '../../src/database/migrate.ts'
import { internalsOf } from '../../src/engine/internals.ts'
import { savedCheckpoint } from '../../src/execution/sql/fenced-transaction.ts'
import {
  createEngine,
  days,
  defineBatch,
  defineGuard,
  defineJob,
  defineSchedule,
  type EventsFilter,
  guardNow,
  hours,
  minutes,
  seconds,
  skip,
  snooze,
} from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { backupDatabase, checkBackup, examine, restoreDatabase } from '../../src/maintenance/index.ts'
import { createTestDatabase, type TestServer, testEngine } from '../../src/testing/index.ts'
import { readCatalog } from '../../src/testing/print-schema.ts'
import { isInstalled, startPackagedServer } from '../support/packaged-server.ts'

describe.skipIf(!isInstalled('oldest'))('on PostgreSQL 14', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startPackagedServer('oldest')
  })
  afterAll(() => server?.stop())

  test('the schema goes up, down and up again', async () => {
    const database = await createTestDatabase(server.url)
    const db = openDb({ url: database.url, log: silentLog })
    onTestFinished(async () => {
      await db.close()
      await database.drop()
    })
    const [row] = await db.run<{ version: string }>({ name: '', text: 'show server_version' }, [])
    expect(Object.values(row!)[0]).toMatch(/^14\./)
    await migrate(db)
    const schema = await readCatalog(database.url)
    await migrate(db, { to: 0 })
    await migrate(db)
    await checkSchema(db)
    expect(await readCatalog(database.url)).toBe(schema)
  })

  test('a job, a batch and a queue are explained', async () => {
    const wait = defineJob<{ n: number }>({ kind: 'wait', queue: 'slow', run: () => 1 })
    const all = defineBatch({ name: 'all', job: wait })
    await using t = await testEngine({ batches: [all], limits: { slow: { concurrency: 1 } }, serverUrl: server.url })
    const { id: batch } = await t.engine.submit(all, [{ n: 1 }])
    const { id: job } = await t.engine.enqueue(wait, { n: 2 })
    for (const what of [{ job }, { batch }, { queue: 'slow' }])
      expect(await t.engine.explain(what)).toMatchObject({ verdict: 'starved' })
    await t.run()
    for (const what of [{ job }, { batch }, { queue: 'slow' }])
      expect(await t.engine.explain(what)).toMatchObject({ verdict: 'ok' })
  })

  test('jobs run to every end, come back, are recovered, cancelled, run again and resumed', async () => {
    const ends = defineJob({
      kind: 'ends',
      maxAttempts: 2,
      backoff: { jitter: 0 },
      run: async (ctx, how: 'succeed' | 'skip' | 'fail' | 'snooze') => {
        if (how === 'skip') return skip('empty')
        if (how === 'snooze' && ctx.attempt === 1) return snooze(seconds(5))
        if (how === 'fail') throw new Error('no')
        return how
      },
    })
    const held = defineJob({ kind: 'held', onOrphan: 'stall', run: () => 'went on' })
    await using t = await testEngine({ jobs: [ends, held], serverUrl: server.url })
    const { engine, clock } = t
    const hows = ['succeed', 'skip', 'fail', 'snooze'] as const
    const ids = await Promise.all(
      hows.map(async how => (await engine.enqueue(ends, how, { key: how, priority: 2 })).id),
    )
    expect(await engine.enqueue(ends, 'skip', { key: 'skip' })).toEqual({ id: ids[1], created: false })
    await t.run()
    await clock.advance(seconds(5))
    await t.run()
    const states = await Promise.all(ids.map(async id => (await engine.job(id))?.state))
    expect(states).toEqual(['succeeded', 'skipped', 'failed', 'succeeded'])
    expect((await engine.job(ids[2]!))?.history).toHaveLength(2)
    await engine.jobs.retry(ids[2]!)
    await engine.jobs.cancel(ids[2]!)

    const { id } = await engine.enqueue(held, undefined)
    const db = openDb({ url: t.databaseUrl, log: silentLog })
    await db.run(
      { name: '', text: `update retoma.job set state = 'running', attempt = 1, worker_id = 'gone' where id = $1` },
      [id],
    )
    await db.close()
    await t.tick()
    expect(await engine.job(id)).toMatchObject({ state: 'stalled', restarts: 1 })
    await engine.jobs.resume(id)
    await t.run()
    expect(await engine.job(id)).toMatchObject({ state: 'succeeded', result: 'went on' })
    expect(await engine.queues.list()).toMatchObject([{ queue: 'default', ready: 0, running: 0, stalled: 0 }])
    expect((await engine.jobs.list({ state: 'cancelled' })).items).toHaveLength(1)
    expect(await engine.workers.list()).toEqual([])
  })

  test('steps, places and transactions are kept, also of another version, and go when it is run anew', async () => {
    const ran: unknown[] = []
    const job = defineJob({
      kind: 'k',
      version: 2,
      maxAttempts: 3,
      backoff: { first: seconds(0), jitter: 0 },
      run: async ctx => {
        ran.push(ctx.resumeData)
        await ctx.step('s', () => ran.push('s'))
        await ctx.checkpoint('page', ctx.attempt, { progress: { done: 1 } })
        await ctx.transaction('t', async tx => {
          const { rows } = await tx.query('select 1 as one')
          return ran.push(rows[0])
        })
        if (ctx.attempt % 2 === 1) throw new Error('cut')
        return ctx.version
      },
    })
    await using t = await testEngine({ jobs: [job], serverUrl: server.url })
    const { id } = await t.engine.enqueue(job, undefined)
    await t.run()
    expect(ran).toEqual([undefined, 's', { one: 1 }, 1])
    expect(await t.engine.job(id)).toMatchObject({ state: 'succeeded', attempt: 2, result: 2 })
    const db = openDb({ url: t.databaseUrl, log: silentLog })
    expect(await savedCheckpoint(db, id, 't')).toEqual({ value: 3, attempt: 1 })
    await db.close()
    await t.engine.jobs.rerun(id)
    await t.run()
    expect(ran.slice(4)).toEqual([undefined, 's', { one: 1 }, 3])
  })

  test('limits hold, a queue is paused and full, and the janitor tends the limits', async () => {
    const job = defineJob({ kind: 'k', queue: 'q', run: () => 1 })
    const whole = { concurrency: 10, rate: { limit: 1000, per: seconds(60) }, maxDepth: 10 }
    const limits = { q: { ...whole, perGroup: { concurrency: 2, rate: { limit: 3, per: seconds(60) } } } }
    await using t = await testEngine({ jobs: [job], limits, serverUrl: server.url })
    const many = Array.from({ length: 10 }, () => undefined)
    await t.engine.enqueueMany(job, many, { each: (_, i) => ({ groupKey: i < 5 ? 'a' : `b${i}` }) })
    await expect(t.engine.enqueue(job, undefined)).rejects.toMatchObject({ code: 'queue_full' })
    await t.engine.queues.pause('q')
    expect(await t.run()).toBe(0)
    await t.engine.queues.resume('q')
    expect(await t.run()).toBe(8)
    await t.clean()
    await t.clock.advance(seconds(60))
    expect(await t.run()).toBe(2)
  })

  test('how often somebody may, and how many of a group come in, is judged, and old windows go', async () => {
    const job = defineJob({ kind: 'k', queue: 'q', run: () => 1 })
    const limits = { q: { perGroup: { admit: { limit: 2, per: seconds(60) } } } }
    await using t = await testEngine({ jobs: [job], limits, serverUrl: server.url })
    for (const limit of [1, 300]) {
      const asked = { bucket: `b${limit}`, who: 'ana', limit, per: seconds(60) }
      for (let i = 0; i < limit; i++) expect(await t.engine.limit(asked)).toMatchObject({ remaining: limit - i - 1 })
      expect(await t.engine.limit(asked)).toMatchObject({ allowed: false, retryAfterSeconds: 60 })
      expect(await internalsOf(t.engine).peekLimit(asked)).toMatchObject({ allowed: false })
    }
    const each = (_: unknown, i: number) => ({ groupKey: i < 2 ? 'a' : 'b' })
    await t.engine.enqueueMany(job, [undefined, undefined, undefined], { each })
    const refused = t.engine.enqueueMany(job, [undefined, undefined, undefined], { each })
    await expect(refused).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 60 })
    await t.clock.advance(minutes(10))
    await t.clean()
  })

  test('events are noted, placed, read from the start and live, and removed', async () => {
    const fails = defineJob({ kind: 'fails', maxAttempts: 1, run: () => Promise.reject(new Error('no')) })
    const many = defineBatch({ name: 'many', job: fails })
    await using t = await testEngine({ batches: [many], serverUrl: server.url })
    const { id } = await t.engine.submit(many, [undefined, undefined])
    const { items } = await t.engine.batches.items(id)
    await t.engine.batches.pause(id)
    await t.engine.batches.resume(id)
    await t.run()
    const reported = async (filter: EventsFilter) => {
      const types: string[] = []
      for await (const event of t.engine.events(filter)) types.push(event.type)
      return types.toSorted()
    }
    expect(await reported({ batch: id, after: '0' })).toEqual([
      ...['action', 'action', 'item', 'item', 'progress'],
      ...['state', 'state', 'state'],
    ])
    expect(await reported({ job: items[0]!.id, after: '0' })).toEqual(['state'])
    await t.clock.advance(days(91))
    await t.clean()
    for await (const event of t.engine.events({ after: '0' })) {
      expect(event.type).toBe('reset')
      break
    }
  })

  test('batches come in, stop, stall, go on, are retried, moved, cancelled and removed', async () => {
    const fails = defineJob<number>({
      kind: 'fails',
      queue: 'q',
      maxAttempts: 1,
      run: (_, n) => (n > 0 ? Promise.reject(new Error('no')) : n),
    })
    const report = defineJob<unknown>({ kind: 'report', run: () => {} })
    const many = defineBatch({
      name: 'many',
      job: fails,
      onComplete: report,
      stopAfter: { failures: 2, percent: 90 },
      maxResumes: 1,
    })
    await using t = await testEngine({ batches: [many], serverUrl: server.url })
    const { engine, clock } = t
    const db = openDb({ url: t.databaseUrl, log: silentLog, connections: 2 })
    onTestFinished(() => db.close())
    const later = (n: number) => ({ key: `k${n}`, ...(n === 3 ? { delay: seconds(60) } : {}) })
    const { id } = await engine.submit(many, [0, 1, 2, 3], { key: 'k', each: later, ref: n => `r${n}` })
    await t.run()
    expect(await engine.batch(id)).toMatchObject({ state: 'paused', reason: { code: 'stop_after' }, failed: 2 })
    await engine.batches.resume(id)
    expect(await engine.batches.setPriority(id, 1)).toMatchObject({ moved: 1 })
    const [group] = await engine.batches.failures(id)
    expect(await engine.batches.retryFailed(id, { cause: group!.cause })).toMatchObject({ retried: 2, conflicts: 0 })
    expect(await stallBatch(db, id, { code: 'no_progress' }, clock.instant())).toBe('stalled')
    expect(await engine.batches.resume(id)).toMatchObject({ state: 'running', resumed: 3 })
    expect(await stallBatch(db, id, { code: 'no_progress' }, clock.instant())).toBe('failed')
    await t.tick()
    expect(await engine.batches.retryFailed(id)).toMatchObject({ retried: 3, state: 'running' })
    const pages = await Promise.all(
      ([undefined, 'waiting', 'running', 'stalled', 'failed'] as const).map(state =>
        engine.batches.items(id, { state }),
      ),
    )
    expect(pages.map(page => page.items.length)).toEqual([4, 3, 0, 0, 0])
    await engine.jobs.skip(pages[1]!.items[0]!.id, 'known')
    await engine.jobs.rerun(pages[0]!.items[0]!.id)
    expect(await engine.batches.cancel(id)).toMatchObject({ state: 'cancelled' })
    expect(await engine.batches.list({ state: 'cancelled' })).toMatchObject({ items: [{ skipped: 1, cancelled: 3 }] })
    expect(await engine.submit(many, [])).toMatchObject({ total: 0 })
    expect(await t.run()).toBe(1)
    await clock.advance(days(91))
    await t.clean()
    await t.tick()
    expect(await db.run({ name: '', text: 'select from retoma.batch' }, [])).toEqual([])
    expect(await db.run({ name: '', text: 'select from retoma.job' }, [])).toEqual([])
  })

  test('what is there is examined, backed up and restored', async () => {
    const greet = defineJob({ kind: 'greet', run: () => 'hi' })
    await using t = await testEngine({ jobs: [greet], serverUrl: server.url })
    const { id } = await t.engine.enqueue(greet, undefined)
    await t.run()
    const file = join(await mkdtemp(join(tmpdir(), 'retoma-oldest-')), 'b.gz')
    onTestFinished(() => rm(dirname(file), { recursive: true }))
    await backupDatabase({ databaseUrl: t.databaseUrl, file })
    const other = await createTestDatabase(server.url)
    onTestFinished(() => other.drop())
    await restoreDatabase({ databaseUrl: other.url, backup: await checkBackup(file) })
    await using engine = await createEngine({ databaseUrl: other.url, migrate: false })
    expect(await engine.job(id)).toEqual(await t.engine.job(id))
    const { checks } = await examine({ databaseUrl: other.url })
    expect(checks.filter(each => ['failure', 'unseen'].includes(each.verdict))).toEqual([])
  })

  test('a worker listens, takes what comes and stops', async () => {
    const greet = defineJob({ kind: 'greet', run: () => 'hi' })
    await using t = await testEngine({ jobs: [greet], serverUrl: server.url })
    await using _worker = await t.engine.work()
    const { id } = await t.engine.enqueue(greet, undefined)
    expect(await t.engine.wait({ job: id })).toMatchObject({ state: 'succeeded' })
    expect(await t.engine.workers.list()).toMatchObject([{ running: 0, dead: false }])
  })

  test('schedules are begun, fired, changed, caught up with and fired by hand', async () => {
    const tidy = defineJob({ kind: 'tidy', run: () => 'done' })
    const hourly = defineSchedule({ name: 'tidy', job: tidy, every: hours(1), catchUp: 'all' })
    await using t = await testEngine({ schedules: [hourly], serverUrl: server.url })
    await t.schedule()
    await t.clock.advance(hours(2))
    await t.schedule()
    await t.engine.schedules.run('tidy')
    expect(await t.run()).toBe(3)
    const changed = defineSchedule({ name: 'tidy', job: tidy, cron: '30 4 * * *', timeZone: 'America/Sao_Paulo' })
    const next = await testEngine({ schedules: [changed], databaseUrl: t.databaseUrl, start: t.clock.now() })
    onTestFinished(() => next.close())
    await next.schedule()
    expect(await t.engine.schedules.list()).toMatchObject([{ name: 'tidy', nextAt: new Date('2030-01-02T07:30:00Z') }])
  })

  test('guards sweep a partitioned table, in chunks, and make jobs of its rows', async () => {
    const again = defineJob({ kind: 'again', run: (_, input: { id: string }) => input.id })
    const guard = defineGuard({
      name: 'docs',
      table: 'docs',
      status: { column: 'status', running: ['QUEUED', 'RUNNING'] },
      signal: ['seen', 'made'],
      after: minutes(10),
      limit: 2,
      set: { status: 'LOST', made: guardNow },
      enqueue: { job: again, input: row => ({ id: row.id as string }) },
    })
    await using t = await testEngine({ guards: [guard], serverUrl: server.url })
    const db = openDb({ url: t.databaseUrl, log: silentLog })
    onTestFinished(() => db.close())
    await db.transaction(client =>
      client.query(`
        create type stage as enum ('QUEUED', 'RUNNING', 'LOST');
        create table docs (id bigint, status stage, seen timestamptz, made timestamp) partition by list (status);
        create table docs_open partition of docs for values in ('QUEUED', 'RUNNING');
        create table docs_rest partition of docs default;
        insert into docs select i, 'RUNNING', case when i > 2 then timestamptz '2030-01-01 12:00Z' end, '2030-01-01 12:00'
        from generate_series(1, 5) i`),
    )
    await t.clock.advance(minutes(11))
    expect(await t.engine.guards.run('docs', { dryRun: true })).toMatchObject({ marked: 5 })
    await t.guard()
    expect(await t.engine.guards.list()).toMatchObject([{ total: 5, lastError: null }])
    expect(await t.run()).toBe(5)
  })
})
