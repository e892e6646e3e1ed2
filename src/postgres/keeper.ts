/**
 * This process's hold on a server: one idle connection whose name says "I use it". As long as any process has one, no
 * other stops the server; when it is lost unexpectedly the server is brought back. Made by open.
 *
 * Invariant: who leaves first takes his sign down and only then looks for others, so of two that leave at once at least
 * one sees that he is the last.
 */
import type pg from 'pg'
import type { Clock } from '../lib/clock.ts'
import { idle } from '../lib/idle.ts'
import type { Log } from '../lib/log.ts'
import type { Home } from './home.ts'
import { forgetAddress, readAddress, reservation, writeAddress } from './reservation.ts'
import { attachOrStart } from './start.ts'
import { stopServer } from './stop.ts'

const sign = 'retoma keeper'
const longestPause = 5000

export const keeperName = () => `${sign} ${process.pid}`

export class Keeper {
  readonly #home: Home
  readonly #options: { fsync: boolean; clock: Clock; log: Log }
  readonly #leaving = new AbortController()
  #client: pg.Client | undefined
  #address: string | undefined
  #reviving: Promise<void> | undefined
  #left: Promise<void> | undefined

  constructor(home: Home, client: pg.Client, options: { fsync: boolean; clock: Clock; log: Log }) {
    this.#home = home
    this.#options = options
    this.#hold(client)
  }

  async revive(): Promise<void> {
    if (this.#leaving.signal.aborted) return
    const client = this.#client
    const alive =
      client !== undefined &&
      (await client.query('select 1').then(
        () => true,
        () => false,
      ))
    if (alive) return
    this.#lost(client)
    await this.#attempt()
  }

  /**
   * Only one `up` per folder: a lock of this connection's session, so it is free again the moment its holder is gone,
   * however he went. Answers the holder's address when it is somebody else's.
   */
  async reserve(address: string): Promise<string | undefined> {
    const client = this.#client
    if (client === undefined) throw new Error('the embedded PostgreSQL is not running')
    // While it is asked something the connection is a reason to stay.
    handle(client).ref()
    const { rows } = await client.query('select pg_try_advisory_lock($1) as ours', [reservation])
    handle(client).unref()
    if (!rows[0].ours) return readAddress(this.#home)
    this.#address = address
    await writeAddress(this.#home, address)
    return undefined
  }

  leave(): Promise<void> {
    this.#left ??= this.#leave()
    return this.#left
  }

  #hold(client: pg.Client): void {
    this.#client = client
    client.once('end', () => this.#lost(client))
    // An idle hold is no reason for a finished program to stay.
    handle(client).unref()
  }

  #lost(client: pg.Client | undefined): void {
    if (client === undefined || this.#client !== client) return
    this.#client = undefined
    client.end().catch(() => {})
    if (!this.#leaving.signal.aborted) void this.#keepTrying()
  }

  /** One attempt at a time, shared by everybody in this process who asks. */
  #attempt(): Promise<void> {
    this.#reviving ??= this.#attach().finally(() => {
      this.#reviving = undefined
    })
    return this.#reviving
  }

  async #attach(): Promise<void> {
    const { fsync, clock } = this.#options
    if (this.#client || this.#leaving.signal.aborted) return
    const { client } = await attachOrStart(this.#home, {
      name: keeperName(),
      fsync,
      clock,
      signal: this.#leaving.signal,
    })
    this.#hold(client)
    // Whoever reserved the folder meanwhile keeps it: two that work on one database do no harm.
    if (this.#address !== undefined) await this.reserve(this.#address).catch(() => {})
  }

  async #keepTrying(): Promise<void> {
    const { log } = this.#options
    const { signal } = this.#leaving
    for (let pause = 100; !this.#client && !signal.aborted; pause = Math.min(pause * 2, longestPause)) {
      try {
        await this.#attempt()
        if (this.#client)
          log.warn({ folder: this.#home.folder }, 'the embedded PostgreSQL went away and was brought back')
      } catch (error) {
        if (signal.aborted) return
        if (pause === 100) log.error({ err: error }, 'the embedded PostgreSQL went away and cannot be brought back yet')
        await idle(pause, signal)
      }
    }
  }

  async #leave(): Promise<void> {
    this.#leaving.abort()
    await this.#reviving?.catch(() => {})
    const client = this.#client
    if (this.#address !== undefined) await forgetAddress(this.#home)
    if (!client) return
    this.#client = undefined
    handle(client).ref()
    const last = await isLast(client)
    await client.end().catch(() => {})
    if (last) await stopServer(this.#home, this.#options.clock)
  }
}

/** Missing in pg's types. */
function handle(client: pg.Client): { ref(): void; unref(): void } {
  return client as unknown as { ref(): void; unref(): void }
}

async function isLast(client: pg.Client): Promise<boolean> {
  try {
    await client.query(`set application_name = 'retoma leaving'`)
    const { rowCount } = await client.query(
      `select 1 from pg_stat_activity where application_name like $1 and pid <> pg_backend_pid() limit 1`,
      [`${sign} %`],
    )
    return rowCount === 0
  } catch {
    return false
  }
}
