/**
 * Leases connections to handlers, each for a single transaction. They come from a pool of their own: in the engine's pool
 * slow handlers would delay heartbeats and outcomes.
 *
 * Invariant: the next handler sees no session state of the previous handler. A returned connection is cleared first; a
 * connection in an unknown state is destroyed, which rolls back every open transaction.
 */
import pg from 'pg'
import { databaseTimeout } from '../errors/database-unreachable.ts'
import { withDeadline } from '../lib/with-deadline.ts'
import { endPool } from './end-pool.ts'
import type { ConnectionLeases, LeasedConnection, QueryResult } from './leased-connection.ts'
import { sqlState } from './pg-errors.ts'
import { socketOf } from './socket.ts'

const clearDeadline = 5000

export function createConnectionLeases(given: {
  config: pg.PoolConfig
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
  const { config, isShared, interrupt, during } = given
  const pool = new pg.Pool(config)
  pool.on('error', () => {})
  const alive = new Set<pg.PoolClient>()
  pool.on('connect', client => void alive.add(client))
  pool.on('remove', client => void alive.delete(client))

  async function lend(): Promise<LeasedConnection> {
    const client = await during(pool.connect())
    let trouble: Error | undefined
    const heard = (error: Error) => {
      trouble ??= error
    }
    client.on('error', heard)
    const unheard = (deadlineMs: number, query: unknown) => () => {
      trouble ??= databaseTimeout(deadlineMs, query === 'commit')
      return trouble
    }
    let unanswered = 0
    const destroy = () => {
      const { processID } = client as { processID?: number | null }
      if (unanswered > 0 && processID) void isShared().then(shared => shared || interrupt(processID))
      client.off('error', heard)
      socketOf(client).destroy()
      client.release(true)
    }
    /** No caller waits for the clearing. */
    const clear = async () => {
      try {
        if (!(await isShared()))
          await withDeadline(client.query('discard all'), clearDeadline, () => databaseTimeout(clearDeadline, false))
        client.off('error', heard)
        client.release()
      } catch {
        destroy()
      }
    }
    let isBack = false
    return {
      get trouble() {
        return trouble
      },
      async query(query, deadlineMs) {
        if (isBack) throw new Error('this connection was given back')
        const asked = typeof query === 'string' ? query : { ...query, queryMode: 'extended' }
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
    lease: lend,
    close: () => endPool(pool, alive),
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
