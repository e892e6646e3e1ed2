/** Begins, commits and rolls back a transaction on a leased connection. */

import { randomName } from '../lib/random.ts'
import type { LeasedConnection } from './leased-connection.ts'
import { beginMarked } from './session-settings.ts'

/** Longest time one statement of a transaction may take. */
const deadlineMs = 30_000

/** Begins the transaction. Returns the random name that identifies the transaction until its end. */
export async function beginTransaction(loan: LeasedConnection): Promise<string> {
  const mark = randomName('t')
  await loan.query(beginMarked(mark), deadlineMs)
  return mark
}

export async function commitTransaction(loan: LeasedConnection): Promise<void> {
  const { command } = await loan.query('commit', deadlineMs)
  if (command !== 'COMMIT') throw new Error(`PostgreSQL answered ${command} to a commit`)
}

/** Rolls the transaction back and returns the connection. If the connection is gone, PostgreSQL rolls back. */
export async function rollbackTransaction(loan: LeasedConnection): Promise<void> {
  const ended =
    loan.trouble === undefined &&
    (await loan.query('rollback', deadlineMs).then(
      () => true,
      () => false,
    ))
  loan.release(ended ? 'ended' : 'in doubt')
}
