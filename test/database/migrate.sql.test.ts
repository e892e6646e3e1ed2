import pg from 'pg'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { type Db, openDb } from '../../src/database/db.ts'
import { checkSchema, type Migration, migrate, readMigrations, tablesMadeBy } from '../../src/database/migrate.ts'
import { enqueueJobs } from '../../src/enqueue/enqueue.sql.ts'
import { createEngine, defineJob } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { randomName } from '../../src/lib/random.ts'
import { createTestDatabase } from '../../src/testing/index.ts'
import { readCatalog } from '../../src/testing/print-schema.ts'
import { at, newJob } from '../support/store.ts'

const newest = (await readMigrations()).at(-1)!.version

/** An empty database, and ways in. */
async function empty() {
  const database = await createTestDatabase(inject('serverUrl'))
  const opened: Db[] = []
  const roles: string[] = []
  onTestFinished(async () => {
    await Promise.all(opened.map(db => db.close()))
    await database.drop()
    for (const role of roles) await admin(`drop role ${role}`)
  })
  const open = (url = database.url) => {
    const db = openDb({ url, log: silentLog, connections: 2 })
    opened.push(db)
    return db
  }
  const db = open()
  const sql = (text: string, values: unknown[] = []) => db.run<Record<string, unknown>>({ name: '', text }, values)
  /** A user of its own, gone with the database. */
  const user = async () => {
    const name = randomName('lesser').replace('-', '_')
    await sql(`create role ${name} login`)
    roles.push(name)
    const url = new URL(database.url)
    url.username = name
    return { name, db: open(url.href), url: url.href }
  }
  return { db, open, sql, user, url: database.url }
}

async function admin(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('serverUrl') })
  await client.connect()
  await client.query(text).finally(() => client.end())
}

const tables = `select count(*)::int as n from pg_class where relnamespace = to_regnamespace('retoma')`

test('down to nothing and up again gives the same schema', async () => {
  const { db, sql, url } = await empty()
  const names = (await readMigrations()).map(each => each.name)
  expect(await migrate(db)).toEqual({ from: 0, to: newest, ran: names.map(name => `${name} up`) })
  const schema = await readCatalog(url)
  expect(schema).toContain('create table retoma.job (')
  expect(await migrate(db)).toEqual({ from: newest, to: newest, ran: [] })
  expect(await migrate(db, { to: 0 })).toEqual({
    from: newest,
    to: 0,
    ran: names.reverse().map(name => `${name} down`),
  })
  expect(await sql(`select to_regnamespace('retoma') as home`)).toEqual([{ home: null }])
  await migrate(db)
  expect(await readCatalog(url)).toBe(schema)
})

test('every table in our schema is known as one that a migration makes, so none is taken for theirs', async () => {
  const { db, sql } = await empty()
  await migrate(db)
  const tables = await sql(
    `select relname as name from pg_class where relnamespace = 'retoma'::regnamespace and relkind in ('r', 'p') and relname <> 'migration'`,
  )
  expect(tablesMadeBy(await readMigrations()).sort()).toEqual(tables.map(each => each.name).sort())
})

test('many that migrate at once apply each migration once', async () => {
  const { open, sql } = await empty()
  const results = await Promise.all(Array.from({ length: 8 }, () => migrate(open())))
  expect(results.flatMap(each => each.ran)).toHaveLength(newest)
  expect(await sql(`select version from retoma.migration order by version`)).toEqual(
    Array.from({ length: newest }, (_, i) => ({ version: i + 1 })),
  )
})

test('a database newer than the code is refused and nothing is changed', async () => {
  const { db, sql, url } = await empty()
  await migrate(db)
  await sql(`insert into retoma.migration values (99, '099_future', now())`)
  const schema = await readCatalog(url)
  for (const work of [() => migrate(db), () => migrate(db, { to: 0, force: true }), () => checkSchema(db)]) {
    await expect(work()).rejects.toMatchObject({ code: 'schema_too_new', facts: { found: 99, known: newest } })
  }
  await expect(createEngine({ databaseUrl: url })).rejects.toMatchObject({ code: 'schema_too_new' })
  expect(await readCatalog(url)).toBe(schema)
})

test('an older schema is refused by who may not migrate, with the command that helps', async () => {
  const { db, url } = await empty()
  await expect(checkSchema(db)).rejects.toThrow(/^schema_too_old: .* schema version 0.*run: retoma migrate$/)
  await expect(createEngine({ databaseUrl: url, migrate: false })).rejects.toMatchObject({ code: 'schema_too_old' })
  await migrate(db)
  await checkSchema(db)
})

test('going down with jobs that are not finished is refused, unless forced', async () => {
  const { db, sql } = await empty()
  await migrate(db)
  await enqueueJobs(db.run, [newJob(), newJob()], at(0))
  await expect(migrate(db, { to: 0 })).rejects.toMatchObject({
    code: 'migration_loses_jobs',
    facts: { asked: 0, unfinished: 2 },
  })
  expect(await sql(`select count(*)::int as n from retoma.job`)).toEqual([{ n: 2 }])
  await sql(
    `update retoma.job set state = 'cancelled', finished_at = now() where id in (select min(id) from retoma.job)`,
  )
  await expect(migrate(db, { to: 0 })).rejects.toMatchObject({ facts: { unfinished: 1 } })
  expect(await migrate(db, { to: 0, force: true })).toMatchObject({ to: 0 })
})

