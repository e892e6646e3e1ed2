/** Guards as an application has them: processes on one clock beside a table that is not ours. */

import { describe, expect, test } from 'vitest'
import { internalsOf } from '../../src/engine/internals.ts'
import { defineJob, guardNow, minutes, seconds } from '../../src/index.ts'
import { type Log, silentLog } from '../../src/lib/logging/log.ts'
import { documents, guardStage, watchdog } from '../support/guards.ts'

test('a document in PROCESSING without updated_at for over 10 minutes is FAILED with "Processing timeout (watchdog)", and not one second earlier', async () => {
  const { clock, sql, process, put } = await guardStage()
  const engine = await process()
  const [id] = await put()
  await put(1, 'DONE')
  await clock.advance(minutes(1))
  const [later] = await put()
  await clock.advance(minutes(9))
  await internalsOf(engine).guard()
  expect(await sql(`select 1 from documents where status = 'FAILED'`)).toEqual([])
  await clock.advance(seconds(1))
  await engine.guards.run('documents')
  expect(await sql(`select * from documents where status = 'FAILED'`)).toEqual([
    {
      id,
      status: 'FAILED',
      updated_at: new Date('2030-01-01T12:00:00Z'), // only what was asked for is set
      created_at: null,
      error_message: 'Processing timeout (watchdog)',
    },
  ])
  await clock.advance(minutes(1))
  await internalsOf(engine).guard()
  expect(await sql(`select id from documents where status = 'FAILED' order by id`)).toEqual([{ id }, { id: later }])
})

test('the sweep runs by itself, with no outside cron, in a process that only watches', async () => {
  const { clock, process, put, statuses } = await guardStage()
  const engine = await process()
  const [id] = await put()
  engine.watch()
  while ((await statuses())[id!] !== 'FAILED') await clock.advance(seconds(20))
  expect(clock.now().getTime()).toBeGreaterThan(Date.parse('2030-01-01T12:10:00Z'))
})

test('ten processes look once per `every`, and each row is marked and counted once', async () => {
  const { clock, sql, process, put } = await guardStage()
  const engines = await Promise.all(Array.from({ length: 10 }, () => process([watchdog({ limit: 7 })])))
  await put(100)
  await clock.advance(minutes(11))
  await sql(`create table seen (id bigint);
    create function note() returns trigger language plpgsql as 'begin insert into seen values (new.id); return new; end';
    create trigger note before update on documents for each row execute function note()`)
  await Promise.all(engines.map(each => internalsOf(each).guard()))
  const [first] = await engines[0]!.guards.list()
  expect(first).toMatchObject({ lastMarked: 100, total: 100, lastSweepAt: clock.now(), active: true, lastError: null })
  expect(await sql(`select count(*)::int, count(distinct id)::int as different from seen`)).toEqual([
    { count: 100, different: 100 },
  ])
  await put(5)
  await sql(`update documents set updated_at = updated_at - interval '1 hour' where status = 'PROCESSING'`)
  await clock.advance(seconds(59))
  await Promise.all(engines.map(each => internalsOf(each).guard()))
  expect((await engines[0]!.guards.list())[0]).toMatchObject({ total: 100 })
  await clock.advance(seconds(1))
  await Promise.all(engines.map(each => internalsOf(each).guard()))
  expect((await engines[0]!.guards.list())[0]).toMatchObject({ lastMarked: 5, total: 105 })
})

test('two processes that run it at the same instant mark each row once, and their counts add up', async () => {
  const { clock, process, put } = await guardStage()
  const engines = await Promise.all([1, 2].map(() => process([watchdog({ limit: 10 })])))
  const ids = await put(1000)
  await clock.advance(minutes(11))
  const runs = await Promise.all(engines.map(each => each.guards.run('documents')))
  const marked = runs.flatMap(run => run.rows.map(each => each.key.id as string))
  expect(marked.sort()).toEqual(ids.sort())
  expect(runs.map(run => run.marked).reduce((a, b) => a + b)).toBe(1000)
  expect((await engines[0]!.guards.list())[0]!.total).toBe(1000)
})

test("a row that somebody's transaction holds is passed by, and taken at the next check when it is still lost", async () => {
  const { clock, pool, process, put, statuses } = await guardStage()
  const engine = await process()
  const [held, moved, free] = await put(3)
  await clock.advance(minutes(11))
  const theirs = await pool.connect()
  await theirs.query('begin')
  await theirs.query(`update documents set error_message = 'mine' where id = $1`, [held])
  await theirs.query(`update documents set updated_at = $2 where id = $1`, [moved, clock.now()])
  expect(await engine.guards.run('documents')).toMatchObject({ marked: 1, rows: [{ key: { id: free } }] })
  await theirs.query('commit')
  theirs.release()
  expect(await engine.guards.run('documents')).toMatchObject({ marked: 1, rows: [{ key: { id: held } }] })
  expect(await statuses()).toEqual({ [held!]: 'FAILED', [moved!]: 'PROCESSING', [free!]: 'FAILED' })
})

