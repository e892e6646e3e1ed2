/**
 * Connects to PostgreSQL: a pool, static statements, a deadline for every query. Every file with SQL uses this file.
 *
 * Invariant: a query answers within its deadline, or its connection is destroyed. No caller waits for ever on a dead connection, and no
 * connection with an open answer goes back to the pool. Nothing stays in a session that a pooler gives to another client next: no
 * setting, no prepared statement, no LISTEN (docs/adr/0009-pooler.md).
 */
import pg from 'pg'
import { databaseTimeout } from '../errors/database-unreachable.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { withDeadline } from '../lib/with-deadline.ts'
import { createConnectionLeases } from './connection-lease.ts'
import { endPool } from './end-pool.ts'
import type { LeasedConnection } from './leased-connection.ts'
import { cutsConnection, ofOurStatement, sqlState, translatePgError } from './pg-errors.ts'
import { detectPooler, type PoolerMode, type Probed } from './pooler-detection.ts'
import { streamTexts } from './row-stream.ts'
import { beginWithSettings, forSession } from './session-settings.ts'
import { socketOf } from './socket.ts'

export interface Statement {
  readonly name: string
  readonly text: string
}

/** Runs SQL on a connection of the engine, inside or outside of a transaction. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** The connection for LISTEN and for long transactions. No type of the driver is visible, so users do not need the driver's types. */
export interface Connection extends Queryable {
  once(event: 'end', heard: () => void): unknown
  on(event: 'notification', heard: (message: { payload?: string | undefined }) => void): unknown
  end(): Promise<void>
  /** Closes the socket without the closing message of the protocol. */
  destroy(): void
  /** Returns the column `text` of every row, in batches, in bounded memory. */
  stream(text: string): AsyncIterable<string[]>
}

export type Run = <Row>(statement: Statement, values: unknown[]) => Promise<Row[]>

/** Turns a transaction of the engine into a `Run`. */
export const runOn =
  (client: Queryable): Run =>
  async <Row>({ text }: Statement, values: unknown[]) =>
    (await client.query(text, values)).rows as Row[]

export interface Db {
  run<Row>(statement: Statement, values: unknown[], deadlineMs?: number): Promise<Row[]>
  /** For migrations: runs several statements on one connection and commits them together, or rolls back if `work` throws. */
  transaction<T>(work: (client: Queryable) => Promise<T>, deadlineMs?: number): Promise<T>
  /** Returns a leased connection for the transaction of a handler, from a separate pool. */
  leaseConnection(): Promise<LeasedConnection>
  /** Returns a new connection without the session settings of the engine, for long transactions. The caller ends the connection. */
  connect(): Promise<Connection>
  /** Returns a connection for state that outlives a transaction, such as LISTEN; undefined if a pooler shares every session. */
  session(): Promise<Connection | undefined>
  /** Translates an error of a leased connection for the reader. `begun`: the commit was under way. */
  told(error: unknown, begun: boolean): unknown
  close(): Promise<void>
}

const defaultDeadline = 30_000
const interrupt = { name: 'db_interrupt', text: 'select pg_cancel_backend($1)' }
const connectDeadline = 10_000
const closeDeadline = 2000
/** Connections lost within this time are one loss in the log. */
const sameLossMs = 10_000

type Client = pg.ClientBase & Probed

