/**
 * A private folder for a measurement: PostgreSQL servers, databases, other programs.
 *
 * Invariant: no server, program or file outlives this process. A cleanup process ends the servers and removes the
 * folder even if this process is killed; every child process ends with the parent; leash.mjs ends outside programs.
 */
import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { openEmbedded } from '../../dist/embedded-postgres/index.js'
import { startServerCleanup } from '../../dist/testing/test-server-cleanup.js'

export function openRoom() {
  // Short: a unix socket's path has 104 characters at most.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'rtm-')))
  chmodSync(folder, 0o711)
  const warden = startServerCleanup()
  warden.watch(folder)
  const endings = []
  let names = 0

  const room = {
    folder,
    /** Called in reverse order when the room is closed. */
    atEnd: end => void endings.push(end),
    /** A server with the default settings (fsync and synchronous_commit on), and with `settings`. */
    async server(settings = {}) {
      const dataDir = join(folder, `d${++names}`)
      if (Object.keys(settings).length > 0) await configure(dataDir, settings)
      const embedded = await openEmbedded({ dataDir })
      room.atEnd(() => embedded.leave())
      return { url: embedded.url, dataDir, database: () => database(room, embedded.url, `bench_${++names}`) }
    },
    async close() {
      for (const end of endings.splice(0).reverse()) await end()
      await warden.end()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  return room
}

/** Creates a database. Returns the url and functions to query and to drop the database. */
async function database(room, serverUrl, name) {
  await once(serverUrl, `create database ${name}`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  const pool = new pg.Pool({ connectionString: url.href, max: 3, application_name: 'bench' })
  pool.on('error', () => {})
  const close = () => (pool.ending ? undefined : pool.end())
  room.atEnd(close)
  return {
    url: url.href,
    sql: async (text, values = []) => (await pool.query(text, values)).rows,
    /** A separate connection, for a long transaction. */
    async session() {
      const client = new pg.Client({ connectionString: url.href })
      client.on('error', () => {})
      await client.connect()
      room.atEnd(() => client.end())
      return client
    },
    async drop() {
      await close()
      await once(serverUrl, `drop database ${name} with (force)`)
    },
  }
}

export async function once(url, text) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(text).finally(() => client.end())
  return rows
}

/** Some settings only count from the server's next start. */
async function configure(dataDir, settings) {
  const embedded = await openEmbedded({ dataDir })
  for (const [name, value] of Object.entries(settings)) await once(embedded.url, `alter system set ${name} = ${value}`)
  await embedded.leave()
}
