/**
 * Connects to PostgreSQL: a pool, static statements, a deadline for every query. Every file with SQL uses this file.
 *
 * Invariant: a query answers within its deadline, the wait for a connection included, or its connection is destroyed. No caller waits for
 * ever on a dead connection, and no connection with an open answer goes back to the pool. Nothing stays in a session that a pooler gives to another client next: no
 * setting, no prepared statement, no LISTEN (docs/adr/0009-pooler.md).
 */
import pg from 'pg'
import { databaseTimeout } from '../errors/database-unreachable.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { withDeadline } from '../lib/with-deadline.ts'
import type { ConnectionConfig, ConnectionPool } from './connection-config.ts'
import { createConnectionLeases } from './connection-lease.ts'
import { type ConnectionTarget, targetOf, targetOfPool } from './connection-target.ts'
import { endPool } from './end-pool.ts'
import type { LeasedConnection } from './leased-connection.ts'
import { cutsConnection, ofOurStatement, sqlState, translatePgError } from './pg-errors.ts'
import { detectPooler, type PoolerMode, type Probed } from './pooler-detection.ts'
import { streamTexts } from './row-stream.ts'
import { type SchemaNames, schemaNames } from './schema-name.ts'
import { beginWithSettings, forSession } from './session-settings.ts'
import { socketOf } from './socket.ts'
import { ownTypes } from './value-parsers.ts'

export interface Statement {
  readonly name: string
  readonly text: string
}

/** Runs SQL on a connection of the engine, inside or outside of a transaction. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
  /** The schema of the engine. Default: retoma. */
  readonly schema?: string
}

/** The connection for LISTEN and for long transactions. No type of the driver is visible, so users do not need the driver's types. */
export interface Connection extends Queryable {
  once(event: 'end', listener: () => void): unknown
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown
  end(): Promise<void>
  /** Closes the socket without the closing message of the protocol. */
  destroy(): void
  /** Returns the column `text` of every row, in batches, in bounded memory. */
  stream(text: string): AsyncIterable<string[]>
}

export type Run = <Row>(statement: Statement, values: unknown[]) => Promise<Row[]>

/** Turns a transaction of the engine, which names the schema itself, into a `Run`. */
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
  /** Names the schema of the engine in statements that run on a connection of the caller. */
  readonly names: SchemaNames
  /** The target of connections past any pooler, for LISTEN and heartbeats. */
  readonly direct: ConnectionTarget
  /** Translates an error of a leased connection for the reader. `begun`: the commit was under way. */
  translate(error: unknown, begun: boolean): unknown
  close(): Promise<void>
}

const defaultDeadline = 30_000
const interrupt = { name: 'db_interrupt', text: 'select pg_cancel_backend($1)' }
const connectDeadline = 10_000
const closeDeadline = 2000
/** Connections lost within this time are one loss in the log. */
const sameLossMs = 10_000

type Client = pg.ClientBase & Probed

export interface DbOptions {
  /** A connection string; without the string, `connection` or `pool` is given. */
  url?: string | undefined
  connection?: ConnectionConfig | undefined
  /** A pool of the user, which the engine borrows connections from and never ends. */
  pool?: ConnectionPool | undefined
  /** For LISTEN, if the database is behind a pooler that gives every transaction another session. */
  directUrl?: string | undefined
  connections?: number
  /** The schema of the engine's tables. Default: retoma. */
  schema?: string | undefined
  /** Milliseconds within which a statement without a deadline of its own gets its answer. Default: 30,000. */
  deadlineMs?: number
  log: Log
  clock?: Clock
}

