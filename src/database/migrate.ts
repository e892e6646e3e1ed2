/**
 * Runs numbered migrations up and down, each in a transaction under the same advisory lock: the migrations of the engine (sql/, in its
 * schema) and of each system (its own folder, in the schema with the system's name). Any number of processes may start
 * at once: one process migrates, the others wait and find the work done. Works through PgBouncer in transaction mode.
 *
 * Invariant: retoma.migration and retoma.system_migration list exactly the migrations whose effects are in the database. A system
 * has tables only while the engine has tables.
 */
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { localized, RetomaError } from '../errors/errors.ts'
import { refuseOption } from '../errors/invalid-option.ts'
import { lockKeys } from '../lib/lock-keys.ts'
import { packageRoot } from '../lib/package-root.ts'
import type { Db, Queryable } from './db.ts'
import { sqlState } from './pg-errors.ts'
import { defaultSchema } from './schema-name.ts'

export interface Migration {
  version: number
  name: string
  up: string
  down: string
}

/** A system with tables of its own. */
export interface SystemMigrations {
  /** Name of the system and of its schema. */
  readonly name: string
  readonly migrations: readonly Migration[]
}

export interface Migrated {
  from: number
  to: number
  /** Names in the order of execution. */
  ran: string[]
}

const sqlFolder = fileURLToPath(new URL('sql/', packageRoot))
const oldestPostgres = 140_000
const deadlineMs = 10 * 60_000

/** Throws `bad_migrations` if a file is missing, or if the numbers of the files are not 1, 2, 3 and so on. */
export async function readMigrations(folder: string = sqlFolder, system = 'retoma'): Promise<Migration[]> {
  let read: Migration[]
  try {
    const files = (await readdir(folder)).filter(file => file.endsWith('.up.sql')).sort()
    read = await Promise.all(
      files.map(async file => ({
        version: Number.parseInt(file, 10),
        name: file.replace('.up.sql', ''),
        up: await readFile(`${folder}/${file}`, 'utf8'),
        down: await readFile(`${folder}/${file.replace('.up.sql', '.down.sql')}`, 'utf8'),
      })),
    )
  } catch (error) {
    throw new RetomaError('bad_migrations', { system, problem: messageOf(error) }, { cause: error })
  }
  const wrong = read.findIndex(({ version }, index) => version !== index + 1)
  if (wrong < 0) return read
  const { name } = read[wrong]!
  const number = wrong + 1
  const problem = localized(
    `${name}.up.sql should have the number ${number}; each number is there once, from 1 on`,
    `${name}.up.sql deveria ter o número ${number}; cada número existe uma vez, a partir do 1`,
  )
  throw new RetomaError('bad_migrations', { system, problem })
}

/** Reads the migrations of the systems that have any. Refuses a system whose schema is the schema of the engine. */
export async function readSystemMigrations(
  systems: readonly { readonly name: string; readonly migrations?: URL | undefined }[],
  schema: string = defaultSchema,
): Promise<SystemMigrations[]> {
  const taken = systems.find(({ name, migrations }) => migrations !== undefined && name === schema)
  if (taken !== undefined)
    refuseOption('schema', `the system "${taken.name}" has this schema`, `o sistema "${taken.name}" tem esse esquema`)
  return Promise.all(
    systems.flatMap(({ name, migrations }) =>
      migrations === undefined
        ? []
        : [readMigrations(fileURLToPath(migrations), name).then(read => ({ name, migrations: read }))],
    ),
  )
}

/** Returns every table of the engine that the migrations create; other tables in the schema belong to the user. */
export const tablesMadeBy = (migrations: readonly Migration[]): string[] =>
  migrations.flatMap(({ up }) => [...up.matchAll(/\bcreate table retoma\.(\w+)/g)].map(match => match[1]!))

export interface MigrateTo {
  to?: number
  /** Migrates down even if unfinished jobs are lost. */
  force?: boolean
  /** Default: the migrations of sql/. */
  migrations?: readonly Migration[]
  /** The system whose migrations these are. Default: the engine. */
  system?: string
}

/**
 * Migrates the schema to `to` (default: the newest version in this code). A migration down needs an explicit number.
 */
export async function migrate(db: Db, options: MigrateTo = {}): Promise<Migrated> {
  const migrations = options.migrations ?? (await readMigrations())
  const newest = newestOf(migrations)
  const to = options.to ?? newest
  if (!Number.isInteger(to) || to < 0 || to > newest) throw new RetomaError('unknown_migration', { asked: to, newest })

  const home: Home = { system: options.system, migrations }
  const ran: string[] = []
  let from: number | undefined
  // Each transaction runs one migration. It takes the lock anew and computes the remaining work under the lock.
  for (;;) {
    const step = await db.transaction(
      client => withRights(client, schemaOf(client, home), () => oneStep(client, home, to, options.force === true)),
      deadlineMs,
    )
    from ??= step.found
    if (step.ran === undefined) return { from, to, ran }
    ran.push(step.ran)
  }
}