test('100,000 rows are marked in chunks of a bounded size, over as many ticks as it takes', async () => {
  const { clock, sql, process, put } = await guardStage()
  await put(100_000)
  await clock.advance(minutes(11))
  await sql(`create table bite (rows int);
    create function note() returns trigger language plpgsql as 'begin insert into bite select count(*) from changed; return null; end';
    create trigger note after update on documents referencing new table as changed for each statement execute function note()`)
  const engine = await process([watchdog({ limit: 1000 })])
  let ticks = 0
  do {
    await internalsOf(engine).guard()
    ticks++
  } while ((await sql(`select 1 from documents where status = 'PROCESSING' limit 1`)).length > 0)
  expect(ticks).toBe(5) // 20 bites each
  expect(await sql(`select max(rows) as most, sum(rows)::int as all from bite`)).toEqual([{ most: 1000, all: 100_000 }])
  expect((await engine.guards.list())[0]).toMatchObject({ total: 100_000 })
})

describe('a row without a signal', () => {
  test('is never lost', async () => {
    const { clock, sql, process } = await guardStage()
    const engine = await process()
    await sql(`insert into documents (status, updated_at) values ('PROCESSING', null)`)
    await clock.advance(minutes(60 * 24))
    expect(await engine.guards.run('documents')).toMatchObject({ marked: 0 })
  })

  test('is judged by the next column where several are named', async () => {
    const { clock, sql, process, statuses } = await guardStage()
    const engine = await process([watchdog({ signal: ['updated_at', 'created_at'] })])
    await sql(
      `insert into documents (status, updated_at, created_at) values
        ('PROCESSING', null, $1), ('PROCESSING', $1, $2), ('PROCESSING', $2, $1), ('PROCESSING', null, null)`,
      [clock.now(), new Date(clock.now().getTime() + 600_000)],
    )
    await clock.advance(minutes(11))
    expect(await engine.guards.run('documents')).toMatchObject({ marked: 2 })
    expect(await statuses()).toEqual({ 1: 'FAILED', 2: 'FAILED', 3: 'PROCESSING', 4: 'PROCESSING' })
  })
})

describe('with a job for each row', () => {
  const rescue = defineJob({ kind: 'rescue', queue: 'docs', run: (_, input: { id: string }) => input.id })
  const rescued = (input = (row: { id?: unknown }) => ({ id: row.id as string })) =>
    watchdog({ set: { status: 'PENDING', updated_at: guardNow }, enqueue: { job: rescue as never, input } })

  test('row and job are one transaction, and the job knows its row', async () => {
    const { clock, sql, process, put, statuses } = await guardStage()
    const engine = await process([rescued()])
    const ids = await put(3)
    await clock.advance(minutes(11))
    expect(await engine.guards.run('documents')).toMatchObject({ marked: 3, jobs: 3 })
    const { items } = await engine.jobs.list({})
    expect(items.map(job => [job.kind, job.queue, job.ref, job.input]).sort()).toEqual(
      ids.map(id => ['rescue', 'docs', id, { id }]),
    )
    expect(new Set(Object.values(await statuses()))).toEqual(new Set(['PENDING']))
    expect(await sql(`select distinct updated_at from documents`)).toEqual([{ updated_at: clock.now() }])
  })

  test('without set, the signal is set to now: one job, and another only when it is lost again', async () => {
    const { clock, process, put } = await guardStage()
    const input = (row: { id?: unknown }) => ({ id: row.id as string })
    const engine = await process([watchdog({ set: undefined as never, enqueue: { job: rescue as never, input } })])
    await put()
    await clock.advance(minutes(11))
    await internalsOf(engine).guard()
    await clock.advance(minutes(5))
    await internalsOf(engine).guard()
    expect((await engine.jobs.list({})).items).toHaveLength(1)
    await clock.advance(minutes(6))
    await internalsOf(engine).guard()
    expect((await engine.jobs.list({})).items).toHaveLength(2)
  })

  test('a row that no job can be made of stays as it is, is reported, and holds up no other', async () => {
    const { clock, process, put, statuses } = await guardStage()
    const [bad, ...good] = await put(4)
    const engine = await process([
      rescued(row => {
        if (row.id === bad) throw new Error('no such page')
        return { id: row.id as string }
      }),
    ])
    await clock.advance(minutes(11))
    const run = await engine.guards.run('documents')
    expect(run).toMatchObject({ marked: 3, jobs: 3, refused: [{ key: { id: bad } }] })
    expect(run.refused[0]!.error.in('pt')).toBe(
      `a entrada de um job rescue não é válida: linha {"id":"${bad}"}: Error: no such page`,
    )
    expect((await engine.jobs.list({})).items).toHaveLength(3)
    expect(await statuses()).toEqual({ [bad!]: 'PROCESSING', ...Object.fromEntries(good.map(id => [id, 'PENDING'])) })
    expect((await engine.guards.list())[0]).toMatchObject({ total: 3, lastError: { code: 'bad_input' } })
  })

  test('its kind is known to the engine, and a worker of it runs the jobs', async () => {
    const { clock, process, put } = await guardStage()
    const engine = await process([rescued()])
    const [id] = await put()
    await clock.advance(minutes(11))
    await internalsOf(engine).guard()
    const worker = await internalsOf(engine).begin({}, 'by hand')
    await worker.drain()
    await worker.stop()
    expect((await engine.jobs.list({})).items).toMatchObject([{ state: 'succeeded', result: id }])
  })
})

