/**
 * One statement of a handler's that reads: in a transaction that can do nothing else, on a connection that is lent.
 *
 * Invariant: one that takes too long is told so by PostgreSQL (57014), and only a database that says nothing at all counts as away:
 * whoever waits for one would otherwise ask the same again for ever.
 */
import type { JobQuery } from '../core/context.ts'
import type { Db } from './db.ts'
import { undo } from './fenced.ts'
import type { Answer } from './loan.ts'
import { beginReading } from './session.ts'

const longest = 30_000
/** For the answer that it has taken too long. */
const moreMs = 5000

export async function look(db: Db, query: JobQuery, longestMs = longest): Promise<Answer> {
  const deadlineMs = longestMs + moreMs
  const loan = await db.lend()
  try {
    await loan.query(beginReading(longestMs), deadlineMs)
    const { rows, rowCount, command } = await loan.query(query, deadlineMs)
    return { rows, rowCount, command }
  } finally {
    // There is nothing to commit.
    await undo(loan)
  }
}
