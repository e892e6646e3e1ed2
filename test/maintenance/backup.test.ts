/** A restore brings back the rows of the backup, and no others. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Migration, readMigrations } from '../../src/database/migrate.ts'
import { createEngine, defineBatch, defineJob, type Engine } from '../../src/index.ts'
import { backupDatabase } from '../../src/maintenance/index.ts'
import { auditBatches } from '../support/batches.ts'
import { gate, until } from '../support/engine.ts'
import { backUp, filesIn, oddRows, place, restore, scratch } from './support.ts'

const newest = (await readMigrations()).at(-1)!.version

test('every row of every table comes back exactly, whatever is in it, and new ids go on after the old ones', async () => {
  const from = await place('ours')
  await from.sql(oddRows)
  const before = await from.digest()
  const empty = Object.entries(before).filter(([, digest]) => digest.startsWith('0 '))
  expect(empty, 'a table that is empty here proves nothing: give it a row in oddRows').toEqual([])
  const file = await backUp(from)
  expect(statSync(file).mode & 0o777).toBe(0o600)

  const to = await place()
  expect(await restore(to, file)).toMatchObject({
    from: newest,
    to: newest,
    rows: { job: 240, failure: 120, queue: 2 },
  })
  expect(await to.digest()).toEqual(before)
  expect(await from.digest()).toEqual(before)
})

test('a file that is read from a restored backup has the same bytes', async () => {
  const from = await place('ours')
  const one = await createEngine({ databaseUrl: from.url })
  const text = Buffer.from(Array.from({ length: 2_500_000 }, (_, i) => (i * 31 + (i >> 8)) & 255))
  const { id, sha256 } = await one.files.put([text], { name: 'a.bin', type: 'a/b' }).finally(() => one.close())
  const to = await place()
  await restore(to, await backUp(from))
  const other = await createEngine({ databaseUrl: to.url })
  onTestFinished(() => other.close())
  const file = (await other.files.open(id))!
  const pieces: Uint8Array[] = []
  for await (const piece of file.bytes) pieces.push(piece)
  expect(file.sha256).toBe(sha256)
  expect(Buffer.concat(pieces).equals(text)).toBe(true)
})

test('a table that the backup does not know is part of it, pointing to itself and to others in a circle too', async () => {
  const extra = `
    create table retoma.node (
      id bigint generated always as identity primary key, parent bigint constraint up references retoma.node,
      leaf bigint, twice bigint generated always as (id * 2) stored,
      raw bytea, many timestamptz[], part numrange, "odd name" float8
    );
    create table retoma.leaf (id bigint primary key, node bigint references retoma.node);
    alter table retoma.node add constraint leaf foreign key (leaf) references retoma.leaf deferrable initially deferred`
  const from = await place('ours')
  await from.sql(extra)
  await from.sql(`
    insert into retoma.node (raw, many, part, "odd name")
    select decode(md5(i::text), 'hex'), array[now(), null, '-infinity'], numrange(0.1, i), 0.1::float8 / 3 * i from generate_series(1, 3000) i;
    insert into retoma.node ("odd name") values ('NaN'), ('Infinity');
    insert into retoma.leaf select i, i from generate_series(1, 10) i;
    update retoma.node set leaf = id, parent = 3000 where id <= 10`)
  const file = await backUp(from)
  const to = await place('ours')
  await to.sql(extra)
  await restore(to, file)
  expect(await to.digest()).toEqual(await from.digest())
  const links = `select conname, pg_get_constraintdef(oid) from pg_constraint where connamespace = 'retoma'::regnamespace order by 1`
  expect(await to.sql(links)).toEqual(await from.sql(links))

  await expect(restore(await place(), file)).rejects.toMatchObject({ code: 'backup_differs', facts: { table: 'leaf' } })
})

test('it shows one instant, while others write', async () => {
  const from = await place('ours')
  await from.sql(oddRows)
  const writer = new pg.Client({ connectionString: from.url })
  await writer.connect()
  let over = false
  // A job and its failure in one commit: a backup that sees one without the other is of no instant.
  const writing = (async () => {
    while (!over) {
      await writer.query(`
        with j as (
          insert into retoma.job (queue, kind, claim_rank, run_at, input, created_at) values ('q', 'pair', 9, now(), '{}', now()) returning id
        )
        insert into retoma.failure (job_id, attempt, failure_type, message, at) select id, 1, 'error', 'pair', now() from j`)
    }
  })()
  onTestFinished(() => writer.end())
  const files = []
  for (let i = 0; i < 5; i++) files.push(await backUp(from))
  over = true
  await writing
  const counts = []
  for (const file of files) {
    const text = gunzipSync(readFileSync(file)).toString()
    const jobs = [...text.matchAll(/^"\((\d+),q,pair,/gm)].map(match => match[1])
    const failures = [...text.matchAll(/^"\((\d+),1,error,,pair/gm)].map(match => match[1])
    expect(failures.sort()).toEqual(jobs.sort())
    counts.push(jobs.length)
  }
  expect(counts.at(-1)).toBeGreaterThan(counts[0]!)
})

test('a backup made while a worker runs jobs, restored elsewhere: every job ends there', async () => {
  const from = await place()
  const to = await place()
  let ran = 0
  const written = gate()
  const work = defineJob({
    kind: 'work',
    run: async (_, input: { n: number }) => {
      // Some run for as long as the backup takes.
      if (++ran > 100) await written.passed
      return input.n * 2
    },
  })
  const first = await createEngine({ databaseUrl: from.url, jobs: [work] })
  onTestFinished(() => first.close())
  await first.enqueueMany(
    work,
    Array.from({ length: 2000 }, (_, n) => ({ n })),
  )
  const worker = await first.work({ queues: { default: 50 } })
  await until(() => ran > 100)
  await until(async () => (await from.sql(`select from retoma.job where state = 'succeeded' limit 1`)).length > 0)
  const file = await backUp(from)
  written.open()
  await worker.stop()

  await restore(to, file)
  const [then] = await to.sql<{ running: number; done: number }>(
    `select count(*) filter (where state = 'running')::int as running, count(*) filter (where state = 'succeeded')::int as done from retoma.job`,
  )
  expect(then!.done).toBeGreaterThan(0)
  expect(then!.running).toBeGreaterThan(0)

  const second: Engine = await createEngine({ databaseUrl: to.url, jobs: [work] })
  onTestFinished(() => second.close())
  await second.work({ queues: { default: 50 } })
  await until(async () => {
    const [left] = await to.sql<{ n: number }>(`select count(*)::int as n from retoma.job where finished_at is null`)
    return left!.n === 0
  })
  expect(
    await to.sql(
      `select count(*)::int as right, sum(restarts)::int as restarts from retoma.job where state = 'succeeded' and result = to_jsonb((input ->> 'n')::int * 2)`,
    ),
  ).toEqual([{ right: 2000, restarts: then!.running }])
})

test('a batch in the middle of its work, restored elsewhere, goes on there, ends once, and its counters are right', async () => {
  const from = await place()
  const to = await place()
  let ran = 0
  const work = defineJob<number>({ kind: 'work', run: () => void ran++ })
  const over = defineJob<unknown>({ kind: 'over', run: () => {} })
  const batch = defineBatch({ name: 'b', job: work, onComplete: over })
  const first = await createEngine({ databaseUrl: from.url, batches: [batch] })
  onTestFinished(() => first.close())
  const items = Array.from({ length: 3000 }, (_, n) => n)
  const { id } = await first.submit(batch, items, { key: 'may' })
  const worker = await first.work({ queues: { default: 20 } })
  await until(() => ran > 100)
  const file = await backUp(from)
  await worker.stop()

  await restore(to, file)
  expect(await auditBatches(to.url)).toEqual([])
  const second = await createEngine({ databaseUrl: to.url, batches: [batch] })
  onTestFinished(() => second.close())
  expect(await second.submit(batch, items, { key: 'may' })).toMatchObject({ id, created: false, total: 3000 })
  await second.work({ queues: { default: 20 } })
  expect(await second.wait({ batch: id })).toMatchObject({ state: 'succeeded', succeeded: 3000 })
  expect(await to.sql(`select from retoma.job where kind = 'over'`)).toHaveLength(1)
  expect(await auditBatches(to.url)).toEqual([])
  // An id that was given out does not come again.
  const next = await second.submit(batch, [1])
  expect(Number(next.id)).toBeGreaterThan(Number(id) + 3000)
})

test('a batch that is there is not lost, though it has no job', async () => {
  const from = await place('ours')
  const to = await place()
  const work = defineJob<number>({ kind: 'work', run: () => {} })
  const engine = await createEngine({ databaseUrl: to.url, jobs: [work] })
  await engine.submit(defineBatch({ name: 'b', job: work }), [])
  await engine.close()
  await expect(restore(to, await backUp(from))).rejects.toMatchObject({ code: 'restore_not_empty' })
})

test('after a restore no worker of the backup counts as alive', async () => {
  const from = await place('ours')
  await from.sql(oddRows)
  await from.sql(`update retoma.worker set heartbeat_at = now() + interval '1 hour'`)
  const to = await place()
  await restore(to, await backUp(from))
  expect(await to.sql(`select id from retoma.worker where dead_at is null`)).toEqual([])
})

test('a backup of an older schema is brought up to date, also where the schema is newer', async () => {
  const ours = await readMigrations()
  const next: Migration = {
    version: newest + 1,
    name: '999_next',
    up: `alter table retoma.job add column colour text not null default 'red'; create table retoma.more (a int primary key); insert into retoma.more values (1)`,
    down: `alter table retoma.job drop column colour; drop table retoma.more`,
  }
  const migrations = [...ours, next]
  const from = await place('ours')
  await from.sql(oddRows)
  const file = await backUp(from)
  for (const to of [await place(), await place('ours'), await place(migrations)]) {
    expect(await restore(to, file, { migrations })).toMatchObject({ from: newest, to: newest + 1 })
    expect(await to.sql(`select colour, count(*)::int as n from retoma.job group by 1`)).toEqual([
      { colour: 'red', n: 240 },
    ])
    expect(await to.sql(`select max(version) as version from retoma.migration`)).toEqual([{ version: newest + 1 }])
  }

  const newer = await place(migrations)
  await newer.sql(oddRows)
  const late = await backUp(newer)
  for (const to of [await place(), await place(migrations)]) {
    await restore(to, late, { migrations })
    expect(await to.digest()).toEqual(await newer.digest())
  }
  await expect(restore(await place(), late)).rejects.toMatchObject({ code: 'backup_too_new' })
})

test('jobs that are there are not touched unless asked to, and a restore in their place is whole', async () => {
  const from = await place('ours')
  await from.sql(oddRows)
  const file = await backUp(from)
  const to = await place('ours')
  await to.sql(
    `insert into retoma.job (queue, kind, claim_rank, run_at, input, created_at) select 'q', 'mine', 9, now(), '{}', now() from generate_series(1, 500)`,
  )
  const before = await to.digest()
  await expect(restore(to, file)).rejects.toMatchObject({
    code: 'restore_not_empty',
    facts: { table: 'job', rows: 500 },
  })
  expect(await to.digest()).toEqual(before)
  await restore(to, file, { replace: true })
  // An id that was given out once is not given out again.
  expect(await to.digest()).toEqual({ ...(await from.digest()), ids: '500 true' })
})

test('a table of somebody else that the backup does not have keeps its rows: the restore is refused, whatever the options say', async () => {
  const from = await place('ours')
  await from.sql(oddRows)
  const file = await backUp(from)
  const orders = `create table retoma."Order" (id int primary key); insert into retoma."Order" values (1), (2), (3)`
  for (const [to, schema] of [
    [await place('ours'), ''],
    [await place(), 'create schema retoma;'],
  ] as const) {
    await to.sql(schema + orders)
    for (const replace of [false, true])
      await expect(restore(to, file, { replace })).rejects.toMatchObject({
        code: 'restore_loses_table',
        facts: { table: 'Order' },
      })
    expect(await to.sql(`select count(*)::int as n from retoma."Order"`)).toEqual([{ n: 3 }])
    await to.sql(`alter table retoma."Order" set schema public`)
    await restore(to, file)
    expect(await to.sql(`select count(*)::int as n from public."Order"`)).toEqual([{ n: 3 }])
  }
})

test('an empty table of somebody else is no obstacle, and stays', async () => {
  const to = await place('ours')
  await to.sql(`create table retoma.note (id int primary key, job bigint references retoma.job)`)
  await restore(to, await backUp(await place('ours')))
  expect(await to.sql(`select * from retoma.note`)).toEqual([])
})

test('rows of a table of somebody else that the backup has are replaced only when asked to, without any job there too', async () => {
  const note = (text: string) =>
    `create table retoma.note (id int primary key, text text); insert into retoma.note values (1, '${text}')`
  const [from, to] = [await place('ours'), await place('ours')]
  await from.sql(note('then'))
  await to.sql(note('now'))
  const file = await backUp(from)
  await expect(restore(to, file)).rejects.toMatchObject({
    code: 'restore_not_empty',
    facts: { table: 'note', rows: 1 },
  })
  expect(await to.sql(`select text from retoma.note`)).toEqual([{ text: 'now' }])
  await restore(to, file, { replace: true })
  expect(await to.sql(`select text from retoma.note`)).toEqual([{ text: 'then' }])
})

test('kinds and queues that are there without a job are no obstacle', async () => {
  const from = await place('ours')
  await from.sql(oddRows)
  const to = await place('ours')
  await to.sql(`insert into retoma.queue (name, paused) values ('q', true), ('other', false)`)
  await restore(to, await backUp(from))
  expect(await to.digest()).toEqual(await from.digest())
})

test('it is refused while a worker is alive, with or without jobs, and not because of a dead one', async () => {
  const from = await place('ours')
  await from.sql(oddRows)
  const file = await backUp(from)
  const to = await place('ours')
  const beat = (ago: string) =>
    to.sql(
      `insert into retoma.worker (id, host, pid, version, queues, kinds, started_at, heartbeat_at)
       values ('live', 'h', 1, '0', '{}', '{}', now(), now() - $1::interval) on conflict (id) do update set heartbeat_at = excluded.heartbeat_at`,
      [ago],
    )
  await beat('15 s')
  for (const replace of [false, true])
    await expect(restore(to, file, { replace })).rejects.toMatchObject({
      code: 'restore_while_working',
      message: expect.stringContaining('workers are at work on this database (1);'),
    })
  await beat('25 s')
  await restore(to, file)
  expect(await to.sql(`select id from retoma.worker`)).toEqual([{ id: 'w' }])
})

/** Of three megabytes each of the loops below would read two hundred times as much, and strike fewer of the interesting bytes. */
const smallFiles = `update retoma.file_chunk set bytes = substr(bytes, 1, 1000)`

