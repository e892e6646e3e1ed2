/**
 * Starts a temporary PostgreSQL for a test run: private, fast because the server never waits for the disk, and removed with the process
 * that started it, even after a kill. Called by the test database and by tests of applications.
 */
import { mkdtemp, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { socketUrl } from '../embedded-postgres/connect-probe.ts'
import { settle } from '../embedded-postgres/data-dir.ts'
import { findBinaries } from '../embedded-postgres/find-binaries.ts'
import { makeData } from '../embedded-postgres/init-data-dir.ts'
import { thisPlatform } from '../embedded-postgres/platform/platform.ts'
import { attachOrStart } from '../embedded-postgres/start-server.ts'
import { systemClock } from '../lib/clock.ts'
import { startServerCleanup } from './test-server-cleanup.ts'

/** The answer of `startTestServer`. */
export interface TestServer {
  /** Database `retoma`, user `retoma`, with the right to create databases and users. */
  url: string
  /** Resolves when the processes, the socket and the folder of the server are gone. */
  stop(): Promise<void>
}

/** Starts a temporary PostgreSQL server, which ends with the process. */
export async function startTestServer(): Promise<TestServer> {
  const platform = thisPlatform()
  const found = await findBinaries(platform)
  const cleanup = startServerCleanup()
  try {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'retoma-test-')))
    cleanup.watch(folder)
    const dataDir = await settle(folder, found, platform)
    for (const outside of [dataDir.folder, dataDir.socket]) if (!outside.startsWith(folder)) cleanup.watch(outside)
    await makeData(dataDir, { sync: false })
    const { client } = await attachOrStart(dataDir, { name: 'retoma test server', fsync: false, clock: systemClock })
    await client.end()
    return { url: socketUrl(dataDir.socket), stop: () => cleanup.end() }
  } catch (error) {
    await cleanup.end()
    throw error
  }
}
