/**
 * Restores a backup into a database. Called by `retoma restore`. The file is read twice: first to verify the file, before a
 * database is needed, and then to load the rows, in a single transaction that ends with the file's checksum.
 *
 * Invariant: either all rows of the backup are restored, in the schema of this code, or nothing changed.
 */

import type { ConnectionConfig } from '../database/connection-config.ts'
import { openDb } from '../database/db.ts'
import { type Migration, readMigrations, readSystemMigrations } from '../database/migrate.ts'
import { RetomaError } from '../errors/errors.ts'
import { type Log, silentLog } from '../lib/logging/log.ts'
import { readBackup } from './backup-file.ts'
import type { Counts, Header, Sequence } from './backup-format.ts'
import { type Load, loadInto } from './sql/restore-load.ts'
import type { TableFacts } from './sql/schema-catalog.ts'

export interface CheckOptions {
  /** The systems of the config. A backup with tables of another system is rejected. */
  systems?: readonly { readonly name: string; readonly migrations?: URL | undefined }[]
  /** @internal Replaces sql/, for tests. */
  migrations?: Migration[]
}

export interface RestoreOptions extends CheckOptions {
  databaseUrl?: string | undefined
  /** In place of `databaseUrl`. */
  connection?: ConnectionConfig | undefined
  /** The same database without a pooler in between. */
  databaseDirectUrl?: string | undefined
  /** The schema of the engine. Default: retoma. */
  schema?: string | undefined
  backup: CheckedBackup
  /** Empties the database first if there are jobs, or rows in a table of the backup that no Retoma migration created. */
  replace?: boolean
  log?: Log
  signal?: AbortSignal
}

export interface Restored {
  file: string
  /** The schema version of the backup, and the schema version after the restore. */
  from: number
  to: number
  /** The instant of the snapshot, ISO 8601. */
  at: string
  /** By table. */
  rows: Counts
}

/** A backup that was read from start to end and is complete. */
export interface CheckedBackup {
  readonly file: string
  readonly header: Header
  readonly rows: Counts
}

/** Rejects a file that is not a backup, is damaged, or is newer than this code. */
export async function checkBackup(file: string, options: CheckOptions = {}): Promise<CheckedBackup> {
  const known = (options.migrations ?? (await readMigrations())).at(-1)?.version ?? 0
  const systems = await readSystemMigrations(options.systems ?? [])
  let header: Header | undefined
  let rows: Counts = {}
  for await (const part of readBackup(file)) {
    if (part.what === 'header') header = part.header
    if (part.what === 'end') rows = part.counts
    if (header !== undefined && header.schema > known)
      throw new RetomaError('backup_too_new', { file, version: header.retoma })
    for (const [system, version] of Object.entries(header?.systems ?? {})) {
      const found = systems.find(each => each.name === system)
      if (found === undefined) throw new RetomaError('backup_needs_system', { file, system })
      const newest = found.migrations.at(-1)?.version ?? 0
      if (version > newest) throw new RetomaError('system_schema_too_new', { system, found: version, known: newest })
    }
  }
  return { file, header: header!, rows }
}

export async function restoreDatabase(options: RestoreOptions): Promise<Restored> {
  const {
    databaseUrl: url,
    databaseDirectUrl: directUrl,
    connection,
    schema,
    backup,
    replace = false,
    log = silentLog,
    signal,
  } = options
  const { file, header, rows } = backup
  const migrations = options.migrations ?? (await readMigrations())
  const systems = await readSystemMigrations(options.systems ?? [], schema)
  const to = migrations.at(-1)?.version ?? 0
  const db = openDb({ url, connection, connections: 1, log, directUrl, schema })
  try {
    const connection = await db.connect()
    const stop = () => connection.destroy()
    signal?.addEventListener('abort', stop)
    try {
      const given = {
        schema: header.schema,
        migrations,
        systems: header.systems,
        known: systems,
        tables: Object.keys(rows),
        replace,
      }
      await loadInto(connection, given, load => fill(load, file, signal))
      return { file, from: header.schema, to, at: header.at, rows }
    } catch (error) {
      signal?.throwIfAborted()
      throw db.translate(error, true)
    } finally {
      signal?.removeEventListener('abort', stop)
      // The transaction has been committed or rolled back, or the connection is lost: nothing to wait for.
      connection.destroy()
    }
  } finally {
    await db.close()
  }
}

/** Reaches the end only if the file does: if the file changed since the check, the transaction is rolled back. */
async function fill(load: Load, file: string, signal?: AbortSignal): Promise<void> {
  let table: TableFacts | undefined
  let sequences: readonly Sequence[] = []
  for await (const part of readBackup(file)) {
    signal?.throwIfAborted()
    if (part.what === 'table') {
      table = load.table(part.name, part.columns)
      if (table === undefined) throw new RetomaError('backup_differs', { file, table: part.name })
    } else if (part.what === 'rows') {
      await load.insert(table!, part.rows)
    } else if (part.what === 'sequences') {
      sequences = part.sequences
    }
  }
  await load.finish(sequences)
}
