/** Errors that a test puts in the place of an answer of the database. */
import pg from 'pg'

/** What PostgreSQL would answer, with this SQLSTATE. */
export function databaseError(code: string): Error {
  return Object.assign(new pg.DatabaseError(`injected ${code}`, 0, 'error'), { code })
}

/** What the driver says when the link is cut. */
export const linkLost = (): Error => new Error('Connection terminated unexpectedly')
