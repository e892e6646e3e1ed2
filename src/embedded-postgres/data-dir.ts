/**
 * Chooses the folders and the user of a server: the data folder named by the user, with postgres (the data), socket and postgres.log.
 * Every open calls this, before init and start.
 */
import { constants } from 'node:fs'
import { access, open, readdir, realpath, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { localized, RetomaError } from '../errors/errors.ts'
import type { OwnFolder } from './data-dir-files.ts'
import { type Binaries, complete, copyBinaries } from './find-binaries.ts'
import { isBeingMade } from './init-temp-dir.ts'
import { makeFolder } from './make-folder.ts'
import { type Owner, ownerOf, shortHash } from './platform/file-owner.ts'
import { pathOwnershipOf } from './platform/path-ownership.ts'
import { type Platform, thisPlatform } from './platform/platform.ts'
import { chooseAsRoot, type ServerUserChoice, systemFolderOf } from './platform/run-as-root.ts'
import { asUser, type Runner, run, self } from './platform/run-as-user.ts'
import { folderError } from './server-errors.ts'

export interface DataDir {
  folder: string
  /** The owner of the path; no other user creates anything in the folder. */
  owner: Owner
  data: string
  socket: string
  log: string
  runner: Runner
  binaries: Binaries
  /** The folder created for the server, if none existed. */
  made: string | undefined
}

/** The data folder, as needed to open Retoma's own files. */
export const ownFolder = ({ folder, owner, runner }: DataDir): OwnFolder => ({
  path: folder,
  uid: runner.as === 'user' ? owner.uid : undefined,
})

/** A folder owned by the server's user, such as the folder of the data or of the socket. */
export const serverFolder = ({ runner }: DataDir, path: string): OwnFolder => ({
  path,
  uid: runner.as === 'user' ? runner.uid : undefined,
})

/** Creates a folder that only the server's user may enter: created by this user, or in a path of root's by root, and then handed over. */
export async function makeServerFolder({ folder, owner, runner }: DataDir, path: string): Promise<void> {
  if (runner.as === 'self') return void (await makeFolder(path, 0o700))
  // A folder outside the data folder is in a system folder, where every user can change only their own entries.
  if (owner.uid !== 0 && dirname(path) === folder) return must(runner, 'mkdir', ['-p', '-m', '700', path])
  await makeFolder(path, 0o700)
  const held = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    if ((await held.stat()).uid === 0) await held.chown(runner.uid, runner.gid)
  } finally {
    await held.close()
  }
}

/** Keeps the data of a project out of the repository. */
const gitIgnore = '.gitignore'

/** sockaddr_un has room for 104 bytes on macOS and 108 on Linux, including the closing zero. */
const longestSocket = 103

export async function settle(dataDir: string, found: Binaries, platform: Platform): Promise<DataDir> {
  const named = resolve(dataDir)
  try {
    return platform.uid === 0 ? await settleAsRoot(named, found, platform) : await settleAsSelf(named, found, platform)
  } catch (error) {
    throw folderError(named, error)
  }
}

async function settleAsSelf(named: string, found: Binaries, platform: Platform): Promise<DataDir> {
  const fresh = await makeFolder(named, 0o700)
  const folder = await realpath(named)
  const choice = await chooseAsSelf(folder, found, platform)
  // Only in a folder created here: an existing folder may hold files that the owner wants in git.
  if (fresh) await writeFile(join(folder, gitIgnore), '*\n', { flag: 'wx' })
  return { made: fresh && folder, ...layout(choice, platform) }
}

async function settleAsRoot(named: string, found: Binaries, platform: Platform): Promise<DataDir> {
  const ground = await pathOwnershipOf(named)
  const { path: folder, owner } = ground
  if (!ground.exists) {
    if (owner.uid === 0) {
      await makeFolder(folder, 0o700)
      await writeFile(join(folder, gitIgnore), '*\n', { flag: 'wx' })
    } else await must(asUser(owner), 'sh', ['-c', makeScript, 'sh', folder, gitIgnore])
  }
  const choice = await chooseAsRoot(ground, found, platform)
  const home = layout(choice, platform)
  const data = await realpath(home.data).catch(() => home.data)
  return { made: ground.exists ? undefined : folder, ...home, data }
}

const makeScript = `umask 077 && mkdir -p "$1" && printf '*\\n' > "$1/$2"`

/** In a path of another user, this user creates the files and folders. */
async function must(runner: Runner, file: string, args: string[]): Promise<void> {
  const { code, output } = await run(runner, file, args)
  if (code !== 0) throw Object.assign(new Error(output.trim()), { code: 'EACCES' })
}

/** True if a folder has data, or a process is creating the data right now. Creates nothing. */
export async function hasData(dataDir: string): Promise<boolean> {
  const platform = thisPlatform()
  const folder = await realpath(dataDir).catch(() => undefined)
  if (folder === undefined) return false
  const places = platform.uid === 0 ? [folder, systemFolderOf(folder, platform)] : [folder]
  for (const place of places) if ((await holdsData(place)) || (await isBeingMade(place))) return true
  return false
}

function holdsData(folder: string): Promise<boolean> {
  return access(join(folder, 'postgres')).then(
    () => true,
    () => false,
  )
}

/** Undoes a `settle` that created a folder, if the folder holds nothing but .gitignore. */
export async function unsettle(home: DataDir): Promise<void> {
  if (!home.made) return
  if ((await readdir(home.made).catch(() => [])).join() !== gitIgnore) return
  if (home.runner.as === 'user' && home.owner.uid !== 0) {
    const script = 'rm -f "$1/$2" && rmdir "$1"'
    await run(asUser(home.owner), 'sh', ['-c', script, 'sh', home.made, gitIgnore]).catch(() => {})
    return
  }
  await rm(join(home.made, gitIgnore), { force: true }).catch(() => {})
  await rmdir(home.made).catch(() => {})
}

async function chooseAsSelf(folder: string, found: Binaries, platform: Platform): Promise<ServerUserChoice> {
  const owner = await ownerOf(join(folder, 'postgres')).catch(() => ownerOf(folder))
  if (owner && owner.uid !== platform.uid)
    throw new RetomaError('data_unreadable', {
      folder,
      problem: localized(`it belongs to the user with uid ${owner.uid}`, `ela pertence ao usuário de uid ${owner.uid}`),
    })
  const binaries = (await complete(found)) ? found : await copyBinaries(found, folder)
  return { folder, owner: { uid: platform.uid, gid: platform.gid }, runner: self(platform), binaries }
}

function layout(choice: ServerUserChoice, platform: Platform): Omit<DataDir, 'made'> {
  const { folder } = choice
  const inside = join(folder, 'socket')
  const fits = Buffer.byteLength(join(inside, '.s.PGSQL.5432')) <= longestSocket
  const socket = fits ? inside : join(platform.shortFolder, `retoma-${shortHash(folder)}`)
  return { ...choice, data: join(folder, 'postgres'), socket, log: join(folder, 'postgres.log') }
}
