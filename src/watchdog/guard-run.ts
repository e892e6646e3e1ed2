/** A guard run by hand, to the end or only for show: by an engine, or on a database that Retoma has never seen. */
import type { Guard } from '../core/guard.ts'
import type { RetomaError, Saying } from '../errors.ts'
import type { Db } from '../store/db.ts'
import type { RowKey } from '../store/guard.ts'
import { previewLost } from '../store/guard-preview.ts'
import { readGuardedTable } from '../store/guard-table.ts'
import { aboutOf } from '../store/guard-turn.ts'
import { sweep } from './guard-sweep.ts'

export interface GuardRun {
  name: string
  table: string
  dryRun: boolean
  /** Rows marked; on a dry run, rows that would be. */
  marked: number
  /** Keys and signals of them, oldest first: at most 1,000, and 5 on a dry run. */
  rows: { key: RowKey; signalAt: Date }[]
  /** What each of them gets; `now()` is the instant of the mark. */
  set: Record<string, string | null>
  /** Jobs made; 0 on a dry run. */
  jobs: number
  /** Rows that could not be marked, or that no job could be made of, left as they are; at most 100. */
  refused: { key: RowKey; error: RetomaError }[]
  /** Such as a missing index. */
  warnings: Saying[]
}

/** It may take its time, in a table without an index, too. */
const atMostMs = 5 * 60_000

export interface RunOptions {
  db: Db
  guard: Guard
  /** In its row of retoma.guard. */
  counted: boolean
  signal?: AbortSignal
  now: () => Date | null
}

/** Marks all that is lost. */
export async function runGuard(options: RunOptions): Promise<GuardRun> {
  const { more: _, ...swept } = await sweep({ ...options, atMostMs, bites: Number.POSITIVE_INFINITY })
  const { table, set } = aboutOf(options.guard)
  return { name: options.guard.name, table, dryRun: false, set, ...swept }
}

/** What a run would do now; writes nothing. */
export async function previewGuard({ db, guard, now }: Pick<RunOptions, 'db' | 'guard' | 'now'>): Promise<GuardRun> {
  const found = await readGuardedTable(db, guard)
  const { count, oldest, set } = await previewLost(db, guard, found, atMostMs, now())
  const { table } = aboutOf(guard)
  const { warnings } = found
  return { name: guard.name, table, dryRun: true, marked: count, rows: oldest, set, jobs: 0, refused: [], warnings }
}
