/**
 * The embedded PostgreSQL: a real server below a data folder, shared by every Retoma process that uses that folder.
 * Opened by the command line and by the engine when there is no DATABASE_URL.
 *
 * A server outlives the process that started it: killed, it is found again by the next one. The last to leave stops it.
 */
import { type Clock, systemClock } from '../lib/clock.ts'
import { type Log, silentLog } from '../lib/log.ts'
import { findBinaries } from './find.ts'
import { settle, unsettle } from './home.ts'
import { isMade, makeData } from './init.ts'
import { Keeper, keeperName } from './keeper.ts'
import { socketUrl } from './knock.ts'
import { type Machine, thisMachine } from './machine.ts'
import { attachOrStart } from './start.ts'
import { folderTrouble } from './trouble.ts'

export { hasData } from './home.ts'

export interface EmbeddedPostgres {
  /** For pg: database `retoma`, user `retoma`, over a unix socket. */
  readonly url: string
  /** Where the data is. */
  readonly folder: string
  /** True: we started it; false: it was running. */
  readonly started: boolean
  /** Makes sure a server runs, after somebody killed it; several processes may ask at once. */
  revive(): Promise<void>
  /** For `up`: undefined when the folder is ours from now on, or the address of the one that has it. */
  reserve(address: string): Promise<string | undefined>
  /** The address of the `up` that has the folder, asked without a claim to it. */
  reservedBy(): Promise<string | undefined>
  /** I no longer need it. The last one out stops the server and waits until it is gone. */
  leave(): Promise<void>
}

export interface EmbeddedOptions {
  dataDir: string
  /** False only for data nobody will miss: faster, and lost with the power. */
  fsync?: boolean
  log?: Log
  clock?: Clock
  /** @internal Another computer than this one, for tests. */
  machine?: Partial<Machine>
}

export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { fsync = true, log = silentLog, clock = systemClock } = options
  const machine = { ...thisMachine(), ...options.machine }
  const home = await settle(options.dataDir, await findBinaries(machine), machine)
  try {
    if (!(await isMade(home))) await makeData(home, { sync: fsync })
  } catch (error) {
    await unsettle(home)
    throw folderTrouble(home.folder, error)
  }
  const { client, started } = await attachOrStart(home, { name: keeperName(), fsync, clock })
  const keeper = new Keeper(home, client, { fsync, clock, log })
  return {
    url: socketUrl(home.socket),
    folder: home.folder,
    started,
    revive: () => keeper.revive(),
    reserve: address => keeper.reserve(address),
    reservedBy: () => keeper.reservedBy(),
    leave: () => keeper.leave(),
  }
}
