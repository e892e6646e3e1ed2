/**
 * Runs statements and transactions of an application, optionally together with jobs, on connections of their own, so that the
 * engine's statements do not wait.
 *
 * Invariant: a transaction is rolled back if `work` throws or 30 seconds have passed. Nothing is retried: if a commit gets no
 * answer, the error says so, and the outcome is unknown. Work that must not happen twice needs a unique key.
 */

import { databaseTimeout } from '../../errors/database-unreachable.ts'
import type { JobQuery, JobTransaction } from '../../jobs/model/job-context.ts'
import { withDeadline } from '../../lib/with-deadline.ts'
import type { Db } from '../db.ts'
import type { LeasedConnection } from '../leased-connection.ts'
import { sqlState } from '../pg-errors.ts'
import { beginTransaction, commitTransaction, rollbackTransaction } from './transaction.ts'
import { UserTransaction } from './user-transaction.ts'

export interface AppTransactions {
  /** Runs a single statement. Values are converted as the pg driver does. */
  query<Row = Record<string, unknown>>(
    query: string | JobQuery,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number | null; command: string }>
  /**
   * Commits all writes of `work` once `work` resolves, or nothing. `enqueue` and `files.keep` accept `tx` too. `work` may use
   * savepoints, but not begin, commit or rollback.
   */
  transaction<T>(work: (tx: JobTransaction, signal: AbortSignal) => T | Promise<T>): Promise<T>
}

const deadlineMs = 30_000

export function createAppTransactions({
  db,
  waitLimitMs = deadlineMs,
}: {
  db: Db
  waitLimitMs?: number
}): AppTransactions {
  async function transaction<T>(
    name: string,
    work: (tx: JobTransaction, signal: AbortSignal) => T | Promise<T>,
  ): Promise<T> {
    const tooLong = new AbortController()
    const doubt = { isCommitting: false }
    const late = () => {
      const error = databaseTimeout(waitLimitMs, doubt.isCommitting)
      tooLong.abort(error)
      return error
    }
    const { signal } = tooLong
    const whole = once(db, name, async tx => work(tx, signal), signal, doubt)
    return withDeadline(whole, waitLimitMs, late)
  }

  return {
    query: (query, values) => transaction('engine.query', tx => tx.query(query, values)),
    transaction: work => transaction('engine.transaction', work),
  }
}

async function once<T>(
  db: Db,
  name: string,
  work: (tx: JobTransaction) => Promise<T>,
  signal: AbortSignal,
  doubt: { isCommitting: boolean },
): Promise<T> {
  const connection = await db.leaseConnection()
  const tx = new UserTransaction(connection, name, signal)
  try {
    signal.throwIfAborted()
    await beginTransaction(connection)
    const value = await tx.during(work)
    signal.throwIfAborted()
    doubt.isCommitting = true
    await commit(connection, tx)
    connection.release('ended')
    return value
  } catch (error) {
    await rollbackTransaction(connection)
    signal.throwIfAborted()
    const found = judged(tx, error)
    throw connection.trouble !== undefined || sqlState(found) !== undefined
      ? db.translate(found, doubt.isCommitting)
      : found
  }
}

async function commit(connection: LeasedConnection, tx: UserTransaction): Promise<void> {
  try {
    await commitTransaction(connection)
  } catch (error) {
    // PostgreSQL rolls back if a statement had failed, even if `work` continued after the error.
    throw connection.trouble === undefined && sqlState(error) === undefined ? tx.aborted(error) : error
  }
}

/** Some errors would allow a retry; the caller decides. */
function judged(tx: UserTransaction, error: unknown): unknown {
  try {
    return tx.judge(error).failed
  } catch (own) {
    return own
  }
}