/** Migrates the engine and then the systems to their newest versions. */
export async function migrateAll(db: Db, systems: readonly SystemMigrations[]): Promise<void> {
  await migrate(db)
  for (const { name, migrations } of systems) await migrate(db, { system: name, migrations })
}

/** A schema with its migrations; `system` undefined: the schema of the engine. */
interface Home {
  readonly system: string | undefined
  readonly migrations: readonly Migration[]
}

const newestOf = (migrations: readonly Migration[]): number => migrations.at(-1)?.version ?? 0
const schemaOf = (client: Queryable, { system }: Pick<Home, 'system'>): string => system ?? engineSchema(client)

/** The schema of the engine, as the connection names it. */
export const engineSchema = ({ schema = defaultSchema }: Queryable): string => schema

async function oneStep(
  client: Queryable,
  home: Home,
  to: number,
  force: boolean,
): Promise<{ found: number; ran?: string }> {
  const found = await lockSchema(client, home.system)
  const newest = newestOf(home.migrations)
  if (found > newest) throw tooNew(home.system, found, newest)
  if (found === to) return { found }

  const up = found < to
  const version = up ? found + 1 : found
  const migration = home.migrations.find(each => each.version === version)
  if (migration === undefined) throw new RetomaError('unknown_migration', { asked: version, newest })
  if (!up && home.system === undefined) await refuseToLose(client, to, force)
  const name = home.system === undefined ? migration.name : `${home.system}/${migration.name}`
  try {
    if (up && found === 0) await makeHome(client, home)
    await client.query(up ? migration.up : migration.down)
    await record(client, home, migration, up)
    if (!up && migration.version === 1) await leaveHome(client, home)
  } catch (error) {
    if (sqlState(error) === '42501') throw error
    throw new RetomaError('migration_failed', { name, problem: messageOf(error) }, { cause: error })
  }
  return { found, ran: `${name} ${up ? 'up' : 'down'}` }
}

async function record(client: Queryable, { system }: Home, { version, name }: Migration, up: boolean): Promise<void> {
  if (system === undefined && up)
    await client.query(`insert into retoma.migration (version, name, applied_at) values ($1, $2, now())`, [
      version,
      name,
    ])
  else if (system === undefined) await client.query(`delete from retoma.migration where version = $1`, [version])
  else if (up)
    await client.query(
      `insert into retoma.system_migration (system, version, name, applied_at) values ($1, $2, $3, now())`,
      [system, version, name],
    )
  else await client.query(`delete from retoma.system_migration where system = $1 and version = $2`, [system, version])
}

const tooNew = (system: string | undefined, found: number, known: number): RetomaError =>
  system === undefined
    ? new RetomaError('schema_too_new', { found, known })
    : new RetomaError('system_schema_too_new', { system, found, known })

const tooOld = (system: string | undefined, found: number, needed: number): RetomaError =>
  system === undefined
    ? new RetomaError('schema_too_old', { found, needed })
    : new RetomaError('system_schema_too_old', { system, found, needed })

/** Blocks other migrations until the transaction ends. Returns the newest migration in the database. */
export async function lockSchema(client: Queryable, system?: string): Promise<number> {
  await checkPostgres(client)
  // Waiting for another process's migration has no time limit; a migration that waits for a table's readers fails after
  // 60 s.
  await client.query(`set local lock_timeout = 0`)
  await client.query(`select pg_advisory_xact_lock($1)`, [lockKeys.migration])
  await client.query(`set local lock_timeout = '60s'`)
  return installedIn(client, system)
}

/**
 * Runs all migrations in the caller's transaction, down without a check: for a restore, into tables it has just emptied.
 */
export async function migrateIn(
  client: Queryable,
  migrations: readonly Migration[],
  to: number,
  system?: string,
): Promise<void> {
  while ((await oneStep(client, { system, migrations }, to, true)).ran !== undefined);
}

