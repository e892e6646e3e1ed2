/**
 * Exports the operations on the database itself, besides the engine's methods, for the command line and deploy scripts. The
 * engine migrates on its own at the start.
 */

import { openDb } from '../database/db.ts'
import { type Migrated, migrate } from '../database/migrate.ts'
import { type Log, silentLog } from '../lib/logging/log.ts'

export type { Migrated } from '../database/migrate.ts'
export { addressOf } from '../database/pg-errors.ts'
export { guardOnce } from '../guards/guard-once.ts'
export { proposeGuards } from '../guards/propose-guards.ts'
export { backupDatabase } from './backup.ts'
export { type DoctorReport, examine, unreachable } from './doctor.ts'
export { checkBackup, restoreDatabase } from './restore.ts'

export interface MigrateOptions {
  databaseUrl: string
  /** The target schema version, up or down; default: the newest version this code knows. */
  to?: number
  /** Migrates down even if unfinished jobs are lost. */
  force?: boolean
  log?: Log
}

export async function migrateDatabase({ databaseUrl, log = silentLog, ...options }: MigrateOptions): Promise<Migrated> {
  const db = openDb({ url: databaseUrl, connections: 1, log })
  try {
    return await migrate(db, options)
  } finally {
    await db.close()
  }
}
