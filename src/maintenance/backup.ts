/**
 * Writes the whole schema, and the schemas of the systems, to a single file while jobs run. Called by `retoma backup`.
 *
 * Invariant: a file with the requested name is a complete backup of a single instant; on any error there is no such file.
 */

import type { ConnectionConfig } from '../database/connection-config.ts'
import { openDb } from '../database/db.ts'
import { type Log, silentLog } from '../lib/logging/log.ts'
import { version } from '../version.ts'
import { refuseTaken, writeBackup } from './backup-file.ts'
import type { Counts, Part } from './backup-format.ts'
import { openSnapshot, type Snapshot } from './sql/backup-snapshot.ts'

export interface BackupOptions {
  databaseUrl?: string | undefined
  /** In place of `databaseUrl`. */
  connection?: ConnectionConfig | undefined
  /** The same database without a pooler in between. */
  databaseDirectUrl?: string | undefined
  /** The schema of the engine. Default: retoma. */
  schema?: string | undefined
  file: string
  /** Replaces an existing file. */
  force?: boolean
  log?: Log
  signal?: AbortSignal
}

export interface Backup {
  file: string
  bytes: number
  /** Schema version of the backup. */
  schema: number
  /** The instant of the snapshot. */
  at: Date
  /** By table. */
  rows: Counts
}

export async function backupDatabase(options: BackupOptions): Promise<Backup> {
  const {
    databaseUrl: url,
    databaseDirectUrl: directUrl,
    connection,
    schema,
    file,
    force = false,
    log = silentLog,
    signal,
  } = options
  await refuseTaken(file, force)
  const db = openDb({ url, connection, connections: 1, log, directUrl, schema })
  try {
    const connection = await db.connect()
    try {
      const snapshot = await openSnapshot(connection)
      const rows: Counts = {}
      const bytes = await writeBackup(file, partsOf(snapshot, rows), { force, ...(signal ? { signal } : {}) })
      return { file, bytes, schema: snapshot.schema, at: snapshot.at, rows }
    } catch (error) {
      signal?.throwIfAborted()
      throw db.translate(error, false)
    } finally {
      // The connection has written nothing, so that it can be destroyed even in the middle of a read.
      connection.destroy()
    }
  } finally {
    await db.close()
  }
}

async function* partsOf(snapshot: Snapshot, counts: Counts): AsyncGenerator<Exclude<Part, { what: 'end' }>> {
  const { schema, systems, postgres, at } = snapshot
  yield { what: 'header', header: { schema, systems, retoma: version, postgres, at: at.toISOString() } }
  for (const table of snapshot.tables) {
    yield { what: 'table', name: table.name, columns: table.columns }
    counts[table.name] = 0
    for await (const rows of snapshot.rows(table)) {
      counts[table.name]! += rows.length
      yield { what: 'rows', rows }
    }
  }
  yield { what: 'sequences', sequences: await snapshot.sequences() }
}
