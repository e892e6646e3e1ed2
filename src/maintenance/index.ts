/**
 * What an operator does to the database itself, beside the engine's verbs: the command line calls it and so may a deploy
 * script. The engine's own start migrates by itself.
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
  /** The schema version to arrive at, up or down; default: the newest this code knows. */
  to?: number
  /** Go down although jobs that are not finished are lost with it. */
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