describe('a guard that fails', () => {
  test('is shown, logged once, tried again, and stops no other; when its table is back it works again', async () => {
    const { clock, sql, process, put, statuses } = await guardStage(`${documents};
      create table syncs (id int primary key, state text, seen timestamptz)`)
    const said: string[] = []
    const say: Log = {
      ...silentLog,
      warn: (facts: object | string, text?: string) => void said.push(`${text} ${JSON.stringify(facts)}`),
      info: (facts: object | string, text?: string) => void said.push(`${text} ${JSON.stringify(facts)}`),
    } as Log
    const syncs = watchdog({
      name: 'a-syncs',
      table: 'syncs',
      status: { column: 'state', running: 'RUNNING' },
      signal: 'seen',
      set: { state: 'FAILED' },
    })
    const engine = await process([syncs, watchdog()], say)
    const [id] = await put()
    await sql(`insert into syncs values (1, 'RUNNING', $1)`, [clock.now()])
    await sql(`alter table syncs rename to gone`)
    for (let minute = 0; minute < 12; minute++) {
      await clock.advance(minutes(1))
      await internalsOf(engine).guard()
    }
    expect((await statuses())[id!]).toBe('FAILED')
    const [broken, whole] = await engine.guards.list()
    expect(broken).toMatchObject({
      name: 'a-syncs',
      lastSweepAt: clock.now(),
      failingSince: new Date('2030-01-01T12:01:00Z'),
      lastError: {
        code: 'guard_no_table',
        en: 'there is no table syncs in this database; there is: documents, gone',
        pt: 'não existe a tabela syncs neste banco; há: documents, gone',
      },
    })
    expect(whole).toMatchObject({ name: 'documents', lastError: null, total: 1 })
    expect(said.filter(each => each.includes('guard_no_table'))).toHaveLength(1)
    await sql(`alter table gone rename to syncs`)
    await clock.advance(minutes(1))
    await internalsOf(engine).guard()
    expect((await engine.guards.list())[0]).toMatchObject({
      lastError: null,
      failingSince: null,
      lastMarked: 1,
      total: 1,
    })
    expect(said.filter(each => each.includes('works again'))).toHaveLength(1)
    await clock.advance(minutes(1))
    await internalsOf(engine).guard()
    expect(said.filter(each => each.includes('create index concurrently on public.syncs (state, seen)'))).toHaveLength(
      1,
    )
  })

  test('by hand it throws, and is shown as well', async () => {
    const { sql, process } = await guardStage()
    const engine = await process()
    await sql(`drop table documents`)
    await expect(engine.guards.run('documents')).rejects.toMatchObject({ code: 'guard_no_table' })
    expect((await engine.guards.list())[0]).toMatchObject({ lastError: { code: 'guard_no_table' } })
  })
})

test('a dry run says what it would do and writes nothing', async () => {
  const { clock, sql, process, put } = await guardStage()
  const engine = await process([watchdog({ set: { status: 'FAILED', updated_at: guardNow } })])
  const ids = await put(8)
  await clock.advance(minutes(11))
  const before = await sql(`select *, ctid, xmin, xmax from documents order by id`)
  expect(await engine.guards.run('documents', { dryRun: true })).toEqual({
    name: 'documents',
    table: 'documents',
    dryRun: true,
    private: false,
    marked: 8,
    rows: ids.slice(0, 5).map(id => ({ key: { id }, signalAt: new Date('2030-01-01T12:00:00Z') })),
    set: { status: 'FAILED', updated_at: '2030-01-01 12:11:00+00' },
    jobs: 0,
    refused: [],
    warnings: [],
  })
  expect(await sql(`select *, ctid, xmin, xmax from documents order by id`)).toEqual(before)
  expect((await engine.guards.list())[0]).toMatchObject({ lastSweepAt: null, total: 0 })
})

test('a guard that is not there is refused, and the nearest is named', async () => {
  const { process } = await guardStage()
  const engine = await process()
  await expect(engine.guards.run('document')).rejects.toThrow(
    'unknown_guard: there is no guard "document" here; did you mean "documents"?',
  )
})

test('two guards of one name are refused when the engine is made', async () => {
  const { process } = await guardStage()
  await expect(process([watchdog(), watchdog()])).rejects.toThrow(
    'bad_definition: the definition of the guard "documents" is not usable: another guard has the same name',
  )
  await expect(process([{ name: 'x' } as never])).rejects.toThrow('it was not made by defineGuard')
})
