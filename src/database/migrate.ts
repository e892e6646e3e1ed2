/**
 * Runs the numbered migrations of sql/ up and down, each in a transaction under the same advisory lock. Any number of
 * processes may start at once: one process migrates, the others wait and find the work done. Works through PgBouncer in
 * transaction mode.
 *
 * Invariant: retoma.migration lists exactly the migrations whose effects are in the database.
 */
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { RetomaError } from '../errors/errors.ts'
import { lockKeys } from '../lib/lock-keys.ts'
import type { Db, Queryable } from './db.ts'
import { sqlState } from './pg-errors.ts'

export interface Migration {
  version: number
  name: string
  up: string
  down: string
}

export interface Migrated {
  from: number
  to: number
  /** Names in the order of execution. */
  ran: string[]
}

const sqlFolder = fileURLToPath(new URL('../../sql/', import.meta.url))
const oldestPostgres = 140_000
const deadlineMs = 10 * 60_000

export async function readMigrations(folder = sqlFolder): Promise<Migration[]> {
  const files = (await readdir(folder)).filter(file => file.endsWith('.up.sql')).sort()
  return Promise.all(
    files.map(async file => ({
      version: Number.parseInt(file, 10),
      name: file.replace('.up.sql', ''),
      up: await readFile(`${folder}/${file}`, 'utf8'),
      down: await readFile(`${folder}/${file.replace('.up.sql', '.down.sql')}`, 'utf8'),
    })),
  )
}

/** Returns every table that the migrations create; other tables in the schema belong to the user. */
export const tablesMadeBy = (migrations: readonly Migration[]): string[] =>
  migrations.flatMap(({ up }) => [...up.matchAll(/\bcreate table retoma\.(\w+)/g)].map(match => match[1]!))

/**
 * Migrates the schema to `to` (default: the newest version in this code). A migration down needs an explicit number.
 */
export async function migrate(
  db: Db,
  options: { to?: number; force?: boolean; migrations?: Migration[] } = {},
): Promise<Migrated> {
  const migrations = options.migrations ?? (await readMigrations())
  const newest = migrations.at(-1)?.version ?? 0
  const to = options.to ?? newest
  if (!Number.isInteger(to) || to < 0 || to > newest) throw new RetomaError('unknown_migration', { asked: to, newest })

  const ran: string[] = []
  let from: number | undefined
  // Each transaction runs one migration. It takes the lock anew and computes the remaining work under the lock.
  for (;;) {
    const step = await db.transaction(
      client => withRights(client, () => oneStep(client, migrations, to, options.force === true)),
      deadlineMs,
    )
    from ??= step.found
    if (step.ran === undefined) return { from, to, ran }
    ran.push(step.ran)
  }
}

async function oneStep(
  client: Queryable,
  migrations: Migration[],
  to: number,
  force: boolean,
): Promise<{ found: number; ran?: string }> {
  const found = await lockSchema(client)
  const newest = migrations.at(-1)?.version ?? 0
  if (found > newest) throw new RetomaError('schema_too_new', { found, known: newest })
  if (found === to) return { found }

  const up = found < to
  const migration = migrations.find(each => each.version === (up ? found + 1 : found))
  if (migration === undefined) throw new RetomaError('unknown_migration', { asked: up ? found + 1 : found, newest })
  if (!up && !force) await refuseToLoseJobs(client, to)
  try {
    if (up && found === 0) await makeHome(client)
    await client.query(up ? migration.up : migration.down)
    if (up)
      await client.query(`insert into retoma.migration (version, name, applied_at) values ($1, $2, now())`, [
        migration.version,
        migration.name,
      ])
    else await client.query(`delete from retoma.migration where version = $1`, [migration.version])
    if (!up && migration.version === 1) await leaveHome(client)
  } catch (error) {
    if (sqlState(error) === '42501') throw error
    throw new RetomaError('migration_failed', { name: migration.name, problem: messageOf(error) }, { cause: error })
  }
  return { found, ran: `${migration.name} ${up ? 'up' : 'down'}` }
}

/** Blocks other migrations until the transaction ends. Returns the newest migration in the database. */
export async function lockSchema(client: Queryable): Promise<number> {
  await checkPostgres(client)
  // Waiting for another process's migration has no time limit; a migration that waits for a table's readers fails after
  // 60 s.
  await client.query(`set local lock_timeout = 0`)
  await client.query(`select pg_advisory_xact_lock($1)`, [lockKeys.migration])
  await client.query(`set local lock_timeout = '60s'`)
  return installedIn(client)
}

