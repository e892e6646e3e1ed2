/**
 * Classifies errors of the database: the cause, the use of a retry, and the advice for a person.
 *
 * Invariant: an error counts against a job only if a value of the job can have caused it. Every other error belongs to
 * the connection, the server or the administrator, passes some day, and counts against no job.
 */
import pg from 'pg'
import { databaseUnreachable } from '../errors/database-unreachable.ts'
import { isRetomaError, RetomaError } from '../errors/errors.ts'
import { type ConnectionTarget, targetOf } from './connection-target.ts'
import { defaultSchema } from './schema-name.ts'

/** The SQLSTATE of a database error; undefined for other errors, such as an error of the socket. */
export function sqlState(error: unknown): string | undefined {
  if (error instanceof pg.DatabaseError) return error.code
  // An error from another copy of the driver: of the pool of a user.
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && typeof severity === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/**
 * A value can cause bad data (22), a broken constraint (23), a limit of the server (54), or a statement that is too long.
 */
export function isFaultOfRow(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== undefined) return /^(22|23|54)/.test(state)
  return error instanceof TypeError || error instanceof RangeError
}

/** The connection is unusable: closed, on a read-only server, or inconsistent about prepared statements. */
export function cutsConnection(error: unknown): boolean {
  const state = sqlState(error)
  return state === undefined || /^(08|57|25006|25P03|25P04|26|0A|XX)/.test(state)
}

/**
 * The error passes by itself: a lost connection, a server that starts or is full, a lock. Any other error is an answer.
 */
export function isTransient(error: unknown): boolean {
  if (isRetomaError(error)) return error.retryable
  return /^(08|40|53|55P03|57|25006|25P03|25P04)/.test(sqlState(error) ?? '')
}

/** A wait for a lock timed out; also on a connection of the caller, from any copy of the driver. */
export function isLockTimeout(error: unknown): boolean {
  return isRetomaError(error, 'database_locked') || (error as { code?: unknown } | null)?.code === '55P03'
}

/** Errors of the engine's own statements that `translate` does not translate. */
const ofOurStatements = new WeakSet<object>()

/** Records that a statement of the engine raised the error. */
export function ofOurStatement(error: unknown): unknown {
  if (sqlState(error) !== undefined || isFaultOfRow(error)) ofOurStatements.add(error as object)
  return error
}

/**
 * Throws the error with a code if a statement of the engine raised it; errors of the caller's own code stay unchanged.
 */
export function withCode(error: unknown): never {
  if (!(typeof error === 'object' && error !== null && ofOurStatements.has(error))) throw error
  const state = sqlState(error)
  const problem = textOf(error)
  if (state === '42P01' || state === '3F000' || state === '42703' || state === '42883')
    throw new RetomaError('schema_damaged', { problem }, { cause: error })
  throw new RetomaError('database_error', { state: state ?? '—', problem }, { cause: error })
}

/**
 * Translates the error for a person; a complete error stays as it is. `begun`: the work may be committed, unless
 * PostgreSQL has answered otherwise.
 */
export function translatePgError(
  error: unknown,
  given: string | ConnectionTarget,
  begun: boolean,
  schema = defaultSchema,
): unknown {
  if (isRetomaError(error)) return error
  const target = typeof given === 'string' ? targetOf(given) : given
  const { address } = target
  const state = sqlState(error)
  const problem = textOf(error)
  if (state === undefined) {
    if (isFaultOfRow(error)) return error
    return databaseUnreachable({ address, problem, begun, cause: error })
  }
  // 53: full, such as of connections; 55000: the database accepts no connections now, as before a drop or rename; 25P03
  // and 25P04: the server ended a connection that was idle in a transaction; 25006: read-only, as after a failover.
  if (/^(08|57P|53[^1]|55000|25006|25P03|25P04)/.test(state)) {
    // Full or closed is an answer: the statement was not executed. A broken connection is no answer.
    return databaseUnreachable({
      address,
      problem,
      begun: begun && /^(08|57P)/.test(state),
      cause: error,
    })
  }
  if (/^(28|3D)/.test(state)) {
    return new RetomaError('database_refused', { address, problem }, { cause: error })
  }
  if (state === '55P03') return new RetomaError('database_locked', { problem }, { cause: error })
  if (state === '53100') return new RetomaError('database_full', { problem }, { cause: error })
  if (state === '42501') return noRights(error, target, schema)
  return error
}

const textOf = (error: unknown): string =>
  error instanceof Error ? error.message || String((error as { code?: unknown }).code) : String(error)

function noRights(error: unknown, { user, database }: ConnectionTarget, schema: string): RetomaError {
  const problem = textOf(error)
  const [, what] = /permission denied for (\w+)/.exec(problem) ?? []
  const grants: Record<string, string> = {
    database: `grant connect on database ${database} to ${user}`,
    schema: `grant usage on schema ${schema} to ${user}`,
    sequence: `grant usage on all sequences in schema ${schema} to ${user}`,
  }
  const grant =
    grants[what ?? ''] ?? `grant select, insert, update, delete on all tables in schema ${schema} to ${user}`
  return new RetomaError('database_no_rights', { user, database, problem, grant }, { cause: error })
}