/** Creates the schema unless an administrator has created it: the user may lack the right to create a schema. */
async function makeHome(client: Queryable, home: Home): Promise<void> {
  const schema = schemaOf(client, home)
  const { rows } = await client.query(`select to_regnamespace($1) is null as missing`, [schema])
  if ((rows[0] as { missing: boolean }).missing) await client.query(`create schema "${schema}"`)
  if (home.system !== undefined) return
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
async function leaveHome(client: Queryable, home: Home): Promise<void> {
  if (home.system === undefined) await client.query(`drop table retoma.migration`)
  const { rows } = await client.query(`select has_database_privilege(current_database(), 'create') as ours`)
  if ((rows[0] as { ours: boolean }).ours) await client.query(`drop schema "${schemaOf(client, home)}"`)
}

/** Returns the newest migration of the engine, or of the system, in the database; 0: none. */
export async function installedIn(client: Queryable, system?: string): Promise<number> {
  if (system !== undefined) return (await systemsIn(client)).find(each => each.name === system)?.version ?? 0
  if (!(await isThere(client, `'retoma.migration'`))) return 0
  const newest = await client.query(`select coalesce(max(version), 0) as version from retoma.migration`)
  return (newest.rows[0] as { version: number }).version
}

export interface InstalledSystem {
  readonly name: string
  /** The newest migration of the system in the database. */
  readonly version: number
}

/** Returns the systems that have tables in the database, known to this code or not. */
export async function systemsIn(client: Queryable): Promise<InstalledSystem[]> {
  if (!(await isThere(client, `'retoma.system_migration'`))) return []
  const { rows } = await client.query(
    `select system as name, max(version) as version from retoma.system_migration group by system order by system`,
  )
  return rows as InstalledSystem[]
}

/** `table`: an SQL literal. */
async function isThere(client: Queryable, table: string): Promise<boolean> {
  const { rows } = await client.query(`select to_regclass(${table}) is not null as there`)
  return (rows[0] as { there: boolean }).there
}

async function checkPostgres(client: Queryable): Promise<void> {
  const { rows } = await client.query(
    `select current_setting('server_version_num')::int as number, current_setting('server_version') as version`,
  )
  const { number, version } = rows[0] as { number: number; version: string }
  if (number < oldestPostgres) throw new RetomaError('postgres_too_old', { found: version })
}

/** The engine's tables go only after the tables of every system: the systems read the engine's tables. */
async function refuseToLose(client: Queryable, asked: number, force: boolean): Promise<void> {
  if (asked >= 1) return
  const [system] = await systemsIn(client)
  if (system !== undefined) throw new RetomaError('migration_loses_system', { asked, system: system.name })
  if (!force) await refuseUnfinished(client, asked)
}

async function refuseUnfinished(client: Queryable, asked: number): Promise<void> {
  const { rows } = await client.query(`select count(*)::int as unfinished from retoma.job where finished_at is null`)
  const { unfinished } = rows[0] as { unfinished: number }
  if (unfinished > 0) throw new RetomaError('migration_loses_jobs', { asked, unfinished })
}

/** Throws if a migration of the engine down to nothing would lose unfinished jobs: to be called before systems are taken down. */
export const refuseToLoseJobs = (db: Db, asked: number): Promise<void> =>
  db.transaction(async client => {
    if ((await installedIn(client)) > 0) await refuseUnfinished(client, asked)
  })

/** Adds the missing grant to an error about insufficient rights. */
async function withRights<T>(client: Queryable, name: string, work: (client: Queryable) => Promise<T>): Promise<T> {
  try {
    return await work(client)
  } catch (error) {
    if (sqlState(error) !== '42501') throw error
    await client.query('rollback')
    const { rows } = await client.query(whoAndWhere, [name])
    const { user, database, schema, filled } = rows[0] as Where
    const grant = filled
      ? grantOnTables(user, [name])
      : schema
        ? `grant usage, create on schema ${name} to ${user}`
        : `grant create on database ${database} to ${user}`
    throw new RetomaError('database_no_rights', { user, database, problem: messageOf(error), grant }, { cause: error })
  }
}

/** Grants for a user who does everything except migrations. `schemas`: the engine's schema, and the schemas of the systems. */
export const grantOnTables = (user: string, schemas: readonly string[]): string =>
  schemas
    .flatMap(schema => [
      `grant usage on schema ${schema} to ${user}`,
      `grant select, insert, update, delete on all tables in schema ${schema} to ${user}`,
      `grant usage on all sequences in schema ${schema} to ${user}`,
    ])
    .join('; ')

interface Where {
  user: string
  database: string
  schema: boolean
  filled: boolean
}

const whoAndWhere = `
  select quote_ident(current_user) as user, quote_ident(current_database()) as database,
    to_regnamespace($1) is not null as schema,
    exists (select from pg_class where relnamespace = to_regnamespace($1) and relkind = 'r') as filled`

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Throws unless the schema of the engine, and of each system, has exactly the version of this code. */
export async function checkSchema(db: Db, systems: readonly SystemMigrations[] = []): Promise<void> {
  const homes: Home[] = [{ system: undefined, migrations: await readMigrations() }]
  for (const { name, migrations } of systems) homes.push({ system: name, migrations })
  for (const home of homes) {
    const needed = newestOf(home.migrations)
    const found = await db.transaction(client =>
      withRights(client, engineSchema(client), async () => {
        await checkPostgres(client)
        return installedIn(client, home.system)
      }),
    )
    if (found > needed) throw tooNew(home.system, found, needed)
    if (found < needed) throw tooOld(home.system, found, needed)
  }
}