test('a table of somebody else in our schema stays, and the way down says so', async () => {
  const { db, sql } = await empty()
  await migrate(db)
  await sql(`create table retoma.mine (a int)`)
  await expect(migrate(db, { to: 0 })).rejects.toThrow(/migration_failed: .*cannot drop schema retoma/)
  expect(
    await sql(`select to_regclass('retoma.mine') is not null as mine, to_regclass('retoma.job') is not null as job`),
  ).toEqual([{ mine: true, job: true }])
})

test('a failing migration rolls back whole and names itself; what came before it stays', async () => {
  const { db, sql } = await empty()
  const next: Migration = {
    version: newest + 1,
    name: '999_broken',
    up: 'create table retoma.half (a int); select 1 / 0',
    down: '',
  }
  const migrations = [...(await readMigrations()), next]
  await expect(migrate(db, { migrations })).rejects.toThrow(
    'migration_failed: migration 999_broken failed and was rolled back: division by zero',
  )
  expect(
    await sql(`select to_regclass('retoma.half') as half, (select max(version) from retoma.migration) as version`),
  ).toEqual([{ half: null, version: newest }])
  const cured = migrations.with(-1, { ...next, up: 'create table retoma.half (a int)', down: 'drop table retoma.half' })
  expect(await migrate(db, { migrations: cured })).toMatchObject({ from: newest, to: newest + 1 })
  expect(await migrate(db, { migrations: cured, to: newest })).toMatchObject({ ran: ['999_broken down'] })
})

test('a second migration goes up over the rows that are there and down again, and nothing else changes', async () => {
  const { db, sql, url } = await empty()
  await migrate(db)
  const baseline = await readCatalog(url)
  await enqueueJobs(db.run, [newJob(), newJob()], at(0))
  const second: Migration = {
    version: newest + 1,
    name: '999_second',
    up: `alter table retoma.job add column note text not null default 'old';
         create table retoma.note (job_id bigint primary key references retoma.job on delete cascade);
         insert into retoma.note select id from retoma.job`,
    down: `drop table retoma.note; alter table retoma.job drop column note`,
  }
  const migrations = [...(await readMigrations()), second]
  expect(await migrate(db, { migrations })).toEqual({ from: newest, to: newest + 1, ran: ['999_second up'] })
  expect(await sql(`select j.note from retoma.job j join retoma.note n on n.job_id = j.id`)).toEqual([
    { note: 'old' },
    { note: 'old' },
  ])
  expect(tablesMadeBy(migrations)).toContain('note')
  await expect(checkSchema(db), 'code without the second migration').rejects.toMatchObject({ code: 'schema_too_new' })
  expect(await migrate(db, { migrations, to: newest })).toEqual({
    from: newest + 1,
    to: newest,
    ran: ['999_second down'],
  })
  expect(await readCatalog(url)).toBe(baseline)
  expect(await sql(`select count(*)::int as n from retoma.job`)).toEqual([{ n: 2 }])
  await checkSchema(db)
})

test('a version that does not exist is refused and nothing is made', async () => {
  const { db, sql } = await empty()
  for (const to of [99, -1, 1.5, Number.NaN]) {
    await expect(migrate(db, { to })).rejects.toMatchObject({ code: 'unknown_migration', facts: { newest } })
  }
  expect(await sql(tables)).toEqual([{ n: 0 }])
})

describe('a user without rights sees the grant, and that grant cures it:', () => {
  const grantIn = async (work: Promise<unknown>): Promise<string> => {
    const error = await work.then(
      () => undefined,
      thrown => thrown,
    )
    expect(error).toMatchObject({ code: 'database_no_rights' })
    expect(error.message).toMatch(/as its owner run: grant/)
    expect(error.in('pt')).toContain(error.facts.grant)
    return error.facts.grant
  }

  test('who may not make a schema', async () => {
    const { sql, user } = await empty()
    const lesser = await user()
    await sql(await grantIn(migrate(lesser.db)))
    expect(await migrate(lesser.db)).toMatchObject({ to: newest })
  })

  test('who may not use the empty schema that is there', async () => {
    const { sql, user } = await empty()
    const lesser = await user()
    await sql(`create schema retoma`)
    await sql(await grantIn(migrate(lesser.db)))
    expect(await migrate(lesser.db)).toMatchObject({ to: newest })
  })

  test('who may not use the tables that another made, and then may do all but migrate', async () => {
    const { db, sql, user } = await empty()
    const lesser = await user()
    await migrate(db)
    const grant = await grantIn(checkSchema(lesser.db))
    for (const each of grant.split('; ')) await sql(each)
    const greet = defineJob({ kind: 'greet', run: () => 'hi' })
    await using engine = await createEngine({ databaseUrl: lesser.url, jobs: [greet] })
    await using _worker = await engine.work()
    const { id } = await engine.enqueue(greet, undefined, { key: 'a' })
    expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded' })
  })
})

test('a schema made beforehand for a user needs no right on the database', async () => {
  const { sql, user } = await empty()
  const { name, db } = await user()
  await sql(`create schema retoma authorization ${name}`)
  expect(await migrate(db)).toMatchObject({ from: 0, to: newest })
})
