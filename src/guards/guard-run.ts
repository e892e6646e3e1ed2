/** Runs a guard by hand, to the end or as a dry run: for an engine, or on a database without Retoma. */

import type { Db } from '../database/db.ts'
import type { LocalizedText, RetomaError } from '../errors/errors.ts'
import { sweep } from './guard-sweep.ts'
import type { Guard } from './model/guard.ts'
import { previewLost } from './sql/guard-preview.ts'
import { aboutOf } from './sql/guard-runs.ts'
import { readGuardedTable } from './sql/guarded-table.ts'
import type { RowKey } from './sql/mark-lost-rows.ts'

/** The result of a sweep of a guard. */
export interface GuardRun {
  name: string
  table: string
  dryRun: boolean
  /** The guard is private: over HTTP only admins see the keys of its rows. */
  private: boolean
  /** Rows marked; on a dry run, rows a run would mark. */
  marked: number
  /** Keys and signals of the marked rows, oldest first: at most 1,000, and 5 on a dry run. */
  rows: { key: RowKey; signalAt: Date }[]
  /** The values set in each row; `now()` is the instant of the update. */
  set: Record<string, string | null>
  /** Jobs enqueued; 0 on a dry run. */
  jobs: number
  /** Rows left unchanged because the update failed or no valid job could be built; at most 100. */
  refused: { key: RowKey; error: RetomaError }[]
  /** Such as a missing index. */
  warnings: LocalizedText[]
}

/** A long time, also for a table without an index. */
const atMostMs = 5 * 60_000

export interface RunOptions {
  db: Db
  guard: Guard
  /** Counts the marked rows in the guard's row of retoma.guard. */
  counted: boolean
  signal?: AbortSignal
  now: () => Date | null
}

/** Marks all lost rows. */
export async function runGuard(options: RunOptions): Promise<GuardRun> {
  const { more: _, ...swept } = await sweep({ ...options, atMostMs, chunks: Number.POSITIVE_INFINITY })
  const { table, set } = aboutOf(options.guard)
  const { name, private: isPrivate } = options.guard
  return { name, table, dryRun: false, private: isPrivate, set, ...swept }
}

/** Answers the effect of a run now; writes nothing. */
export async function previewGuard({ db, guard, now }: Pick<RunOptions, 'db' | 'guard' | 'now'>): Promise<GuardRun> {
  const found = await readGuardedTable(db, guard)
  const { count, oldest, set } = await previewLost(db, guard, found, atMostMs, now())
  const { table } = aboutOf(guard)
  const { warnings } = found
  const about = { name: guard.name, table, dryRun: true, private: guard.private, set }
  return { ...about, marked: count, rows: oldest, jobs: 0, refused: [], warnings }
}
