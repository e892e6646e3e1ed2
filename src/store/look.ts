/** One statement of a handler's that reads: in a transaction that can do nothing else, on a connection that is lent. */
import type { JobQuery } from '../core/context.ts'
import type { Db } from './db.ts'
import { undo } from './fenced.ts'
import type { Answer } from './loan.ts'
import { beginReading } from './session.ts'

const deadlineMs = 30_000

export async function look(db: Db, query: JobQuery): Promise<Answer> {
  const loan = await db.lend()
  try {
    await loan.query(beginReading, deadlineMs)
    const { rows, rowCount, command } = await loan.query(query, deadlineMs)
    return { rows, rowCount, command }
  } finally {
    // There is nothing to commit.
    await undo(loan)
  }
}
