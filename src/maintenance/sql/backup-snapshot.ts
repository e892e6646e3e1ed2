/**
 * Reads the schemas of the engine and of the systems at one instant while work continues: a read-only transaction with a single snapshot that
 * blocks only migrations. The backup calls this file.
 *
 * Invariant: rows come in PostgreSQL's own text form under fixed settings, which every type reads back exactly.
 */

import type { Connection, Queryable } from '../../database/db.ts'
import { installedIn, systemsIn } from '../../database/migrate.ts'
import { RetomaError } from '../../errors/errors.ts'
import { placeOf, readSequences, readTables, type TableFacts } from './schema-catalog.ts'

export interface SequenceFacts {
  name: string
  last: string
  called: boolean
}

export interface Snapshot {
  schema: number
  /** The version of the tables of each system. */
  systems: Record<string, number>
  /** The server version, such as 18.4. */
  postgres: string
  /** The time of the database. */
  at: Date
  tables: TableFacts[]
  rows(table: TableFacts): AsyncIterable<string[]>
  /** Call this last: sequences ignore the snapshot and must not be behind a row. */
  sequences(): Promise<SequenceFacts[]>
}

export async function openSnapshot(connection: Connection): Promise<Snapshot> {
  const tables = await lockTables(connection)
  await settleText(connection)
  const { rows } = await connection.query(`select now() as at, current_setting('server_version') as postgres`)
  const { at, postgres } = rows[0] as { at: Date; postgres: string }
  return {
    schema: await installedIn(connection),
    systems: Object.fromEntries((await systemsIn(connection)).map(({ name, version }) => [name, version])),
    postgres,
    at,
    tables,
    rows: table => connection.stream(`select t::text as text from ${placeOf(table)} t`),
    sequences: () => sequencesOf(connection),
  }
}

const tries = 5

/**
 * Locks the tables first and takes the snapshot after the lock: in the opposite order a migration could come between, and
 * the rows would not match the snapshot's catalog. The list of tables is read before the lock, so it is read again after.
 */
async function lockTables(connection: Connection): Promise<TableFacts[]> {
  for (let left = tries; ; left--) {
    const before = await readTables(connection)
    if (before.length === 0) throw new RetomaError('schema_too_old', { found: 0, needed: 1 })
    await connection.query(`begin isolation level repeatable read read only`)
    await connection.query(`set local lock_timeout = '60s'`)
    try {
      await connection.query(`lock table ${before.map(placeOf).join(', ')} in access share mode`)
      const tables = await readTables(connection)
      if (JSON.stringify(tables) === JSON.stringify(before)) return tables
    } catch (error) {
      if (left === 0) throw error
    }
    if (left === 0) throw new Error('the schema changes all the time')
    await connection.query(`rollback`)
  }
}

/**
 * Sets, for this transaction, a text form that depends on no other setting, and removes the time limits a role may have
 * for statements. Not every version of PostgreSQL has every limit.
 */
export async function settleText(client: Queryable): Promise<void> {
  await client.query(`
    set local datestyle = 'ISO, YMD';
    set local intervalstyle = 'postgres';
    set local timezone = 'UTC';
    set local bytea_output = 'hex';
    set local extra_float_digits = 3;
    set local xmlbinary = 'base64'`)
  await client.query(`
    select set_config(name, '0', true) from pg_settings
    where name in ('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')`)
}

async function sequencesOf(client: Queryable): Promise<SequenceFacts[]> {
  const found: SequenceFacts[] = []
  for (const sequence of await readSequences(client)) {
    const { rows } = await client.query(
      `select last_value::text as last, is_called as called from ${placeOf(sequence)}`,
    )
    found.push({ name: sequence.name, ...(rows[0] as Omit<SequenceFacts, 'name'>) })
  }
  return found
}
