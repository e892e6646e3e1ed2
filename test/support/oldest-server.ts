/**
 * A throw-away server of the oldest PostgreSQL we promise, from the binaries in test/oldest. Initialised here, because
 * its initdb knows fewer options than the embedded one's; started like any other.
 */
import { chown, mkdir, mkdtemp, realpath, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/lib/clock.ts'
import { findBinaries, program } from '../../src/postgres/find.ts'
import { settle } from '../../src/postgres/home.ts'
import { socketUrl } from '../../src/postgres/knock.ts'
import { thisMachine } from '../../src/postgres/machine.ts'
import { run } from '../../src/postgres/privilege.ts'
import { attachOrStart } from '../../src/postgres/start.ts'
import type { TestServer } from '../../src/testing/index.ts'
import { startWarden } from '../../src/testing/warden.ts'

const packages = fileURLToPath(new URL('../oldest/node_modules/', import.meta.url))

export async function startOldestServer(): Promise<TestServer> {
  const machine = { ...thisMachine(), packageFolder: (name: string) => join(packages, name) }
  const warden = startWarden()
  try {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'retoma-test-')))
    warden.watch(folder)
    const home = await settle(folder, await findBinaries(machine), machine)
    for (const outside of [home.folder, home.socket]) if (!outside.startsWith(folder)) warden.watch(outside)
    await mkdir(home.data, { mode: 0o700 })
    if (home.runner.as === 'user') await chown(home.data, home.runner.uid, home.runner.gid)
    const options = ['-D', home.data, '-U', 'retoma', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
    const { code, output } = await run(home.runner, program(home.binaries, 'initdb'), options)
    if (code !== 0) throw new Error(output)
    await writeFile(join(home.data, 'postgresql.conf'), `timezone = 'UTC'\njit = off\nmax_connections = 100\n`)
    const { client } = await attachOrStart(home, { name: 'oldest', fsync: false, clock: systemClock })
    await client.end()
    return { url: socketUrl(home.socket), stop: () => warden.end() }
  } catch (error) {
    await warden.end()
    throw error
  }
}