/** `directUrl` is for LISTEN, if `url` is a pooler that gives every transaction another session. */
export function openDb(options: {
  url: string
  directUrl?: string
  connections?: number
  log: Log
  clock?: Clock
}): Db {
  const during = options.clock?.during?.bind(options.clock) ?? (<T>(work: Promise<T>) => work)
  const config: pg.PoolConfig = {
    connectionString: options.url,
    max: options.connections ?? 10,
    connectionTimeoutMillis: connectDeadline,
    application_name: 'retoma',
    keepAlive: true,
    keepAliveInitialDelayMillis: 5000,
    allowExitOnIdle: true,
    pipeline: true,
    onConnect: client => greeted(client, greet),
  }
  const listenUrl = options.directUrl ?? options.url
  const pool = new pg.Pool(config)
  let closing = false
  // PostgreSQL closes all connections at once when it stops: one line says so.
  const elapsed = () => (options.clock ?? systemClock).elapsed()
  let lostAt = Number.NEGATIVE_INFINITY
  pool.on('error', error => {
    const isNew = elapsed() - lostAt >= sameLossMs
    if (isNew) lostAt = elapsed()
    const level = closing || !isNew ? 'debug' : 'warn'
    options.log[level]({ problem: error.message }, 'a database connection was lost; the engine opens another one')
  })
  const alive = new Set<pg.PoolClient>()
  pool.on('connect', client => void alive.add(client))
  pool.on('remove', client => void alive.delete(client))

  const leases = createConnectionLeases({
    config: { ...config, onConnect: client => greeted(client, meet) },
    isShared: async () => (await link) !== 'sessions',
    interrupt: processId => void db.run(interrupt, [processId]).catch(() => {}),
    during,
  })

  /** The driver waits for the returned promise, although its types do not say so. */
  function greeted(client: pg.ClientBase, greeting: (client: Client) => Promise<unknown>): Promise<unknown> {
    return withDeadline(greeting(client as Client), connectDeadline, () => {
      hangUp(client)
      return databaseTimeout(connectDeadline, false)
    })
  }

  /** The first connection finds out whether there is a pooler, while the others wait. If this fails, the next connection tries. */
  let link: Promise<PoolerMode> | undefined

  async function meet(client: Client): Promise<PoolerMode> {
    // The listener stays for the life of the client: between the listeners of the pool and of the borrower there are moments without any,
    // and an 'error' event without a listener ends the process.
    client.on('error', () => {})
    link ??= detectPooler(client, () => open(options.url)).catch(error => {
      link = undefined
      throw error
    })
    return link
  }

  async function greet(client: Client): Promise<void> {
    if ((await meet(client)) === 'sessions') await client.query(forSession)
  }

  async function open(url: string): Promise<pg.Client & Probed> {
    const client = new pg.Client({ ...config, pipeline: false, connectionString: url }) as pg.Client & Probed
    client.on('error', () => {})
    await client.connect()
    return client
  }

  /** Returns a connection of the pool within the deadline. A connection that comes too late goes back to the pool. */
  async function borrow(deadlineMs: number): Promise<pg.PoolClient> {
    let isLate = false
    const coming = pool.connect().then(client => {
      if (isLate) client.release()
      return client
    })
    return withDeadline(coming, deadlineMs, () => {
      isLate = true
      return databaseTimeout(deadlineMs, false)
    }).catch(error => {
      throw translatePgError(error, options.url, false)
    })
  }

  /** `isBegun`: the changes of `work` may be committed by now. */
  async function onConnection<T>(
    deadlineMs: number,
    work: (client: pg.PoolClient) => Promise<T>,
    isBegun = () => true,
  ): Promise<T> {
    const client = await borrow(deadlineMs)
    let broken: Error | undefined
    // Between a server stop and the error of the query the client emits 'error'. Without a listener this event would end the process.
    const heard = (error: Error) => {
      broken = error
    }
    client.on('error', heard)
    try {
      return await withDeadline(work(client), deadlineMs, () => {
        broken = databaseTimeout(deadlineMs, isBegun())
        return broken
      })
    } catch (error) {
      if (cutsConnection(error)) broken ??= error as Error
      throw ofOurStatement(translatePgError(error, options.url, isBegun()))
    } finally {
      client.off('error', heard)
      // The clients wait for open answers before closing; on a dead connection this wait never ends. So the socket is destroyed first.
      if (broken) hangUp(client)
      client.release(broken)
    }
  }

  /** Sends one statement in one commit. Behind a pooler the session settings go along, in the same round trip. */
  async function send<Row>(client: pg.PoolClient, { name, text }: Statement, values: unknown[]): Promise<Row[]> {
    if ((await link) === 'sessions') return (await client.query({ name, text, values })).rows as Row[]
    const answers = [client.query(beginWithSettings), client.query({ text, values }), client.query('commit')]
    await Promise.allSettled(answers)
    const [, answer] = await Promise.all(answers)
    return answer!.rows as Row[]
  }

  /** True if the error shows a pooler that the probe did not see. The statement has not started, so the caller may send it again. */
  function foundOut(error: unknown): boolean {
    if (!/^(26000|42P05)$/.test(sqlState(error) ?? '')) return false
    link = Promise.resolve('transactions')
    options.log.warn({ err: error }, 'there is a pooler that shares sessions: going on without prepared statements')
    return true
  }

  const db: Db = {
    async run<Row>(statement: Statement, values: unknown[], deadlineMs = defaultDeadline) {
      const once = () => onConnection(deadlineMs, client => send<Row>(client, statement, values))
      return during(
        once().catch(error => {
          if (foundOut(error)) return once()
          throw error
        }),
      )
    },
    transaction: <T>(work: (client: Queryable) => Promise<T>, deadlineMs = defaultDeadline) => {
      let isCommitting = false
      const whole = async (client: pg.PoolClient) => {
        await client.query(beginWithSettings)
        try {
          const value = await work(client)
          isCommitting = true
          await client.query('commit')
          return value
        } catch (error) {
          await client.query('rollback').catch(() => {})
          throw error
        }
      }
      return onConnection(deadlineMs, whole, () => isCommitting)
    },
    leaseConnection: () => leases.lease().catch(error => Promise.reject(translatePgError(error, options.url, false))),
    told: (error, begun) => translatePgError(error, options.url, begun),
    connect: () =>
      open(listenUrl).then(asConnection, error => Promise.reject(translatePgError(error, listenUrl, false))),
    async session() {
      let client: (pg.Client & Probed) | undefined
      try {
        client = await open(listenUrl)
        const probed = detectPooler(client, () => open(listenUrl))
        const found = await withDeadline(probed, connectDeadline, () => databaseTimeout(connectDeadline, false))
        if (found === 'sessions') return asConnection(client)
        await client.end()
        return undefined
      } catch (error) {
        if (client) hangUp(client)
        throw translatePgError(error, listenUrl, false)
      }
    },
    // The pool waits for every statement under way. An unanswered statement would keep the process alive for the whole deadline.
    close() {
      closing = true
      const ended = Promise.all([endPool(pool, alive), leases.close()])
      return withDeadline(ended, closeDeadline, () => new Error('too late')).then(
        () => {},
        () => {
          for (const client of alive) hangUp(client)
          leases.hangUp()
        },
      )
    },
  }
  return db
}

/** Closes the socket without the closing message of the protocol. */
const hangUp = (client: pg.ClientBase): void => void socketOf(client).destroy()

const asConnection = (client: pg.Client): Connection =>
  Object.assign(client, {
    destroy: () => hangUp(client),
    stream: (text: string) => streamTexts(client, text),
  })
