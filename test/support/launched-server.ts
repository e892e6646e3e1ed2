/** Servers of the embedded PostgreSQL's own programs with settings that src/embedded-postgres does not allow: replication, TLS. */
import type { ChildProcess } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { chown, mkdtemp, realpath, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type DataDir, settle } from '../../src/embedded-postgres/data-dir.ts'
import { findBinaries, program } from '../../src/embedded-postgres/find-binaries.ts'
import { thisPlatform } from '../../src/embedded-postgres/platform/platform.ts'
import { begin } from '../../src/embedded-postgres/platform/run-as-user.ts'
import type { ServerCleanup } from '../../src/testing/test-server-cleanup.ts'
import { until } from './engine.ts'

export interface LaunchedServer {
  readonly child: ChildProcess
  /** Runs a statement through the socket of the server. */
  sql<Row = Record<string, unknown>>(text: string, database: string): Promise<Row[]>
}

/** A folder for a server, without data yet. The cleanup removes the folder. */
export async function newDataDir(name: string, cleanup: ServerCleanup): Promise<DataDir> {
  const platform = thisPlatform()
  const folder = await realpath(await mkdtemp(join(tmpdir(), `retoma-${name}-`)))
  cleanup.watch(folder)
  const dataDir = await settle(folder, await findBinaries(platform), platform)
  for (const outside of [dataDir.folder, dataDir.socket]) if (!outside.startsWith(folder)) cleanup.watch(outside)
  mkdirSync(dataDir.socket, { recursive: true, mode: 0o700 })
  await ownedByServer(dataDir, dataDir.socket)
  return dataDir
}

/** Writes a file that only the user of the server may read. */
export async function writeForServer(dataDir: DataDir, name: string, text: string): Promise<void> {
  const path = join(dataDir.data, name)
  await writeFile(path, text, { mode: 0o600 })
  await ownedByServer(dataDir, path)
}

async function ownedByServer({ runner }: DataDir, path: string): Promise<void> {
  if (runner.as === 'user') await chown(path, runner.uid, runner.gid)
}

/** Resolves when the server responds. A server that ends first is an error with the log of the server. */
export async function launchServer(
  dataDir: DataDir,
  settings: Readonly<Record<string, string>> & { port: string },
): Promise<LaunchedServer> {
  const all = {
    listen_addresses: '',
    unix_socket_permissions: '0700',
    unix_socket_directories: dataDir.socket,
    search_path: 'public',
    // Processes die in these tests, not the machine.
    fsync: 'off',
    full_page_writes: 'off',
    ...settings,
  }
  const log = openSync(dataDir.log, 'a', 0o600)
  const args = ['-D', dataDir.data, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  const child = begin(dataDir.runner, program(dataDir.binaries, 'postgres'), args, {
    stdio: ['ignore', log, log],
    detached: true,
    needs: [dataDir.data, dataDir.socket],
  })
  closeSync(log)
  const sql = async <Row>(text: string, database: string) => {
    const client = new pg.Client({
      host: dataDir.socket,
      port: Number(settings.port),
      user: 'retoma',
      database,
      ssl: false,
    })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(text)).rows as Row[]
    } finally {
      await client.end().catch(() => {})
    }
  }
  await until(() => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(readFileSync(dataDir.log, 'utf8'))
    return sql('select 1', 'postgres').then(
      () => true,
      () => false,
    )
  })
  return { child, sql }
}