/**
 * Runs all migrations in the caller's transaction, down without a check: for a restore, into tables it has just emptied.
 */
export async function migrateIn(client: Queryable, migrations: Migration[], to: number): Promise<void> {
  while ((await oneStep(client, migrations, to, true)).ran !== undefined);
}

/** Creates the schema unless an administrator has created it: the user may lack the right to create a schema. */
async function makeHome(client: Queryable): Promise<void> {
  const { rows } = await client.query(`select to_regnamespace('retoma') is null as missing`)
  if ((rows[0] as { missing: boolean }).missing) await client.query(`create schema retoma`)
  await client.query(`
    create table if not exists retoma.migration (
      version integer primary key,
      name text not null,
      applied_at timestamptz not null
    )`)
}

/**
 * Drops the schema without `cascade`: foreign objects stay, and the drop fails with their names. If the user may not
 * create a schema, an administrator created the schema, and the schema stays too.
 */
async function leaveHome(client: Queryable): Promise<void> {
  await client.query(`drop table retoma.migration`)
  const { rows } = await client.query(`select has_database_privilege(current_database(), 'create') as ours`)
  if ((rows[0] as { ours: boolean }).ours) await client.query(`drop schema retoma`)
}

/** Returns the newest migration in the database; 0: none. */
export async function installedIn(client: Queryable): Promise<number> {
  const { rows } = await client.query(`select to_regclass('retoma.migration') is not null as there`)
  if (!(rows[0] as { there: boolean }).there) return 0
  const newest = await client.query(`select coalesce(max(version), 0) as version from retoma.migration`)
  return (newest.rows[0] as { version: number }).version
}

async function checkPostgres(client: Queryable): Promise<void> {
  const { rows } = await client.query(
    `select current_setting('server_version_num')::int as number, current_setting('server_version') as version`,
  )
  const { number, version } = rows[0] as { number: number; version: string }
  if (number < oldestPostgres) throw new RetomaError('postgres_too_old', { found: version })
}

async function refuseToLoseJobs(client: Queryable, asked: number): Promise<void> {
  if (asked >= 1) return
  const { rows } = await client.query(`select count(*)::int as unfinished from retoma.job where finished_at is null`)
  const { unfinished } = rows[0] as { unfinished: number }
  if (unfinished > 0) throw new RetomaError('migration_loses_jobs', { asked, unfinished })
}

/** Adds the missing grant to an error about insufficient rights. */
async function withRights<T>(client: Queryable, work: (client: Queryable) => Promise<T>): Promise<T> {
  try {
    return await work(client)
  } catch (error) {
    if (sqlState(error) !== '42501') throw error
    await client.query('rollback')
    const { rows } = await client.query(whoAndWhere)
    const { user, database, schema, filled } = rows[0] as Where
    const grant = filled
      ? grantOnTables(user)
      : schema
        ? `grant usage, create on schema retoma to ${user}`
        : `grant create on database ${database} to ${user}`
    throw new RetomaError('database_no_rights', { user, database, problem: messageOf(error), grant }, { cause: error })
  }
}

/** Grants for a user who does everything except migrations. */
export const grantOnTables = (user: string): string =>
  `grant usage on schema retoma to ${user}; grant select, insert, update, delete on all tables in schema retoma to ${user}; grant usage on all sequences in schema retoma to ${user}`

interface Where {
  user: string
  database: string
  schema: boolean
  filled: boolean
}

const whoAndWhere = `
  select quote_ident(current_user) as user, quote_ident(current_database()) as database,
    to_regnamespace('retoma') is not null as schema,
    exists (select from pg_class where relnamespace = to_regnamespace('retoma') and relname = 'migration') as filled`

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Throws unless the schema has exactly the version of this code. */
export async function checkSchema(db: Db): Promise<void> {
  const needed = (await readMigrations()).at(-1)?.version ?? 0
  const found = await db.transaction(client =>
    withRights(client, async () => {
      await checkPostgres(client)
      return installedIn(client)
    }),
  )
  if (found > needed) throw new RetomaError('schema_too_new', { found, known: needed })
  if (found < needed) throw new RetomaError('schema_too_old', { found, needed })
}
