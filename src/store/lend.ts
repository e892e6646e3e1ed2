/**
 * Connections lent to handlers, each for one transaction. They are not of the pool of the engine's own statements: handlers
 * that take their time would keep heartbeats and outcomes waiting.
 *
 * Invariant: what a handler did to a session is not there for the next one. A connection that goes back is cleared first, and
 * one that nobody can vouch for is destroyed, which rolls back whatever was open on it.
 */
import pg from 'pg'
import { databaseTimeout } from '../core/in-doubt.ts'
import { withDeadline } from '../lib/deadline.ts'
import { endPool } from './goodbye.ts'
import type { Answer, Loan, Loans } from './loan.ts'
import { socketOf } from './socket.ts'
import { sqlState } from './trouble.ts'

const clearDeadline = 5000

export function createLoans(given: {
  config: pg.PoolConfig
  /** A pooler gives each transaction another session, so that none is ours to clear. */
  isShared: () => Promise<boolean>
  /** Ends what that process of the server is busy with; it would not notice before the end that nobody listens. */
  interrupt: (processId: number) => void
  /** Told of every question, so that a clock which a test moves stands still meanwhile. */
  during: <T>(work: Promise<T>) => Promise<T>
}): Loans {
  const { config, isShared, interrupt, during } = given
  const pool = new pg.Pool(config)
  pool.on('error', () => {})
  const alive = new Set<pg.PoolClient>()
  pool.on('connect', client => void alive.add(client))
  pool.on('remove', client => void alive.delete(client))

  async function lend(): Promise<Loan> {
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
    /** Nobody waits for it. */
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
          return got as unknown as Answer
        } catch (error) {
          if (endsSession(error) || socketOf(client).destroyed) trouble ??= error as Error
          throw error
        } finally {
          unanswered--
        }
      },
      giveBack(how) {
        if (isBack) return
        isBack = true
        if (how === 'ended' && trouble === undefined) void clear()
        else destroy()
      },
    }
  }

  return {
    lend,
    close: () => endPool(pool, alive),
    hangUp() {
      for (const client of alive) socketOf(client).destroy()
    },
  }
}

/**
 * Whatever else a handler's statement fails of is its own fault and leaves the link as it is: what PostgreSQL cannot do or does
 * not do in time, and what the driver makes nothing of.
 */
const endsSession = (error: unknown): boolean => /^(08|57P|25006|25P03)/.test(sqlState(error) ?? '')