test('a file that is cut anywhere is refused, and nothing is made or changed', async () => {
  const from = await place('ours')
  await from.sql(oddRows)
  await from.sql(smallFiles)
  const file = await backUp(from)
  const whole = readFileSync(file)
  const to = await place()
  const cut = join(scratch(), 'cut.gz')
  const places = Array.from({ length: 40 }, (_, i) => Math.floor((whole.length * i) / 40))
  for (const length of [...places, whole.length - 1, whole.length - 8, whole.length - 9]) {
    writeFileSync(cut, whole.subarray(0, length))
    await expect(restore(to, cut), `cut at ${length}`).rejects.toMatchObject({
      code: expect.stringMatching(/^(backup_damaged|no_backup)$/),
    })
  }
  expect(await to.sql(`select to_regnamespace('retoma') as made`)).toEqual([{ made: null }])
})

test('a file with one bit turned over is refused', async () => {
  const from = await place('ours')
  await from.sql(oddRows)
  await from.sql(smallFiles)
  const whole = readFileSync(await backUp(from))
  const to = await place()
  const turned = join(scratch(), 'turned.gz')
  const content = gunzipSync(whole)
  const isSame = (file: Buffer) => {
    try {
      return gunzipSync(file).equals(content)
    } catch {
      return false
    }
  }
  // The first ten bytes are gzip's own: when, by what, how. They are not content.
  for (let at = 10; at < whole.length; at += Math.ceil(whole.length / 150)) {
    const copy = Buffer.from(whole)
    copy[at]! ^= 1 << (at % 8)
    // Gzip fills up its last bytes with bits that mean nothing.
    if (isSame(copy)) continue
    writeFileSync(turned, copy)
    await expect(restore(to, turned), `byte ${at}`).rejects.toMatchObject({
      // In a digit of the form or of the schema's version it makes the file look newer, in the name of a system the file of another system.
      code: expect.stringMatching(/^(backup_damaged|no_backup|backup_too_new|backup_needs_system)$/),
    })
  }
  expect(await to.sql(`select to_regnamespace('retoma') as made`)).toEqual([{ made: null }])
})

