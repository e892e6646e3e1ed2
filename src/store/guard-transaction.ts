/** A transaction on a guarded table: its settings, and what it means when PostgreSQL refuses. */
import type { Guard } from '../core/guard.ts'
import { shownTable } from '../core/guard-table.ts'
import { isRetomaError, RetomaError, say } from '../errors.ts'
import type { Db, Queryable } from './db.ts'
import type { GuardedTable } from './guard-table.ts'
import { sqlState } from './trouble.ts'

const lockMs = 2000

/** Whatever PostgreSQL refuses is said of the table, for the guard's author to read. */
export async function inTransaction<T>(
  db: Db,
  guard: Guard,
  table: GuardedTable,
  atMostMs: number,
  work: (client: Queryable) => Promise<T>,
): Promise<T> {
  const answer = await db.transaction(async client => {
    // Planned with its values: an index for the running status alone serves only who asks for that very status. And read in
    // the order of an index where there is one: without statistics the planner would collect and sort all that is lost.
    await client.query(
      `set local plan_cache_mode = force_custom_plan; set local enable_bitmapscan = off; set local lock_timeout = ${lockMs}; set local statement_timeout = ${atMostMs}`,
    )
    try {
      return { value: await work(client) }
    } catch (error) {
      const trouble = troubleOf(error, guard, table, atMostMs)
      if (trouble === undefined) throw error
      // Ended here and thrown below: the connection is as good as before.
      await client.query('rollback')
      return { trouble }
    }
  }, atMostMs + lockMs)
  if ('trouble' in answer) throw answer.trouble
  return answer.value
}

/** Undefined: it is not the guard's, nor the table's. */
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

const tryLess = say('give it a smaller limit', 'use um limit menor')

/** A row of the bite may have caused it: a constraint, a trigger that raises. What is set is the same for all of them. */
export const isFaultOfSomeRow = (error: unknown): boolean => {
  const state = isRetomaError(error, 'guard_unfit') ? (sqlState(error.cause) ?? '') : ''
  return /^(21|22|23|27|44|54|P0)/.test(state) && !/^22(001|003|007|008|021|P02|P03|P05)$/.test(state)
}
