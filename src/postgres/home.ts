/**
 * Where a server lives and who runs it: the data folder the user named, with postgres (the data), socket and
 * postgres.log in it. Called by every open, before init and start.
 */
import { access, readdir, realpath, rm, rmdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { RetomaError, say } from '../errors.ts'
import { isBeingMade } from './draft.ts'
import { type Binaries, complete, copyBinaries } from './find.ts'
import { makeFolder } from './folder.ts'
import { type Machine, thisMachine } from './machine.ts'
import { ownerOf, shortHash } from './owner.ts'
import { type Runner, self } from './privilege.ts'
import { type Choice, chooseAsRoot, systemFolderOf } from './root.ts'
import { folderTrouble } from './trouble.ts'

export interface Home {
  folder: string
  data: string
  socket: string
  log: string
  runner: Runner
  binaries: Binaries
  /** The folder that was made for it, when there was none. */
  made: string | undefined
}

/** Keeps the data of a project out of its repository. */
const gitIgnore = '.gitignore'

/** sockaddr_un holds 104 bytes on macOS and 108 on Linux, the closing zero included. */
const longestSocket = 103

export async function settle(dataDir: string, found: Binaries, machine: Machine): Promise<Home> {
  const named = resolve(dataDir)
  try {
    const fresh = await makeFolder(named, 0o700)
    const folder = await realpath(named)
    const choose = machine.uid === 0 ? chooseAsRoot : chooseAsSelf
    const choice = await choose(folder, found, machine)
    // Only into a folder we made: one that was there may hold what its owner wants in git.
    if (fresh) await writeFile(join(folder, gitIgnore), '*\n')
    return { made: fresh && folder, ...layout(choice, machine) }
  } catch (error) {
    throw folderTrouble(named, error)
  }
}

/** Whether a folder has data, or somebody is making it at this moment. Asking makes nothing. */
export async function hasData(dataDir: string): Promise<boolean> {
  const machine = thisMachine()
  const folder = await realpath(dataDir).catch(() => undefined)
  if (folder === undefined) return false
  const places = machine.uid === 0 ? [folder, systemFolderOf(folder, machine)] : [folder]
  for (const place of places) if ((await holdsData(place)) || (await isBeingMade(place))) return true
  return false
}

function holdsData(folder: string): Promise<boolean> {
  return access(join(folder, 'postgres')).then(
    () => true,
    () => false,
  )
}

/** Undoes a `settle` that made a folder nothing more was put into. */
export async function unsettle(home: Home): Promise<void> {
  if (!home.made) return
  if ((await readdir(home.made).catch(() => [])).join() !== gitIgnore) return
  await rm(join(home.made, gitIgnore), { force: true }).catch(() => {})
  await rmdir(home.made).catch(() => {})
}

async function chooseAsSelf(folder: string, found: Binaries, machine: Machine): Promise<Choice> {
  const owner = await ownerOf(join(folder, 'postgres')).catch(() => ownerOf(folder))
  if (owner && owner.uid !== machine.uid)
    throw new RetomaError('data_unreadable', {
      folder,
      problem: say(`it belongs to the user with uid ${owner.uid}`, `ela pertence ao usuário de uid ${owner.uid}`),
    })
  const binaries = (await complete(found)) ? found : await copyBinaries(found, folder)
  return { folder, runner: self(machine), binaries }
}

function layout(choice: Choice, machine: Machine): Omit<Home, 'made'> {
  const { folder } = choice
  const inside = join(folder, 'socket')
  const fits = Buffer.byteLength(join(inside, '.s.PGSQL.5432')) <= longestSocket
  const socket = fits ? inside : join(machine.shortFolder, `retoma-${shortHash(folder)}`)
  return { ...choice, data: join(folder, 'postgres'), socket, log: join(folder, 'postgres.log') }
}
