/**
 * A primary with a synchronous replica, both of the embedded PostgreSQL's own programs, and an address on loopback that leads to
 * one of them at a time, as a proxy or a floating address does. The replica begins as a copy of data that no server runs on yet:
 * the programs we have do not include pg_basebackup.
 */
import { type ChildProcess, execFileSync } from 'node:child_process'
import { appendFileSync, closeSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { chown, mkdtemp, realpath } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { port, socketUrl } from '../../src/embedded-postgres/connect-probe.ts'
import { type DataDir, settle } from '../../src/embedded-postgres/data-dir.ts'
import { findBinaries, program } from '../../src/embedded-postgres/find-binaries.ts'
import { makeData } from '../../src/embedded-postgres/init-data-dir.ts'
import { thisPlatform } from '../../src/embedded-postgres/platform/platform.ts'
import { begin } from '../../src/embedded-postgres/platform/run-as-user.ts'
import { startServerCleanup } from '../../src/testing/test-server-cleanup.ts'
import { until } from './engine.ts'

export interface Server {
  /** `database`: unless it is ours. */
  sql<Row = Record<string, unknown>>(text: string, database?: string): Promise<Row[]>
  /** SIGKILL to the server and every process of it, at once. */
  kill(): Promise<void>
}

const common = {
  listen_addresses: '',
  port: String(port),
  unix_socket_permissions: '0700',
  wal_level: 'replica',
  hot_standby: 'on',
  synchronous_commit: 'on',
  wal_receiver_status_interval: '1s',
  // It is processes that die here, not the machine.
  fsync: 'off',
  full_page_writes: 'off',
  search_path: 'public',
}

export async function replicatedServer() {
  const platform = thisPlatform()
  const found = await findBinaries(platform)
  const cleanup = startServerCleanup()
  onTestFinished(() => cleanup.end())

  async function homeFor(name: string): Promise<DataDir> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), `retoma-${name}-`)))
    cleanup.watch(folder)
    const dataDir = await settle(folder, found, platform)
    for (const outside of [dataDir.folder, dataDir.socket]) if (!outside.startsWith(folder)) cleanup.watch(outside)
    mkdirSync(dataDir.socket, { recursive: true, mode: 0o700 })
    if (dataDir.runner.as === 'user') await chown(dataDir.socket, dataDir.runner.uid, dataDir.runner.gid)
    return dataDir
  }

  async function launch(dataDir: DataDir, settings: Record<string, string>): Promise<Server> {
    const all = { ...common, unix_socket_directories: dataDir.socket, ...settings }
    const log = openSync(dataDir.log, 'a', 0o600)
    const args = ['-D', dataDir.data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
    const child = begin(dataDir.runner, program(dataDir.binaries, 'postgres'), args, {
      stdio: ['ignore', log, log],
      detached: true,
      needs: [dataDir.data, dataDir.socket],
    })
    closeSync(log)
    const sql = async <Row>(text: string, database = 'retoma') => {
      const connectionString = socketUrl(dataDir.socket).replace('/retoma?', `/${database}?`)
      const client = new pg.Client({ connectionString })
      client.on('error', () => {})
      await client.connect()
      try {
        return (await client.query(text)).rows as Row[]
      } finally {
        await client.end().catch(() => {})
      }
    }
    await answers(child, () => sql('select 1', 'postgres'), dataDir)
    return { sql, kill: () => killAll(child, dataDir) }
  }

  const [first, second] = [await homeFor('primary'), await homeFor('replica')]
  await makeData(first, { sync: false })
  appendFileSync(join(first.data, 'pg_hba.conf'), 'local replication all trust\n')
  execFileSync('cp', ['-a', first.data, second.data])
  writeFileSync(join(second.data, 'standby.signal'), '')
  if (second.runner.as === 'user')
    await chown(join(second.data, 'standby.signal'), second.runner.uid, second.runner.gid)
  const primary = await launch(first, { synchronous_standby_names: 'replica' })
  let leadsTo = first.socket
  let streams: string | undefined = first.socket
  const link = await proxy(() => streams)
  const conninfo = `host=127.0.0.1 port=${link.port} sslmode=disable user=retoma application_name=replica`
  const replica = await launch(second, { primary_conninfo: conninfo })
  await until(async () => {
    const rows = await primary.sql<{ sync_state: string }>('select sync_state from pg_stat_replication', 'postgres')
    return rows[0]?.sync_state === 'sync'
  })

  await primary.sql('create database retoma', 'postgres')

  const door = await proxy(() => leadsTo)
  const url = `postgresql://retoma@127.0.0.1:${door.port}/retoma?sslmode=disable`
  return {
    url,
    primary,
    replica,
    /** From here on nothing that the primary writes reaches the replica, what is on its way neither. */
    cutReplication() {
      streams = undefined
      link.cut()
    },
    /** Ends recovery on the replica, and leads the address to it. */
    async failOver() {
      await replica.sql('select pg_promote()')
      leadsTo = second.socket
      door.cut()
    },
  }
}

/** An address on loopback that leads to the server whose socket is in that folder; to none, and it hangs up. */
async function proxy(target: () => string | undefined): Promise<{ port: number; cut(): void }> {
  const sockets = new Set<Socket>()
  const server = createServer(inside => {
    const folder = target()
    if (folder === undefined) {
      inside.destroy()
      return
    }
    const outside = connect(`${folder}/.s.PGSQL.${port}`)
    for (const [socket, other] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  onTestFinished(() => {
    cut()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, cut }
}

/** Resolves once it is answered; a server that has ended is an error, with its log. */
const answers = (child: ChildProcess, ask: () => Promise<unknown>, { log }: DataDir): Promise<void> =>
  until(() => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(readFileSync(log, 'utf8'))
    return ask().then(
      () => true,
      () => false,
    )
  })

async function killAll(child: ChildProcess, dataDir: DataDir): Promise<void> {
  const ended = new Promise(resolve => child.once('exit', resolve))
  const postmaster = Number.parseInt(readFileSync(join(dataDir.data, 'postmaster.pid'), 'utf8'), 10)
  const children = readdirSync('/proc').filter(pid => {
    try {
      return (
        /^\d+$/.test(pid) && Number(/\) \S+ (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]) === postmaster
      )
    } catch {
      return false
    }
  })
  for (const pid of [postmaster, ...children.map(Number)])
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended since it was seen.
    }
  await ended
}
