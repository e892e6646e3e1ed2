/**
 * Fills the schemas of the engine and of the systems from a backup. Everything from the first lock to the commit is a single transaction, so a
 * restore that does not commit changes nothing. The restore calls this file and passes the rows while reading the backup.
 *
 * Invariant: without `replace`, no existing job, no row of a foreign table and no living worker is overwritten. Even with
 * `replace`, a table that neither the engine nor the backup has loses nothing. After the load every worker of the backup
 * is dead, so the watchdog recovers their jobs.
 */

import type { Connection, Queryable } from '../../database/db.ts'
import {
  engineSchema,
  lockSchema,
  type Migration,
  migrateIn,
  type SystemMigrations,
  systemsIn,
  tablesMadeBy,
} from '../../database/migrate.ts'
import { databaseTimeout } from '../../errors/database-unreachable.ts'
import { RetomaError } from '../../errors/errors.ts'
import { defaultPolicy } from '../../jobs/model/policy.ts'
import { withDeadline } from '../../lib/with-deadline.ts'
import { type SequenceFacts, settleText } from './backup-snapshot.ts'
import { backwards, placeOf, quoted, readSequences, readTables, type TableFacts } from './schema-catalog.ts'

/** Each step has this deadline; the whole load has none. */
const stepMs = 30 * 60_000

export interface LoadOptions {
  /** The schema version of the backup. */
  schema: number
  migrations: readonly Migration[]
  /** The version of the tables of each system in the backup. Every one is among `known`. */
  systems: Readonly<Record<string, number>>
  known: readonly SystemMigrations[]
  /** The tables that the backup has, also without rows. */
  tables: readonly string[]
  /** Empties existing tables. false: existing rows are an error. */
  replace: boolean
}

export interface Load {
  /** Finds the table for rows; undefined: the table does not exist here, or has other columns. */
  table(name: string, columns: readonly string[]): TableFacts | undefined
  insert(table: TableFacts, rows: readonly string[]): Promise<void>
  finish(sequences: readonly SequenceFacts[]): Promise<void>
}

/** Commits after `work`; rolls everything back if `work` throws. */
export async function loadInto<T>(
  connection: Connection,
  options: LoadOptions,
  work: (load: Load) => Promise<T>,
): Promise<T> {
  const client = bounded(connection)
  await client.query(`begin`)
  try {
    const value = await work(await openLoad(client, options))
    await client.query(`commit`)
    return value
  } catch (error) {
    await client.query(`rollback`).catch(() => {})
    throw error
  }
}

const bounded = (connection: Connection): Queryable => ({
  schema: engineSchema(connection),
  query: (text, values) =>
    withDeadline(connection.query(text, values), stepMs, () => {
      connection.destroy()
      return databaseTimeout(stepMs, false)
    }),
})

async function openLoad(client: Queryable, options: LoadOptions): Promise<Load> {
  const { schema, migrations, systems, known } = options
  await settleText(client)
  const found = await lockSchema(client)
  const newest = migrations.at(-1)?.version ?? 0
  if (found > newest) throw new RetomaError('schema_too_new', { found, known: newest })
  const there = await lockTables(client)
  if (found > 0) await refuseToDisturbWorkers(client)
  await refuseToLose(client, there, options)
  await empty(client)
  const installed = (await systemsIn(client)).map(each => each.name)
  // Views of a system would hold the engine's tables as they are.
  if (found !== schema) for (const { name, migrations } of known) await migrateIn(client, migrations, 0, name)
  await migrateIn(client, migrations, schema)
  for (const { name, migrations } of known)
    if (systems[name] !== undefined) await migrateIn(client, migrations, systems[name], name)
  // A second time: a migration may insert rows, and the backup has the same rows.
  const tables = await empty(client)
  const open = backwards(tables)
  for (const { table, link } of open) {
    await client.query(`alter table ${placeOf(table)} drop constraint ${quoted(link.name)}`)
  }
  return {
    table: (name, columns) => tables.find(each => each.name === name && each.columns.join() === columns.join()),
    insert: (table, rows) => insertInto(client, table, rows),
    async finish(sequences) {
      // PostgreSQL cannot alter a table with pending deferred constraints.
      await client.query(`set constraints all immediate`)
      for (const { table, link } of open) {
        await client.query(`alter table ${placeOf(table)} add constraint ${quoted(link.name)} ${link.definition}`)
      }
      await moveSequences(client, sequences)
      await client.query(`update retoma.worker set dead_at = now() where dead_at is null`)
      await migrateIn(client, migrations, newest)
      for (const { name, migrations } of known)
        if (systems[name] !== undefined || installed.includes(name))
          await migrateIn(client, migrations, migrations.at(-1)?.version ?? 0, name)
      for (const table of await readTables(client)) await client.query(`analyze ${placeOf(table)}`)
    },
  }
}

