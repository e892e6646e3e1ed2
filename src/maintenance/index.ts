/**
 * Exports the operations on the database itself, besides the engine's methods, for the command line and deploy scripts. The
 * engine migrates on its own at the start.
 */

import type { ConnectionConfig } from '../database/connection-config.ts'
import { openDb } from '../database/db.ts'
import { type Migrated, migrate, readSystemMigrations, refuseToLoseJobs } from '../database/migrate.ts'
import { RetomaError } from '../errors/errors.ts'
import { type Log, silentLog } from '../lib/logging/log.ts'
import { type ConnectionShare, shareConnections } from './model/connection-share.ts'
import { readConnectionLimit } from './sql/connection-limit.ts'

export { targetOf } from '../database/connection-target.ts'
export { guardOnce } from '../guards/guard-once.ts'
export { proposeGuards } from '../guards/propose-guards.ts'
export { backupDatabase } from './backup.ts'
export { type DoctorReport, examine, unreachable } from './doctor.ts'
export { checkBackup, restoreDatabase } from './restore.ts'

export interface DatabaseShare extends ConnectionShare {
  /** The connections that the database allows. */
  allowed: number
  processes: number
}

/** The connections of each of several worker processes, so that all processes stay within the limit of the database. */
export async function connectionShare(options: {
  databaseUrl?: string | undefined
  connection?: ConnectionConfig | undefined
  processes: number
  log: Log
}): Promise<DatabaseShare> {
  const db = openDb({ url: options.databaseUrl, connection: options.connection, connections: 1, log: options.log })
  try {
    const allowed = await readConnectionLimit(db)
    return { ...shareConnections(allowed, options.processes), allowed, processes: options.processes }
  } finally {
    await db.close()
  }
}

export interface MigrateOptions {
  databaseUrl?: string | undefined
  /** In place of `databaseUrl`. */
  connection?: ConnectionConfig | undefined
  /** The target version, up or down, of the engine's schema or of `system`; default: the newest version this code knows. */
  to?: number
  /** The systems of the config. */
  systems?: readonly { readonly name: string; readonly migrations?: URL | undefined }[]
  /** Migrates only the tables of this system. */
  system?: string
  /** Migrates down even if unfinished jobs are lost. */
  force?: boolean
  /** The schema of the engine. Default: retoma. */
  schema?: string | undefined
  log?: Log
}

/** The migrations of the engine, and of each system that has tables. */
export interface MigratedAll extends Migrated {
  systems: (Migrated & { name: string })[]
}

/**
 * Without `system`: migrates the engine and then every system to its newest version. With `to`, only the engine; to 0, the systems are
 * taken down before.
 */
export async function migrateDatabase(options: MigrateOptions): Promise<MigratedAll> {
  const { databaseUrl: url, connection, schema, log = silentLog, system, to, force = false } = options
  const systems = await readSystemMigrations(options.systems ?? [], schema)
  const one = systems.find(each => each.name === system)
  if (system !== undefined && one === undefined) throw new RetomaError('unknown_system', { name: system })
  const db = openDb({ url, connection, connections: 1, schema, log })
  const move = async ({ name, migrations }: (typeof systems)[number], target: number | undefined) => ({
    name,
    ...(await migrate(db, { system: name, migrations, ...(target === undefined ? {} : { to: target }) })),
  })
  try {
    if (one !== undefined) {
      const moved = await move(one, to)
      return { from: moved.from, to: moved.to, ran: moved.ran, systems: [moved] }
    }
    const moved: MigratedAll['systems'] = []
    // The check for unfinished jobs comes first: the systems must not be gone when the engine refuses.
    if (to === 0) {
      if (!force) await refuseToLoseJobs(db, to)
      for (const each of systems.toReversed()) moved.push(await move(each, 0))
    }
    const migrated = await migrate(db, { force, ...(to === undefined ? {} : { to }) })
    if (to === undefined) for (const each of systems) moved.push(await move(each, undefined))
    return { ...migrated, systems: moved }
  } finally {
    await db.close()
  }
}
