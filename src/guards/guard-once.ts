/** Runs a guard once, on any database: the database need not contain Retoma, and gets no Retoma tables. */

import type { ConnectionConfig } from '../database/connection-config.ts'
import { openDb } from '../database/db.ts'
import { type Log, silentLog } from '../lib/logging/log.ts'
import { type GuardRun, previewGuard, runGuard } from './guard-run.ts'
import type { Guard } from './model/guard.ts'

export interface GuardOnceOptions {
  databaseUrl?: string | undefined
  /** In place of `databaseUrl`. */
  connection?: ConnectionConfig | undefined
  /** The schema of the engine. Default: retoma. */
  schema?: string | undefined
  /** A guard without jobs. */
  guard: Guard
  dryRun: boolean
  /** Stops the run between two chunks. */
  signal?: AbortSignal
  log?: Log
}

export async function guardOnce({
  databaseUrl: url,
  connection,
  schema,
  guard,
  dryRun,
  signal,
  log = silentLog,
}: GuardOnceOptions): Promise<GuardRun> {
  const db = openDb({ url, connection, connections: 1, schema, log })
  const given = { db, guard, now: () => null, ...(signal ? { signal } : {}) }
  try {
    return await (dryRun ? previewGuard(given) : runGuard({ ...given, counted: false }))
  } finally {
    await db.close()
  }
}
