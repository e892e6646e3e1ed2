/**
 * Exports the operations on the database itself, besides the engine's methods, for the command line and deploy scripts. The
 * engine migrates on its own at the start.
 */
import { type Log, silentLog } from '../lib/log.ts'
import { openDb } from '../store/db.ts'
import { type Migrated, migrate } from '../store/migrate.ts'

export type { Migrated } from '../store/migrate.ts'
export { addressOf } from '../store/trouble.ts'
export { backupDatabase } from './backup.ts'
export { type Examined, examine, unreachable } from './doctor.ts'
export { guardOnce } from './guard.ts'
export { proposeGuards } from './guard-proposals.ts'
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
