/**
 * Keeps a server running for this process: an idle connection shows that the process uses the server (shared-use-lock.ts). As long as any
 * process has such a connection, no other process stops the server. If the connection is lost unexpectedly, the keeper restarts the
 * server. open creates the keeper.
 */
import type pg from 'pg'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { unrefSleep } from '../lib/unref-timer.ts'
import type { DataDir } from './data-dir.ts'
import { leaveServer } from './leave-server.ts'
import { closeConnection, keepsAlive, queryWithDeadline } from './server-connection.ts'
import { nameOf } from './shared-use-lock.ts'
import { attachOrStart } from './start-server.ts'
import { forgetAddress, readAddress, reservation, writeAddress } from './up-address.ts'

const longestPause = 5000

export const serverConnectionName = () => nameOf(process.pid)

export class ServerHandle {
  readonly #dataDir: DataDir
  readonly #options: { fsync: boolean; clock: Clock; log: Log }
  readonly #leaving = new AbortController()
  #client: pg.Client | undefined
  #address: string | undefined
  #reviving: Promise<void> | undefined
  #left: Promise<void> | undefined

  constructor(dataDir: DataDir, client: pg.Client, options: { fsync: boolean; clock: Clock; log: Log }) {
    this.#dataDir = dataDir
    this.#options = options
    this.#hold(client)
  }

  async revive(): Promise<void> {
    if (this.#leaving.signal.aborted) return
    const client = this.#client
    const alive =
      client !== undefined &&
      (await queryWithDeadline(client, 'select 1').then(
        () => true,
        () => false,
      ))
    if (alive) return
    this.#lost(client)
    await this.#attempt()
  }

  /**
   * Allows a single `up` per folder: a lock of this connection's session, so the lock is free as soon as the holder ends for any reason.
   * Returns the holder's address if another process has the lock.
   */
  async reserve(address: string): Promise<string | undefined> {
    const client = this.#client
    if (client === undefined) throw new Error('the embedded PostgreSQL is not running')
    const { ours } = await queryWithDeadline(client, 'select pg_try_advisory_lock($1) as ours', [reservation])
    if (!ours) return readAddress(this.#dataDir, this.#options.clock)
    this.#address = address
    await writeAddress(this.#dataDir, address)
    return undefined
  }

  /** The address of the `up` with the reservation, read without reserving. */
  async reservedBy(): Promise<string | undefined> {
    const client = this.#client
    if (client === undefined) throw new Error('the embedded PostgreSQL is not running')
    const { taken } = await queryWithDeadline(
      client,
      `select exists (
         select from pg_locks
         where locktype = 'advisory' and objsubid = 1 and granted
           and database = (select oid from pg_database where datname = current_database())
           and (classid::bigint << 32 | objid::bigint) = $1
       ) as taken`,
      [reservation],
    )
    return taken ? readAddress(this.#dataDir, this.#options.clock) : undefined
  }

  leave(): Promise<void> {
    this.#left ??= this.#leave()
    return this.#left
  }

  #hold(client: pg.Client): void {
    this.#client = client
    client.once('end', () => this.#lost(client))
    // An idle connection does not keep a finished program alive.
    keepsAlive(client, false)
  }

  #lost(client: pg.Client | undefined): void {
    if (client === undefined || this.#client !== client) return
    this.#client = undefined
    void closeConnection(client)
    if (!this.#leaving.signal.aborted) void this.#keepTrying()
  }

  /** A single attempt at a time, shared by all callers in this process. */
  #attempt(): Promise<void> {
    this.#reviving ??= this.#attach().finally(() => {
      this.#reviving = undefined
    })
    return this.#reviving
  }

  async #attach(): Promise<void> {
    const { fsync, clock } = this.#options
    if (this.#client || this.#leaving.signal.aborted) return
    const { client } = await attachOrStart(this.#dataDir, {
      name: serverConnectionName(),
      fsync,
      clock,
      signal: this.#leaving.signal,
    })
    this.#hold(client)
    // If another process reserved the folder meanwhile, the other process keeps it: two `up` processes on the same database do no harm.
    if (this.#address !== undefined) await this.reserve(this.#address).catch(() => {})
  }

  async #keepTrying(): Promise<void> {
    const { log } = this.#options
    const { signal } = this.#leaving
    for (let pause = 100; !this.#client && !signal.aborted; pause = Math.min(pause * 2, longestPause)) {
      try {
        await this.#attempt()
        if (this.#client)
          log.warn({ folder: this.#dataDir.folder }, 'the embedded PostgreSQL ended and was started again')
      } catch (error) {
        if (signal.aborted) return
        if (pause === 100) log.error({ err: error }, 'the embedded PostgreSQL ended and does not start again yet')
        await unrefSleep(pause, signal)
      }
    }
  }

  async #leave(): Promise<void> {
    this.#leaving.abort()
    await this.#reviving?.catch(() => {})
    const client = this.#client
    this.#client = undefined
    if (client) keepsAlive(client, true)
    if (this.#address !== undefined) await forgetAddress(this.#dataDir)
    await leaveServer(this.#dataDir, client, this.#options)
  }
}
