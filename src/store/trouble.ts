/**
 * What the database's errors mean to us: whose fault it is, whether trying again can help, and what a person should do.
 *
 * Invariant: a job pays for an error only when a value of its own can have caused it; everything else is the link's, the
 * server's or the administrator's, passes some day, and costs nobody anything until then.
 */
import pg from 'pg'
import { databaseUnreachable } from '../core/in-doubt.ts'
import { isRetomaError, RetomaError } from '../errors.ts'

/** The SQLSTATE of a database error; undefined for anything else, such as a socket's. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

/** A value can cause bad data (22), a broken constraint (23), a limit of the server's (54), or too long a text of ours. */
export function isFaultOfRow(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== undefined) return /^(22|23|54)/.test(state)
  return error instanceof TypeError || error instanceof RangeError
}

/** The connection is of no more use: gone, on a server that only reads, or out of step about prepared statements. */
export function cutsConnection(error: unknown): boolean {
  const state = sqlState(error)
  return state === undefined || /^(08|57|25006|25P03|25P04|26|0A|XX)/.test(state)
}

/** It goes by itself sooner or later: the link, a server that starts or is full, a lock. Anything else is an answer. */
export function passes(error: unknown): boolean {
  if (isRetomaError(error)) return error.retryable
  return /^(08|40|53|55P03|57|25006|25P03|25P04)/.test(sqlState(error) ?? '')
}

/** A lock was waited for in vain; also on a connection that the caller brought, of whatever copy of the driver. */
export function isLockTimeout(error: unknown): boolean {
  return isRetomaError(error, 'database_locked') || (error as { code?: unknown } | null)?.code === '55P03'
}

/** Errors of statements of our own, of which `told` has nothing to say. */
const ofOurStatements = new WeakSet<object>()

/** Notes that a statement of our own raised it. */
export function ofOurStatement(error: unknown): unknown {
  if (error instanceof pg.DatabaseError || isFaultOfRow(error)) ofOurStatements.add(error as object)
  return error
}

/** Throws it with a code, where a statement of our own raised it: what callers' own code throws stays as it is. */
export function withCode(error: unknown): never {
  if (!(typeof error === 'object' && error !== null && ofOurStatements.has(error))) throw error
  const state = sqlState(error)
  const problem = textOf(error)
  if (state === '42P01' || state === '3F000' || state === '42703' || state === '42883')
    throw new RetomaError('schema_damaged', { problem }, { cause: error })
  throw new RetomaError('database_error', { state: state ?? '—', problem }, { cause: error })
}

/**
 * The error as a person should read it; one that says all there is to say stays as it is. `begun`: what it was about may be committed,
 * unless PostgreSQL has said that it is not.
 */
export function told(error: unknown, url: string, begun: boolean): unknown {
  if (isRetomaError(error)) return error
  const state = sqlState(error)
  const problem = textOf(error)
  if (state === undefined) {
    if (isFaultOfRow(error)) return error
    return databaseUnreachable({ address: addressOf(url), problem, begun, cause: error })
  }
  // 53: full, such as of connections; 55000: it takes none just now, as before it is dropped or renamed; 25P03 and 25P04: the server ended
  // a connection that stood still in a transaction; 25006: it only reads, as after a failover.
  if (/^(08|57P|53[^1]|55000|25006|25P03|25P04)/.test(state)) {
    // Full, or closed for the moment, is an answer: the statement was not done. A link that is cut under it is none.
    return databaseUnreachable({
      address: addressOf(url),
      problem,
      begun: begun && /^(08|57P)/.test(state),
      cause: error,
    })
  }
  if (/^(28|3D)/.test(state)) {
    return new RetomaError('database_refused', { address: addressOf(url), problem }, { cause: error })
  }
  if (state === '55P03') return new RetomaError('database_locked', { problem }, { cause: error })
  if (state === '53100') return new RetomaError('database_full', { problem }, { cause: error })
  if (state === '42501') return noRights(error, url)
  return error
}

const textOf = (error: unknown): string =>
  error instanceof Error ? error.message || String((error as { code?: unknown }).code) : String(error)

function noRights(error: unknown, url: string): RetomaError {
  const problem = textOf(error)
  const { user, database } = namesOf(url)
  const [, what] = /permission denied for (\w+)/.exec(problem) ?? []
  const grants: Record<string, string> = {
    database: `grant connect on database ${database} to ${user}`,
    schema: `grant usage on schema retoma to ${user}`,
    sequence: `grant usage on all sequences in schema retoma to ${user}`,
  }
  const grant = grants[what ?? ''] ?? `grant select, insert, update, delete on all tables in schema retoma to ${user}`
  return new RetomaError('database_no_rights', { user, database, problem, grant }, { cause: error })
}

function namesOf(url: string): { user: string; database: string } {
  try {
    const { username, pathname } = new URL(url)
    return {
      user: decodeURIComponent(username) || '…',
      database: decodeURIComponent(pathname.slice(1)) || '…',
    }
  } catch {
    return { user: '…', database: '…' }
  }
}

/** Where a connection string points to, without user, password or options. */
export function addressOf(url: string): string {
  try {
    const parsed = new URL(url)
    const socket = parsed.searchParams.get('host')
    const database = parsed.pathname.replace(/^\//, '') || 'postgres'
    const host = `${parsed.hostname || 'localhost'}:${parsed.port || 5432}/${database}`
    return socket === null ? host : `${socket} (${database})`
  } catch {
    return 'DATABASE_URL'
  }
}
