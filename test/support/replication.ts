/**
 * A primary with a synchronous replica, both of the embedded PostgreSQL's own programs, and an address on loopback that leads to
 * one of them at a time, as a proxy or a floating address does. The replica begins as a copy of data that no server runs on yet:
 * the programs we have do not include pg_basebackup.
 */
import { type ChildProcess, execFileSync } from 'node:child_process'
import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { port } from '../../src/embedded-postgres/connect-probe.ts'
import type { DataDir } from '../../src/embedded-postgres/data-dir.ts'
import { makeData } from '../../src/embedded-postgres/init-data-dir.ts'
import { startServerCleanup } from '../../src/testing/test-server-cleanup.ts'
import { until } from './engine.ts'
import { launchServer, newDataDir, writeForServer } from './launched-server.ts'

export interface Server {
  /** `database`: unless it is ours. */
  sql<Row = Record<string, unknown>>(text: string, database?: string): Promise<Row[]>
  /** SIGKILL to the server and every process of it, at once. */
  kill(): Promise<void>
}

const common = {
  port: String(port),
  wal_level: 'replica',
  hot_standby: 'on',
  synchronous_commit: 'on',
  wal_receiver_status_interval: '1s',
}

export async function replicatedServer() {
  const cleanup = startServerCleanup()
  onTestFinished(() => cleanup.end())

  async function launch(dataDir: DataDir, settings: Record<string, string>): Promise<Server> {
    const { child, sql } = await launchServer(dataDir, { ...common, ...settings })
    return { sql: (text, database = 'retoma') => sql(text, database), kill: () => killAll(child, dataDir) }
  }

  const [first, second] = [await newDataDir('primary', cleanup), await newDataDir('replica', cleanup)]
  await makeData(first, { sync: false })
  appendFileSync(join(first.data, 'pg_hba.conf'), 'local replication all trust\n')
  execFileSync('cp', ['-a', first.data, second.data])
  await writeForServer(second, 'standby.signal', '')
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