test('content that somebody changed is refused, gzip being sound again', async () => {
  const from = await place('ours')
  await from.sql(oddRows)
  await from.sql(smallFiles)
  const text = gunzipSync(readFileSync(await backUp(from))).toString()
  const lines = text.trimEnd().split('\n')
  const row = lines.findIndex(line => line.startsWith('"(1,'))
  const changes: Record<string, string[]> = {
    'another value': lines.with(row, lines[row]!.replace('(1,', '(1001,')),
    'a row less': lines.toSpliced(row, 1),
    'a row more': lines.toSpliced(row, 0, lines[row]!),
    'two rows exchanged': lines.with(row, lines[row + 1]!).with(row + 1, lines[row]!),
    'no end': lines.slice(0, -1),
    'nothing but a beginning': lines.slice(0, 1),
    'a second backup behind it': [...lines, ...lines],
    'a line that is no JSON': lines.toSpliced(row, 0, '"'),
    'rows before their table': [lines[0]!, lines[row]!, ...lines.slice(1)],
  }
  const to = await place()
  const changed = join(scratch(), 'changed.gz')
  for (const [what, content] of Object.entries(changes)) {
    writeFileSync(changed, gzipSync(`${content.join('\n')}\n`))
    await expect(restore(to, changed), what).rejects.toMatchObject({ code: 'backup_damaged' })
  }
  writeFileSync(changed, Buffer.concat([gzipSync(text), Buffer.alloc(3)]))
  await expect(restore(to, changed)).rejects.toMatchObject({ code: 'backup_damaged' })
  writeFileSync(changed, gzipSync(text))
  await restore(to, changed)
})

