/**
 * Runs a read-only query of a handler, in a read-only transaction on a leased connection.
 *
 * Invariant: PostgreSQL itself ends a query that takes too long (57014). Only a database without any answer counts as
 * away; otherwise a caller who waits for the database would repeat the same query forever.
 */

import type { JobQuery } from '../jobs/model/job-context.ts'
import type { Db } from './db.ts'
import type { QueryResult } from './leased-connection.ts'
import { beginReading } from './session-settings.ts'
import { rollbackTransaction } from './transactions/transaction.ts'

const longest = 30_000
/** Extra time for PostgreSQL to report the statement timeout. */
const moreMs = 5000

export async function readOnlyQuery(db: Db, query: JobQuery, longestMs = longest): Promise<QueryResult> {
  const deadlineMs = longestMs + moreMs
  const connection = await db.leaseConnection()
  try {
    await connection.query(beginReading(longestMs), deadlineMs)
    const { rows, rowCount, command } = await connection.query(query, deadlineMs)
    return { rows, rowCount, command }
  } finally {
    // A read-only transaction has nothing to commit.
    await rollbackTransaction(connection)
  }
}
