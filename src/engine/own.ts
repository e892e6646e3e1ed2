/**
 * For an application's own tables: a statement, or a transaction that jobs can be part of, on connections that the engine's own
 * statements do not wait for.
 *
 * Invariant: what throws is rolled back, and what is not over within half a minute is cut off and rolled back too. Nothing is
 * tried again: when a commit was not answered the caller is told that, and nobody knows whether it happened. What must not
 * happen twice has a key of its own.
 */
import type { JobQuery, JobTransaction } from '../core/context.ts'
import { databaseTimeout } from '../core/in-doubt.ts'
import { withDeadline } from '../lib/deadline.ts'
import type { Db } from '../store/db.ts'
import { beginFenced, commitFenced, undo } from '../store/fenced.ts'
import type { Loan } from '../store/loan.ts'
import { sqlState } from '../store/trouble.ts'
import { Tx } from '../worker/tx.ts'

export interface Own {
  /** One statement. Values come and go as the pg driver has them. */
  query<Row = Record<string, unknown>>(
    query: string | JobQuery,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number | null; command: string }>
  /**
   * Commits what `work` wrote once it resolves, all of it or nothing. `tx` goes into `enqueue` and `files.keep` as well.
   * Savepoints are yours; begin, commit and rollback are not.
   */
  transaction<T>(work: (tx: JobTransaction, signal: AbortSignal) => T | Promise<T>): Promise<T>
}

const deadlineMs = 30_000

export function createOwn({ db, patienceMs = deadlineMs }: { db: Db; patienceMs?: number }): Own {
  async function transaction<T>(
    name: string,
    work: (tx: JobTransaction, signal: AbortSignal) => T | Promise<T>,
  ): Promise<T> {
    const tooLong = new AbortController()
    const doubt = { isCommitting: false }
    const late = () => {
      const error = databaseTimeout(patienceMs, doubt.isCommitting)
      tooLong.abort(error)
      return error
    }
    const { signal } = tooLong
    const whole = once(db, name, async tx => work(tx, signal), signal, doubt)
    return withDeadline(whole, patienceMs, late)
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
  const loan = await db.lend()
  const tx = new Tx(loan, name, signal)
  try {
    signal.throwIfAborted()
    await beginFenced(loan)
    const value = await tx.during(work)
    signal.throwIfAborted()
    doubt.isCommitting = true
    await commit(loan, tx)
    loan.giveBack('ended')
    return value
  } catch (error) {
    await undo(loan)
    signal.throwIfAborted()
    const found = judged(tx, error)
    throw loan.trouble !== undefined || sqlState(found) !== undefined ? db.told(found, doubt.isCommitting) : found
  }
}

async function commit(loan: Loan, tx: Tx): Promise<void> {
  try {
    await commitFenced(loan)
  } catch (error) {
    // PostgreSQL rolls back where a statement had failed, though whoever asked for it went on.
    throw loan.trouble === undefined && sqlState(error) === undefined ? tx.aborted(error) : error
  }
}

/** Calling it again might help with some; that is for the caller to say. */
function judged(tx: Tx, error: unknown): unknown {
  try {
    return tx.judge(error).failed
  } catch (own) {
    return own
  }
}