async function empty(client: Queryable): Promise<TableFacts[]> {
  const tables = await readTables(client)
  if (tables.length > 0) await client.query(`truncate ${tables.map(placeOf).join(', ')}`)
  return tables
}

/** Locks the tables, so that no process enqueues, starts to work or adds a row between the checks and the commit. */
async function lockTables(client: Queryable): Promise<TableFacts[]> {
  const tables = await readTables(client)
  if (tables.length > 0) await client.query(`lock table ${tables.map(placeOf).join(', ')} in access exclusive mode`)
  return tables
}

const liveWorkers = `
  select count(*)::int as workers from retoma.worker
  where dead_at is null and heartbeat_at > now() - make_interval(secs => $1 / 1000.0)`

async function refuseToDisturbWorkers(client: Queryable): Promise<void> {
  const { rows } = await client.query(liveWorkers, [defaultPolicy.orphanAfter])
  const { workers } = rows[0] as { workers: number }
  if (workers > 0) throw new RetomaError('restore_while_working', { workers })
}

/**
 * Of the engine's tables only jobs and batches count: the next start creates the other rows again. A table of a system counts; a table
 * of a system that this code does not know is foreign.
 */
async function refuseToLose(client: Queryable, there: readonly TableFacts[], options: LoadOptions): Promise<void> {
  const { migrations, tables, replace, known } = options
  const own = engineSchema(client)
  const made = tablesMadeBy(migrations)
  const foreign = there.filter(({ schema, table }) =>
    schema === own ? !made.includes(table) : !known.some(each => each.name === schema),
  )
  for (const table of foreign.filter(({ name }) => !tables.includes(name)))
    if ((await countIn(client, table)) > 0) throw new RetomaError('restore_loses_table', { table: table.name })
  if (replace) return
  const counts = ({ schema, name }: TableFacts) => schema !== own || name === 'job' || name === 'batch'
  for (const table of there.filter(each => counts(each) || foreign.includes(each))) {
    const rows = await countIn(client, table)
    if (rows > 0)
      throw new RetomaError('restore_not_empty', { table: table.name, rows: rows > most ? `${most}+` : rows })
  }
}

/** Counting stops here. */
const most = 10_000

async function countIn(client: Queryable, table: TableFacts): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::int as rows from (select from ${placeOf(table)} limit ${most + 1}) t`,
  )
  return (rows[0] as { rows: number }).rows
}

async function insertInto(client: Queryable, table: TableFacts, rows: readonly string[]): Promise<void> {
  const columns = table.columns
    .filter(name => !table.computed.includes(name))
    .map(quoted)
    .join(', ')
  await client.query(
    `insert into ${placeOf(table)} (${columns}) overriding system value
     select ${columns} from unnest($1::text[]::${placeOf(table)}[])`,
    [rows],
  )
}

/**
 * Moves sequences forward, never back. Sequences ignore transactions, so a rolled-back restore leaves the values set
 * here, and an id that was used once must not come again.
 */
async function moveSequences(client: Queryable, sequences: readonly SequenceFacts[]): Promise<void> {
  const there = await readSequences(client)
  for (const { name, last, called } of sequences) {
    const found = there.find(each => each.name === name)
    if (found === undefined) continue
    const place = placeOf(found)
    await client.query(
      `select setval($1::text::regclass, greatest(last_value, $2::bigint), is_called or $3::boolean) from ${place}`,
      [place, last, called],
    )
  }
}