test.each([
  ['nothing', ''],
  ['text', 'hello\n'],
  ['another gzip', gzipSync('hello\n')],
  ['a long line', gzipSync(Buffer.alloc(200_000))],
  ['other JSON', gzipSync('{"backup":true}\n')],
])('a file that is no backup is named as such: %s', async (_, content) => {
  const file = join(scratch(), 'f')
  writeFileSync(file, content)
  await expect(restore(await place(), file)).rejects.toMatchObject({ code: 'no_backup' })
})

test('a form of backup that is not known yet is named as such', async () => {
  const file = join(scratch(), 'f')
  writeFileSync(file, gzipSync('{"backup":{"format":2,"retoma":"9.0.0"}}\n'))
  await expect(restore(await place(), file)).rejects.toMatchObject({
    code: 'backup_too_new',
    facts: { version: '9.0.0' },
  })
})

test('a file that is there is kept, unless it may be replaced; a folder never is', async () => {
  const from = await place('ours')
  const folder = scratch()
  const file = join(folder, 'b.gz')
  writeFileSync(file, 'mine')
  const backup = (given: string, force: boolean) => backupDatabase({ databaseUrl: from.url, file: given, force })
  await expect(backup(file, false)).rejects.toMatchObject({ code: 'backup_exists' })
  expect(readFileSync(file, 'utf8')).toBe('mine')
  await expect(backup(folder, true)).rejects.toMatchObject({ code: 'file_not_written' })
  await expect(backup(join(folder, 'no', 'b.gz'), false)).rejects.toMatchObject({
    code: 'file_not_written',
    facts: { problem: { en: 'its folder does not exist' } },
  })
  await backup(file, true)
  await restore(await place(), file)
  expect(filesIn(folder)).toEqual(['b.gz'])
})

