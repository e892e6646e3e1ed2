/** A guard that is run once, on any database: Retoma need not be installed in it, and nothing of it is left there. */
import type { Guard } from '../core/guard.ts'
import { type Log, silentLog } from '../lib/log.ts'
import { openDb } from '../store/db.ts'
import { type GuardRun, previewGuard, runGuard } from '../watchdog/guard-run.ts'

export interface GuardOnceOptions {
  databaseUrl: string
  /** One that makes no jobs. */
  guard: Guard
  dryRun: boolean
  /** Ends it between two bites. */
  signal?: AbortSignal
  log?: Log
}

export async function guardOnce({
  databaseUrl,
  guard,
  dryRun,
  signal,
  log = silentLog,
}: GuardOnceOptions): Promise<GuardRun> {
  const db = openDb({ url: databaseUrl, connections: 1, log })
  const given = { db, guard, now: () => null, ...(signal ? { signal } : {}) }
  try {
    return await (dryRun ? previewGuard(given) : runGuard({ ...given, counted: false }))
  } finally {
    await db.close()
  }
}
