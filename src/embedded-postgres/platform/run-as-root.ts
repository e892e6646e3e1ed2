/**
 * Chooses the user and the folder of the server if Retoma runs as root. embedded-postgres/data-dir.ts calls this. The user is the owner of the path of the data
 * folder (path-ownership.ts); in a path of root's, an account without other files: `retoma` if it exists, otherwise nobody. If the account cannot
 * reach the folder and no view is possible, the server's folder is a system folder.
 *
 * Invariant: the server never runs as root, not even in a namespace, so an intruder in the server can read no file of root's. In a path
 * of another user root creates, changes and removes nothing. The mode of a folder with entries of others never changes.
 */
import { chmod, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { localized, RetomaError } from '../../errors/errors.ts'
import { type Binaries, complete, copyBinaries, program } from '../find-binaries.ts'
import { makeFolder } from '../make-folder.ts'
import { livePid } from '../pidfile.ts'
import { type Owner, ownerOf, shortHash } from './file-owner.ts'
import { type PathOwnership, pathOwnershipOf } from './path-ownership.ts'
import { type Platform, serverAccount } from './platform.ts'
import { asUser, asUserWithView, type Runner, reaches, run, self } from './run-as-user.ts'

export interface ServerUserChoice {
  folder: string
  /** The owner of the path. */
  owner: Owner
  runner: Runner
  binaries: Binaries
}

/** The replacement for a data folder that no unprivileged user can reach. */
export function systemFolderOf(dataDir: string, platform: Platform): string {
  return join(platform.systemFolder, shortHash(dataDir))
}

export async function chooseAsRoot(
  ground: PathOwnership,
  found: Binaries,
  platform: Platform,
): Promise<ServerUserChoice> {
  const choose = async (folder: string, owner: Owner, runner: Runner): Promise<ServerUserChoice> => {
    const usable = (await complete(found)) && (await reaches(runner, program(found, 'postgres'), '/', 'x'))
    return { folder, owner, runner, binaries: usable ? found : await copyBinaries(found, platform.systemFolder) }
  }
  const dataDir = ground.path
  if (ground.owner.uid !== 0) {
    await refuseForeignData(dataDir, ground.owner)
    return choose(dataDir, ground.owner, asUser(ground.owner))
  }

  const elsewhere = systemFolderOf(dataDir, platform)
  const root: Owner = { uid: 0, gid: 0 }
  const here = await ownerOf(join(dataDir, 'postgres'))
  const there = here ? undefined : await ownerOf(join(elsewhere, 'postgres'))
  if (there && there.uid !== 0) return choose(elsewhere, root, await asUserWithView(there, platform))

  const user = here && here.uid !== 0 ? here : serverAccount()
  const runner = await asUserWithView(user, platform)
  if (here?.uid === 0) await handOver(await pathOwnershipOf(join(dataDir, 'postgres')), user, platform)
  if (await letIn(dataDir, runner, !ground.exists || here !== undefined)) return choose(dataDir, root, runner)
  if (here) throw outOfReach(dataDir)

  await makeFolder(elsewhere, 0o755)
  if (!(await reaches(runner, 'true', elsewhere, 'x'))) throw outOfReach(elsewhere)
  return choose(elsewhere, root, runner)
}

/** Refuses data of another user than the path's owner, or a link to such data: the owner must not run this data. */
async function refuseForeignData(dataDir: string, owner: Owner): Promise<void> {
  const data = await pathOwnershipOf(join(dataDir, 'postgres'))
  const theirs = data.exists ? await ownerOf(data.path) : owner
  if (theirs?.uid === owner.uid) return
  throw new RetomaError('data_unreadable', {
    folder: dataDir,
    problem: localized(
      `its data belongs to the user with uid ${theirs?.uid}, and the folder to the one with uid ${owner.uid}`,
      `os dados são do usuário de uid ${theirs?.uid}, e a pasta é do de uid ${owner.uid}`,
    ),
  })
}

/** True if the user can enter the folder: directly, by a view, or after a change of the mode. */
async function letIn(dataDir: string, runner: Runner, isOurs: boolean): Promise<boolean> {
  // A view shows the contents of the folder, so the folder's mode does not matter.
  if (runner.as === 'user' && runner.unshare !== undefined) return true
  const enters = () => reaches(runner, 'true', dataDir, 'x')
  if (await enters()) return true
  if (!isOurs && (await readdir(dataDir)).length > 0) return false
  await chmod(dataDir, 0o711)
  if (await enters()) return true
  await chmod(dataDir, 0o700)
  return false
}

/**
 * Changes the owner of data that root copied here. The top folder comes last: until then no other user can enter, and after a crash the
 * change is repeated.
 */
async function handOver({ path: data, owner }: PathOwnership, { uid, gid }: Owner, platform: Platform): Promise<void> {
  if (owner.uid !== 0 || (await livePid(data)) !== undefined) throw outOfReach(data)
  const { code, output } = await run(self(platform), 'chown', ['-R', '-h', `${uid}:${gid}`, '--', data])
  if (code !== 0) throw new Error(output)
}

function outOfReach(folder: string): RetomaError {
  const problem = localized(
    `${folder} is out of reach for the user of the server`,
    `${folder} está fora do alcance do usuário do servidor`,
  )
  return new RetomaError('no_unprivileged_user', { problem })
}