test('a backup that fails on its way leaves no file: nothing there yet, the database gone, or somebody stops it', async () => {
  const folder = scratch()
  const file = join(folder, 'b.gz')
  await expect(backUp(await place(), file)).rejects.toMatchObject({ code: 'schema_too_old' })

  const from = await place('ours')
  await from.sql(`insert into retoma.job (queue, kind, claim_rank, run_at, input, created_at)
    select 'q', 'k', 9, now(), jsonb_build_object('x', (select string_agg(md5(i::text || n), '') from generate_series(1, 100) n)), now() from generate_series(1, 8000) i`)
  const going = backUp(from, file).catch(error => error)
  const cut = `
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and state = 'active' and query like 'select t::text%"job" t'`
  await until(async () => (await from.sql(cut)).length > 0)
  expect(await going).toMatchObject({ code: 'database_unreachable' })
  expect(filesIn(folder)).toEqual([])

  const stopping = new AbortController()
  const stopped = backupDatabase({ databaseUrl: from.url, file, signal: stopping.signal })
  await until(() => filesIn(folder).length > 0)
  stopping.abort()
  await expect(stopped).rejects.toThrow(/abort/)
  expect(filesIn(folder)).toEqual([])
})

describe('the tables of a system', () => {
  test('a backup with tables of a system that the config does not name is refused before anything is changed', async () => {
    const from = await place('ours')
    await from.sql(oddRows)
    const to = await place()
    await expect(restore(to, await backUp(from), { systems: [] })).rejects.toMatchObject({
      code: 'backup_needs_system',
      facts: { system: 'classifier' },
    })
    expect(await to.sql(`select to_regnamespace('retoma') as home`)).toEqual([{ home: null }])
  })

  test('rows of a system are not replaced unasked', async () => {
    const empty = await backUp(await place('ours'))
    const to = await place('ours')
    await to.sql(
      `insert into classifier.project (name, categories, created_at, updated_at) values ('p', '{}', now(), now())`,
    )
    await expect(restore(to, empty)).rejects.toMatchObject({
      code: 'restore_not_empty',
      facts: { table: 'classifier.project' },
    })
    await restore(to, empty, { replace: true })
    expect(await to.sql(`select count(*)::int as n from classifier.project`)).toEqual([{ n: 0 }])
  })
})
