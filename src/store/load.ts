/**
 * Filling our schema from a backup: everything from the first lock to the commit is one transaction, so a restore that
 * ends anywhere else changed nothing. Called by the restore, which hands over the rows as it reads them.
 *
 * Invariant: no job that is there, no row of a table that is not ours and no worker that lives is overwritten unasked; a
 * table that is neither ours nor in the backup loses nothing even when asked. Afterwards no worker of the backup counts
 * as alive, so that the watchdog takes up what it was running.
 */

import { databaseTimeout } from '../core/in-doubt.ts'
import { defaultPolicy } from '../core/policy.ts'
import { RetomaError } from '../errors.ts'
import { withDeadline } from '../lib/deadline.ts'
import { backwards, ours, quoted, readSequences, readTables, type TableFacts } from './catalog.ts'
import type { Connection, Queryable } from './db.ts'
import { holdSchema, type Migration, migrateIn, tablesMadeBy } from './migrate.ts'
import { type SequenceFacts, settleText } from './snapshot.ts'

/** Each step has its own time; a load as a whole takes as long as it takes. */
const stepMs = 30 * 60_000

export interface LoadOptions {
  /** The schema version of the backup. */
  schema: number
  migrations: Migration[]
  /** The tables that the backup has rows for, or could have. */
  tables: readonly string[]
  /** Empty what is there instead of refusing. */
  replace: boolean
}

export interface Load {
  /** Where rows of this table go; undefined: there is no such table here, or it has other columns. */
  table(name: string, columns: readonly string[]): TableFacts | undefined
  insert(table: TableFacts, rows: readonly string[]): Promise<void>
  finish(sequences: readonly SequenceFacts[]): Promise<void>
}

/** Commits what `work` loads; rolls everything back when it throws. */
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
  query: (text, values) =>
    withDeadline(connection.query(text, values), stepMs, () => {
      connection.destroy()
      return databaseTimeout(stepMs, false)
    }),
})

async function openLoad(client: Queryable, options: LoadOptions): Promise<Load> {
  const { schema, migrations } = options
  await settleText(client)
  const found = await holdSchema(client)
  const newest = migrations.at(-1)?.version ?? 0
  if (found > newest) throw new RetomaError('schema_too_new', { found, known: newest })
  const there = await lockTables(client)
  if (found > 0) await refuseToDisturbWorkers(client)
  await refuseToLose(client, there, options)
  await empty(client)
  await migrateIn(client, migrations, schema)
  // Again: a migration may put rows of its own into a table, and the backup has them.
  const tables = await empty(client)
  const open = backwards(tables)
  for (const { table, link } of open) {
    await client.query(`alter table ${ours(table)} drop constraint ${quoted(link.name)}`)
  }
  return {
    table: (name, columns) => tables.find(each => each.name === name && each.columns.join() === columns.join()),
    insert: (table, rows) => insertInto(client, table, rows),
    async finish(sequences) {
      // A table with checks put off until the commit cannot be altered.
      await client.query(`set constraints all immediate`)
      for (const { table, link } of open) {
        await client.query(`alter table ${ours(table)} add constraint ${quoted(link.name)} ${link.definition}`)
      }
      await moveSequences(client, sequences)
      await client.query(`update retoma.worker set dead_at = now() where dead_at is null`)
      await migrateIn(client, migrations, newest)
      for (const { name } of await readTables(client)) await client.query(`analyze ${ours(name)}`)
    },
  }
}

async function empty(client: Queryable): Promise<TableFacts[]> {
  const tables = await readTables(client)
  if (tables.length > 0) await client.query(`truncate ${tables.map(each => ours(each.name)).join(', ')}`)
  return tables
}

/** So that nobody enqueues, begins to work or adds a row between the questions and the commit. */
async function lockTables(client: Queryable): Promise<string[]> {
  const names = (await readTables(client)).map(each => each.name)
  if (names.length > 0) await client.query(`lock table ${names.map(ours).join(', ')} in access exclusive mode`)
  return names
}

const liveWorkers = `
  select count(*)::int as workers from retoma.worker
  where dead_at is null and beat_at > now() - make_interval(secs => $1 / 1000.0)`

async function refuseToDisturbWorkers(client: Queryable): Promise<void> {
  const { rows } = await client.query(liveWorkers, [defaultPolicy.orphanAfter])
  const { workers } = rows[0] as { workers: number }
  if (workers > 0) throw new RetomaError('restore_while_working', { workers })
}

/** Of our tables only jobs and batches count: the rest is made again by whoever starts next. */
async function refuseToLose(client: Queryable, there: readonly string[], options: LoadOptions): Promise<void> {
  const { migrations, tables, replace } = options
  const made = tablesMadeBy(migrations)
  const foreign = there.filter(name => !made.includes(name))
  for (const table of foreign.filter(name => !tables.includes(name)))
    if ((await countIn(client, table)) > 0) throw new RetomaError('restore_loses_table', { table })
  if (replace) return
  for (const table of there.filter(name => name === 'job' || name === 'batch' || foreign.includes(name))) {
    const rows = await countIn(client, table)
    if (rows > 0) throw new RetomaError('restore_not_empty', { table, rows: rows > most ? `${most}+` : rows })
  }
}

/** Counting stops here: more is "many". */
const most = 10_000

async function countIn(client: Queryable, table: string): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::int as rows from (select from ${ours(table)} limit ${most + 1}) t`,
  )
  return (rows[0] as { rows: number }).rows
}

async function insertInto(client: Queryable, table: TableFacts, rows: readonly string[]): Promise<void> {
  const columns = table.columns
    .filter(name => !table.computed.includes(name))
    .map(quoted)
    .join(', ')
  await client.query(
    `insert into ${ours(table.name)} (${columns}) overriding system value
     select ${columns} from unnest($1::text[]::${ours(table.name)}[])`,
    [rows],
  )
}

/**
 * Never back: a sequence knows no transaction, so a restore that is rolled back leaves it where it is put here, and an id
 * that was given out once must not come again.
 */
async function moveSequences(client: Queryable, sequences: readonly SequenceFacts[]): Promise<void> {
  const there = await readSequences(client)
  for (const { name, last, called } of sequences.filter(each => there.includes(each.name))) {
    await client.query(
      `select setval($1::text::regclass, greatest(last_value, $2::bigint), is_called or $3::boolean) from ${ours(name)}`,
      [ours(name), last, called],
    )
  }
}
