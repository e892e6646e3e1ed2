/**
 * The door to PostgreSQL: a pool, named static statements, a deadline on every query. All of store/ goes through it.
 *
 * Invariant: a query either answers within its deadline or its connection is destroyed, so no caller waits for ever on
 * a dead link and no half-answered connection goes back to the pool.
 */
import pg from 'pg'
import { RetomaError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import { withDeadline } from '../lib/deadline.ts'
import type { Log } from '../lib/log.ts'
import { cutsConnection, told } from './trouble.ts'

export interface Statement {
  readonly name: string
  readonly text: string
}

/** What runs SQL: one connection of ours, in a transaction or not. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** What listening needs of a connection. No type of the driver's shows, so that users need not have its types. */
export interface Connection extends Queryable {
  once(event: 'end', heard: () => void): unknown
  on(event: 'notification', heard: (message: { payload?: string | undefined }) => void): unknown
  end(): Promise<void>
  /** Without saying goodbye. */
  destroy(): void
}

export type Run = <Row>(statement: Statement, values: unknown[]) => Promise<Row[]>

export interface Db {
  run<Row>(statement: Statement, values: unknown[], deadlineMs?: number): Promise<Row[]>
  /** For migrations: several statements on one connection, committed together, rolled back when `work` throws. */
  transaction<T>(work: (client: Queryable) => Promise<T>, deadlineMs?: number): Promise<T>
  /** A connection of its own, for LISTEN; the caller ends it. */
  connect(): Promise<Connection>
  close(): Promise<void>
}

const defaultDeadline = 30_000
const connectDeadline = 10_000
const closeDeadline = 2000

// Ends what a stopped or cut-off process would otherwise hold for hours: locks that recovery needs. And one plan for each
// statement, made without looking at its values: ours go by index whatever the tables hold, and a plan made for 500 ids
// in a table of some ten thousand rows reads all of it instead (docs/adr/0005-plans.md).
const sessionSettings = `
  set idle_in_transaction_session_timeout = '10s';
  set lock_timeout = '10s';
  set plan_cache_mode = force_generic_plan`

/** `directUrl` is for LISTEN, where `url` is a pooler that hands every transaction another session. */
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
  }
  const pool = new pg.Pool(config)
  pool.on('error', error => options.log.warn({ err: error }, 'a database connection was lost'))
  const open = new Set<pg.PoolClient>()
  pool.on('remove', client => void open.delete(client))
  pool.on('connect', client => {
    open.add(client)
    // For its whole life: between the pool's own ear and the borrower's there are moments when nobody listens, and an
    // 'error' that nobody hears ends the process.
    client.on('error', () => {})
    client.query(sessionSettings).catch(() => {})
  })

  /** A connection from the pool, within the deadline; one that comes too late goes back by itself. */
  async function borrow(deadlineMs: number): Promise<pg.PoolClient> {
    let late = false
    const coming = pool.connect().then(client => {
      if (late) client.release()
      return client
    })
    return withDeadline(coming, deadlineMs, () => {
      late = true
      return new RetomaError('database_timeout', { seconds: deadlineMs / 1000 })
    }).catch(error => {
      throw told(error, options.url)
    })
  }

  async function onConnection<T>(deadlineMs: number, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await borrow(deadlineMs)
    let broken: Error | undefined
    // Between a server's stop and the query's own error the client emits 'error'; unheard it would end the process.
    const heard = (error: Error) => {
      broken = error
    }
    client.on('error', heard)
    try {
      return await withDeadline(work(client), deadlineMs, () => {
        broken = new RetomaError('database_timeout', { seconds: deadlineMs / 1000 })
        return broken
      })
    } catch (error) {
      if (cutsConnection(error)) broken ??= error as Error
      throw told(error, options.url)
    } finally {
      client.off('error', heard)
      client.release(broken)
    }
  }

  return {
    run: <Row>({ name, text }: Statement, values: unknown[], deadlineMs = defaultDeadline) =>
      during(
        onConnection(deadlineMs, async client => {
          const { rows } = await client.query({ name, text, values })
          return rows as Row[]
        }),
      ),
    transaction: <T>(work: (client: Queryable) => Promise<T>, deadlineMs = defaultDeadline) =>
      onConnection(deadlineMs, async client => {
        await client.query('begin')
        try {
          const value = await work(client)
          await client.query('commit')
          return value
        } catch (error) {
          await client.query('rollback').catch(() => {})
          throw error
        }
      }),
    async connect() {
      const client = new pg.Client({ ...config, connectionString: options.directUrl ?? options.url })
      client.on('error', () => {})
      try {
        await client.connect()
      } catch (error) {
        throw told(error, options.url)
      }
      return Object.assign(client, { destroy: () => cut(client) })
    },
    // The pool waits for every statement that is on its way; one that is not answered would hold a process for its whole
    // deadline.
    close: () =>
      withDeadline(pool.end(), closeDeadline, () => new Error('too late')).catch(() => {
        for (const client of open) cut(client)
      }),
  }
}

/** Without saying goodbye. */
function cut(client: pg.ClientBase): void {
  const { connection } = client as unknown as { connection: { stream: { destroy(): void } } }
  connection.stream.destroy()
}
