/**
 * `ctx.transaction`: runs a handler's work in a transaction that includes the checkpoint (execution/sql/fenced-transaction.ts).
 *
 * Invariant: the writes of `work` are committed at most once per job and step name, and the result of the commit is known before this
 * function resolves: after a commit without an answer the checkpoint is read, for as long as necessary. After the signal aborts, nothing
 * new is committed. The wait for an unreachable database counts as no call of `work`. A connection lost during `work` rolls back, and
 * `work` is called again, at most three times in total, because calls may cost money.
 */

import type { Db } from '../database/db.ts'
import type { LeasedConnection } from '../database/leased-connection.ts'
import { sqlState } from '../database/pg-errors.ts'
import { retryWhileAway } from '../database/retry-while-away.ts'
import { beginTransaction, commitTransaction, rollbackTransaction } from '../database/transactions/transaction.ts'
import { UserTransaction } from '../database/transactions/user-transaction.ts'
import { RetomaError } from '../errors/errors.ts'
import type { JobTransaction } from '../jobs/model/job-context.ts'
import { doNotRetry } from '../jobs/model/outcome.ts'
import type { Clock } from '../lib/clock.ts'
import type { StepTransactionResult } from './model/attempt-storage-calls.ts'
import { savedCheckpoint, saveInTransaction } from './sql/fenced-transaction.ts'

export interface StepTransaction {
  db: Db
  clock: Clock
  worker: string
  job: { id: string; attempt: number }
  name: string
  /** Returns the value to save, as JSON text. */
  work: (tx: JobTransaction) => Promise<string>
  signal: AbortSignal
}

const mostCalls = 3

export async function runStepTransaction(given: StepTransaction): Promise<StepTransactionResult> {
  for (let call = 1; ; call++) {
    const begun = await begin(given)
    const tried = await attempt(given, begun)
    if (!('failed' in tried)) return tried
    if (call >= mostCalls) throw tried.failed
    await given.clock.sleep(100 * call, given.signal)
  }
}

interface Begun {
  connection: LeasedConnection
  mark: string
}

async function begin({ db, clock, signal }: StepTransaction): Promise<Begun> {
  const open = async () => {
    let connection: LeasedConnection | undefined
    try {
      connection = await db.leaseConnection()
      return { connection, mark: await beginTransaction(connection) }
    } catch (error) {
      connection?.release('in doubt')
      throw error
    }
  }
  return retryWhileAway(open, { clock, signal, isAnswer: () => false })
}

/** `failed`: nothing is committed, and another call may succeed. */
async function attempt(
  given: StepTransaction,
  { connection, mark }: Begun,
): Promise<StepTransactionResult | { failed: unknown }> {
  const { worker, job, name, work, signal, clock } = given
  const tx = new UserTransaction(connection, name, signal)
  try {
    const value = await tx.during(work)
    signal.throwIfAborted()
    const how = await saveInTransaction(connection, { ...job, worker, name, value, mark }, clock.instant())
    signal.throwIfAborted()
    if (how === 'kept') return await commit(given, connection)
    await rollbackTransaction(connection)
    if (how === 'lease_lost') return { how }
    if (how === 'there') return await settled(given, undefined)
    throw doNotRetry(new RetomaError('transaction_control', { step: name }))
  } catch (error) {
    await rollbackTransaction(connection)
    if (signal.aborted) throw signal.reason
    return tx.judge(error)
  }
}

async function commit(
  given: StepTransaction,
  connection: LeasedConnection,
): Promise<StepTransactionResult | { failed: unknown }> {
  try {
    await commitTransaction(connection)
    connection.release('ended')
    return { how: 'written' }
  } catch (error) {
    // A deferred constraint failed, or the answer was lost: the checkpoint decides.
    connection.release('in doubt')
    return settled(given, error)
  }
}

/** Reads the checkpoint to learn whether the transaction is committed. `error`: the reason of the doubt. */
async function settled(given: StepTransaction, error: unknown): Promise<StepTransactionResult | { failed: unknown }> {
  const { db, clock, job, name, signal } = given
  const read = () => savedCheckpoint(db, job.id, name)
  // The first read comes even after an abort, because the transaction may be committed.
  const kept = await read().catch(() => retryWhileAway(read, { clock, signal, isAnswer: () => false }))
  if (kept !== undefined && error === undefined) return { how: 'there', value: kept.value }
  // A checkpoint of a later attempt: our transaction was rolled back, and the later attempt did the work.
  if (kept !== undefined) return { how: kept.attempt === job.attempt ? 'written' : 'lease_lost' }
  signal.throwIfAborted()
  if (sqlState(error) === undefined || /^(08|40|57)/.test(sqlState(error)!)) return { failed: error }
  throw error
}
