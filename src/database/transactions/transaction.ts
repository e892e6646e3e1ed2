/** Begins, commits and rolls back a transaction on a leased connection. */

import { randomName } from '../../lib/random.ts'
import type { LeasedConnection } from '../leased-connection.ts'
import { beginMarked } from '../session-settings.ts'

/** Longest time one statement of a transaction may take. */
const deadlineMs = 30_000

/** Begins the transaction. Returns the random name that identifies the transaction until its end. */
export async function beginTransaction(connection: LeasedConnection): Promise<string> {
  const mark = randomName('t')
  await connection.query(beginMarked(mark), deadlineMs)
  return mark
}

export async function commitTransaction(connection: LeasedConnection): Promise<void> {
  const { command } = await connection.query('commit', deadlineMs)
  if (command !== 'COMMIT') throw new Error(`PostgreSQL answered ${command} to a commit`)
}

/** Rolls the transaction back and returns the connection. If the connection is gone, PostgreSQL rolls back. */
export async function rollbackTransaction(connection: LeasedConnection): Promise<void> {
  const ended =
    connection.trouble === undefined &&
    (await connection.query('rollback', deadlineMs).then(
      () => true,
      () => false,
    ))
  connection.release(ended ? 'ended' : 'in doubt')
}
