/** Runs a transaction on a guarded table: sets the session's settings and translates errors of PostgreSQL. */

import type { Db, Queryable } from '../../database/db.ts'
import { sqlState } from '../../database/pg-errors.ts'
import { isRetomaError, localized, RetomaError } from '../../errors/errors.ts'
import type { Guard } from '../model/guard.ts'
import { shownTable } from '../model/table-name.ts'
import type { GuardedTable } from './guarded-table.ts'

const lockMs = 2000

/**
 * Runs `work` in a transaction. An error of PostgreSQL becomes an error about the table, for the author of the guard.
 */
export async function inTransaction<T>(
  db: Db,
  guard: Guard,
  table: GuardedTable,
  atMostMs: number,
  work: (client: Queryable) => Promise<T>,
): Promise<T> {
  const answer = await db.transaction(async client => {
    // A custom plan knows the values: a partial index for the running status serves only a query for exactly this status.
    // Without bitmap scans PostgreSQL reads in the order of an index if an index exists; without statistics the planner
    // would otherwise collect and sort all lost rows.
    await client.query(
      `set local plan_cache_mode = force_custom_plan; set local enable_bitmapscan = off; set local lock_timeout = ${lockMs}; set local statement_timeout = ${atMostMs}`,
    )
    try {
      return { value: await work(client) }
    } catch (error) {
      const trouble = troubleOf(error, guard, table, atMostMs)
      if (trouble === undefined) throw error
      // Rolled back here and thrown below, so that the connection stays usable.
      await client.query('rollback')
      return { trouble }
    }
  }, atMostMs + lockMs)
  if ('trouble' in answer) throw answer.trouble
  return answer.value
}

/** Returns undefined if neither the guard nor the table caused the error. */
export function troubleOf(
  error: unknown,
  guard: Guard,
  { warnings }: GuardedTable,
  atMostMs: number,
): RetomaError | undefined {
  const state = sqlState(error) ?? ''
  const table = shownTable(guard.table)
  if (state === '57014') {
    const facts = { table, seconds: atMostMs / 1000, way_out: warnings[0] ?? tryLess }
    return new RetomaError('guard_slow', facts, { cause: error })
  }
  if (!/^(0A|21|22|23|27|2F|42|44|54|P0)/.test(state)) return undefined
  return new RetomaError('guard_unfit', { table, problem: (error as Error).message }, { cause: error })
}

const tryLess = localized('give it a smaller limit', 'use um limit menor')

/**
 * True if a single row of the chunk may have caused the error: a constraint, a trigger that raises. The assigned values
 * are the same for all rows of the chunk, so an invalid value is not the fault of a row.
 */
export const isFaultOfSomeRow = (error: unknown): boolean => {
  const state = isRetomaError(error, 'guard_unfit') ? (sqlState(error.cause) ?? '') : ''
  return /^(21|22|23|27|44|54|P0)/.test(state) && !/^22(001|003|007|008|021|P02|P03|P05)$/.test(state)
}
