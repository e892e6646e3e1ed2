/**
 * Leases connections to handlers, each for a single transaction. They come from a pool of their own: in the engine's pool
 * slow handlers would delay heartbeats and outcomes.
 *
 * Invariant: the next handler sees no session state of the previous handler. A returned connection is cleared first; a
 * connection in an unknown state is destroyed, which rolls back every open transaction.
 */
import pg from 'pg'
import { databaseTimeout } from '../errors/database-unreachable.ts'
import { Semaphore } from '../lib/semaphore.ts'
import { withDeadline } from '../lib/with-deadline.ts'
import { endPool } from './end-pool.ts'
import type { ConnectionLeases, LeasedConnection, QueryResult } from './leased-connection.ts'
import { sqlState } from './pg-errors.ts'
import type { SchemaNames } from './schema-name.ts'
import { socketOf } from './socket.ts'

const clearDeadline = 5000
const never = new AbortController().signal

export function createConnectionLeases(given: {
  config: pg.PoolConfig
  /** The pool of the user. Undefined: a pool of the leases alone. */
  pool?: pg.Pool | undefined
  names: SchemaNames
  /** True if a pooler gives each transaction another session; then there is no session to clear. */
  isShared: () => Promise<boolean>
  /**
   * Cancels the statement of this server process, which would otherwise run to the end before noticing the closed
   * connection.
   */
  interrupt: (processId: number) => void
  /** Wraps every query, so that a virtual clock does not advance meanwhile. */
  during: <T>(work: Promise<T>) => Promise<T>
}): ConnectionLeases {
  const { config, names, isShared, interrupt, during } = given
  const isOwn = given.pool === undefined
  const pool = given.pool ?? new pg.Pool(config)
  /** The open connections of an own pool, or the leased connections of the user's pool. */
  const alive = new Set<pg.PoolClient>()
  if (isOwn) {
    pool.on('error', () => {})
    pool.on('connect', client => void alive.add(client))
    pool.on('remove', client => void alive.delete(client))
  }
  // The other half stays free for statements of the engine: a handler in a transaction may wait for such a statement.
  const turns = new Semaphore(isOwn ? Number.POSITIVE_INFINITY : Math.max(Math.floor((pool.options.max ?? 10) / 2), 1))

  async function leaseConnection(): Promise<LeasedConnection> {
    const endTurn = (await turns.take(never))!
    const client = await during(pool.connect()).catch(error => {
      endTurn()
      throw error
    })
    if (!isOwn) alive.add(client)
    const release = (error?: boolean) => {
      if (!isOwn) alive.delete(client)
      client.release(error)
      endTurn()
    }
    let trouble: Error | undefined
    const onError = (error: Error) => {
      trouble ??= error
    }
    client.on('error', onError)
    const unheard = (deadlineMs: number, query: unknown) => () => {
      trouble ??= databaseTimeout(deadlineMs, query === 'commit')
      return trouble
    }
    let unanswered = 0
    const destroy = () => {
      const { processID } = client as { processID?: number | null }
      if (unanswered > 0 && processID) void isShared().then(shared => shared || interrupt(processID))
      client.off('error', onError)
      socketOf(client).destroy()
      release(true)
    }
    /** No caller waits for the clearing. */
    const clear = async () => {
      try {
        if (!(await isShared()))
          await withDeadline(client.query('discard all'), clearDeadline, () => databaseTimeout(clearDeadline, false))
        client.off('error', onError)
        release()
      } catch {
        destroy()
      }
    }
    let isBack = false
    return {
      isOfUser: !isOwn,
      get trouble() {
        return trouble
      },
      async query(query, deadlineMs) {
        if (isBack) throw new Error('this connection was released')
        const asked =
          typeof query === 'string' ? query : { ...query, text: names.textOfUser(query.text), queryMode: 'extended' }
        unanswered++
        const answer = during(client.query(asked as unknown as pg.QueryConfig))
        try {
          const got = await (deadlineMs === undefined
            ? answer
            : withDeadline(answer, deadlineMs, unheard(deadlineMs, query)))
          return got as unknown as QueryResult
        } catch (error) {
          if (endsSession(error) || socketOf(client).destroyed) trouble ??= error as Error
          throw error
        } finally {
          unanswered--
        }
      },
      release(how) {
        if (isBack) return
        isBack = true
        if (how === 'ended' && trouble === undefined) void clear()
        else destroy()
      },
    }
  }

  return {
    lease: leaseConnection,
    close: async () => {
      if (isOwn) await endPool(pool, alive)
    },
    hangUp() {
      for (const client of alive) socketOf(client).destroy()
    },
  }
}

/**
 * True if the error ends the session. Every other error of a handler's statement leaves the connection usable: errors and
 * timeouts of PostgreSQL, and values the driver cannot encode.
 */
const endsSession = (error: unknown): boolean => /^(08|57P|25006|25P03)/.test(sqlState(error) ?? '')