export function openDb(options: DbOptions): Db {
  const given = options.pool as (pg.Pool & { Client?: typeof pg.Client }) | undefined
  const target = given === undefined ? targetOf(options.connection ?? options.url!) : targetOfPool(given)
  const direct = options.directUrl === undefined ? target : targetOf(options.directUrl)
  const names = schemaNames(options.schema)
  const { deadlineMs: usualDeadline = defaultDeadline } = options
  const during = options.clock?.during?.bind(options.clock) ?? (<T>(work: Promise<T>) => work)
  const own = target.config as unknown as pg.PoolConfig
  const config: pg.PoolConfig = {
    ...own,
    max: options.connections ?? own.max ?? 10,
    connectionTimeoutMillis: connectDeadline,
    application_name: 'retoma',
    keepAlive: true,
    keepAliveInitialDelayMillis: 5000,
    allowExitOnIdle: true,
    pipeline: true,
    onConnect: client => greeted(client, greet),
  }
  const pool = given ?? new pg.Pool(config)
  let closing = false
  // PostgreSQL closes all connections at once when it stops: one line says so.
  const elapsed = () => (options.clock ?? systemClock).elapsed()
  let lostAt = Number.NEGATIVE_INFINITY
  const lost = (error: Error) => {
    const isNew = elapsed() - lostAt >= sameLossMs
    if (isNew) lostAt = elapsed()
    const level = closing || !isNew ? 'debug' : 'warn'
    options.log[level]({ problem: error.message }, 'a database connection was lost; the engine opens another one')
  }
  pool.on('error', lost)
  /** The open connections of the engine's own pool, or the borrowed connections of the user's pool. */
  const alive = new Set<pg.PoolClient>()
  if (given === undefined) {
    pool.on('connect', client => void alive.add(client))
    pool.on('remove', client => void alive.delete(client))
  }

  const leases = createConnectionLeases({
    config: { ...config, onConnect: client => greeted(client, meet) },
    pool: given,
    names,
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
  // The sessions of the user's pool serve the user next: the engine leaves nothing behind there, as behind a pooler.
  if (given !== undefined) link = Promise.resolve('transactions')

  async function meet(client: Client): Promise<PoolerMode> {
    // The listener stays for the life of the client: between the listeners of the pool and of the borrower there are moments without any,
    // and an 'error' event without a listener ends the process.
    client.on('error', () => {})
    link ??= detectPooler(client, () => open(target)).catch(error => {
      link = undefined
      throw error
    })
    return link
  }

  async function greet(client: Client): Promise<void> {
    if ((await meet(client)) === 'sessions') await client.query(forSession)
  }

  async function open({ config: own }: ConnectionTarget): Promise<pg.Client & Probed> {
    const Client = given?.Client ?? pg.Client
    const { connectionTimeoutMillis, application_name, keepAlive, keepAliveInitialDelayMillis } = config
    const ofEngine = { connectionTimeoutMillis, application_name, keepAlive, keepAliveInitialDelayMillis }
    const client = new Client({ ...own, ...ofEngine } as pg.ClientConfig) as pg.Client & Probed
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
      throw translate(error, false)
    })
  }

  const translate = (error: unknown, begun: boolean) => translatePgError(error, target, begun, names.schema)

  /** `isBegun`: the changes of `work` may be committed by now. */
  async function onConnection<T>(
    deadlineMs: number,
    work: (client: pg.PoolClient) => Promise<T>,
    isBegun = () => true,
  ): Promise<T> {
    const began = systemClock.elapsed()
    const client = await borrow(deadlineMs)
    const remainingMs = Math.max(1, deadlineMs - (systemClock.elapsed() - began))
    if (given !== undefined) alive.add(client)
    let broken: Error | undefined
    // Between a server stop and the error of the query the client emits 'error'. Without a listener this event would end the process.
    const onError = (error: Error) => {
      broken = error
    }
    client.on('error', onError)
    try {
      return await withDeadline(work(client), remainingMs, () => {
        broken = databaseTimeout(deadlineMs, isBegun())
        return broken
      })
    } catch (error) {
      if (cutsConnection(error)) broken ??= error as Error
      throw ofOurStatement(translate(error, isBegun()))
    } finally {
      client.off('error', onError)
      // The clients wait for open answers before closing; on a dead connection this wait never ends. So the socket is destroyed first.
      if (broken) hangUp(client)
      if (given !== undefined) returned(client)
      client.release(broken)
    }
  }

  /** Sends one statement in one commit. Behind a pooler the session settings go along, in the same round trip. */
  async function send<Row>(client: pg.PoolClient, statement: Statement, values: unknown[]): Promise<Row[]> {
    const { name, text } = names.statement(statement)
    if ((await link) === 'sessions') return (await client.query({ name, text, values, types: ownTypes })).rows as Row[]
    const answer = { text, values, types: ownTypes }
    if (given !== undefined) return (await alone(client, () => client.query(answer))).rows as Row[]
    const answers = [client.query(beginWithSettings), client.query(answer), client.query('commit')]
    await Promise.allSettled(answers)
    const [, answered] = await Promise.all(answers)
    return answered!.rows as Row[]
  }

  /** Runs `work` in a transaction of its own, one query after the other: a client of the user may not take several at once. */
  async function alone<T>(client: pg.PoolClient, work: () => Promise<T>): Promise<T> {
    await client.query(beginWithSettings)
    try {
      const value = await work()
      await client.query('commit')
      return value
    } catch (error) {
      await client.query('rollback').catch(() => {})
      throw error
    }
  }

  /** True if the error shows a pooler that the probe did not see. The statement has not started, so the caller may send it again. */
  function foundOut(error: unknown): boolean {
    if (!/^(26000|42P05)$/.test(sqlState(error) ?? '')) return false
    link = Promise.resolve('transactions')
    options.log.warn({ err: error }, 'a pooler shares sessions: the engine uses no prepared statements')
    return true
  }

  const db: Db = {
    async run<Row>(statement: Statement, values: unknown[], deadlineMs = usualDeadline) {
      const once = () => onConnection(deadlineMs, client => send<Row>(client, statement, values))
      return during(
        once().catch(error => {
          if (foundOut(error)) return once()
          throw error
        }),
      )
    },
    transaction: <T>(work: (client: Queryable) => Promise<T>, deadlineMs = usualDeadline) => {
      let isCommitting = false
      const whole = (client: pg.PoolClient) =>
        alone(client, async () => {
          const value = await work(queryableOf(client))
          isCommitting = true
          return value
        })
      return onConnection(deadlineMs, whole, () => isCommitting)
    },
    leaseConnection: () => leases.lease().catch(error => Promise.reject(translate(error, false))),
    names,
    direct,
    translate,
    connect: () => open(direct).then(asConnection, error => Promise.reject(translatePgError(error, direct, false))),
    async session() {
      let client: (pg.Client & Probed) | undefined
      try {
        client = await open(direct)
        const probed = detectPooler(client, () => open(direct))
        const found = await withDeadline(probed, connectDeadline, () => databaseTimeout(connectDeadline, false))
        if (found === 'sessions') return asConnection(client)
        await client.end()
        return undefined
      } catch (error) {
        if (client) hangUp(client)
        throw translatePgError(error, direct, false)
      }
    },
    // The pool waits for every statement under way. An unanswered statement would keep the process alive for the whole deadline.
    close() {
      closing = true
      if (given !== undefined) pool.off('error', lost)
      const ended = Promise.all([given === undefined ? endPool(pool, alive) : allReturned(), leases.close()])
      return withDeadline(ended, closeDeadline, () => new Error('too late')).then(
        () => {},
        () => {
          for (const client of alive) hangUp(client)
          leases.hangUp()
        },
      )
    },
  }

  /** Waiters for the return of the borrowed connections of the user's pool. */
  let waiting: (() => void)[] = []
  function returned(client: pg.PoolClient): void {
    alive.delete(client)
    if (alive.size > 0) return
    for (const each of waiting) each()
    waiting = []
  }
  async function allReturned(): Promise<void> {
    if (alive.size > 0) await new Promise<void>(resolve => void waiting.push(resolve))
  }

  function queryableOf(client: pg.ClientBase): Queryable {
    return {
      schema: names.schema,
      query: (text, values) =>
        client.query({ text: names.text(text), ...(values === undefined ? {} : { values }), types: ownTypes }),
    }
  }

  function asConnection(client: pg.Client): Connection {
    return {
      ...queryableOf(client),
      once: (event, listener) => client.once(event, listener),
      on: (event, listener) => client.on(event, listener),
      end: () => client.end(),
      destroy: () => hangUp(client),
      stream: text => streamTexts(client, names.text(text)),
    }
  }

  return db
}

/** Closes the socket without the closing message of the protocol. */
const hangUp = (client: pg.ClientBase): void => void socketOf(client).destroy()
