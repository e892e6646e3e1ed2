/**
 * Opens the embedded PostgreSQL: a real server below a data folder, shared by every Retoma process with the same data folder. The command
 * line and the engine open a server if there is no DATABASE_URL.
 *
 * A server outlives the process that started it: if this process is killed, the next process finds the server. The last process to leave
 * stops the server.
 */
import { type Clock, systemClock } from '../lib/clock.ts'
import { type Log, silentLog } from '../lib/logging/log.ts'
import { socketUrl } from './connect-probe.ts'
import { settle, unsettle } from './data-dir.ts'
import { findBinaries } from './find-binaries.ts'
import { isMade, makeData } from './init-data-dir.ts'
import { type Platform, thisPlatform } from './platform/platform.ts'
import { folderError } from './server-errors.ts'
import { ServerHandle, serverConnectionName } from './server-handle.ts'
import { attachOrStart } from './start-server.ts'

export { hasData } from './data-dir.ts'

export interface EmbeddedPostgres {
  /** For pg: database `retoma`, user `retoma`, over a unix socket. */
  readonly url: string
  /** The folder of the data. */
  readonly folder: string
  /** True: this call started the server; false: the server was running. */
  readonly started: boolean
  /** Makes sure a server runs, after the server was killed; several processes may call this at once. */
  revive(): Promise<void>
  /** For `up`: undefined if the folder is now reserved for this process; otherwise the address of the `up` with the reservation. */
  reserve(address: string): Promise<string | undefined>
  /** The address of the `up` with the reservation, read without reserving. */
  reservedBy(): Promise<string | undefined>
  /** This process no longer needs the server. The last process to leave stops the server and waits for the end. */
  leave(): Promise<void>
}

export interface EmbeddedOptions {
  dataDir: string
  /** False only for data that may be lost in a power cut: faster. */
  fsync?: boolean
  log?: Log
  clock?: Clock
  /** @internal Another computer than this computer, for tests. */
  machine?: Partial<Platform>
}

export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { fsync = true, log = silentLog, clock = systemClock } = options
  const machine = { ...thisPlatform(), ...options.machine }
  const dataDir = await settle(options.dataDir, await findBinaries(machine), machine)
  try {
    if (!(await isMade(dataDir))) await makeData(dataDir, { sync: fsync })
  } catch (error) {
    await unsettle(dataDir)
    throw folderError(dataDir.folder, error)
  }
  const { client, started } = await attachOrStart(dataDir, { name: serverConnectionName(), fsync, clock })
  const handle = new ServerHandle(dataDir, client, { fsync, clock, log })
  return {
    url: socketUrl(dataDir.socket),
    folder: dataDir.folder,
    started,
    revive: () => handle.revive(),
    reserve: address => handle.reserve(address),
    reservedBy: () => handle.reservedBy(),
    leave: () => handle.leave(),
  }
}
