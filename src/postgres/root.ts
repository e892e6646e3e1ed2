/**
 * Who runs the server when Retoma runs as root, and in which folder. Called by home.ts. In order: the owner of data that
 * exists; root in a user namespace; the owner of the folder around the data, or nobody, in the data folder; nobody in a
 * folder of the system's.
 *
 * Invariant: the owner of data that exists decides, so that no restart finds files it may not read. A folder with things
 * of others in it never changes its owner.
 */
import { chown, lchown, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { RetomaError, say } from '../errors.ts'
import { type Binaries, complete, copyBinaries, program } from './find.ts'
import { makeFolder } from './folder.ts'
import { type Machine, nobody } from './machine.ts'
import { type Owner, ownerOf, shortHash } from './owner.ts'
import { livePid } from './pidfile.ts'
import { namespace, type Runner, reaches } from './privilege.ts'

export interface Choice {
  folder: string
  runner: Runner
  binaries: Binaries
}

/** Where the data of a folder lies that no unprivileged user can reach. */
export function systemFolderOf(dataDir: string, machine: Machine): string {
  return join(machine.systemFolder, shortHash(dataDir))
}

export async function chooseAsRoot(dataDir: string, found: Binaries, machine: Machine): Promise<Choice> {
  const elsewhere = systemFolderOf(dataDir, machine)
  const here = await ownerOf(join(dataDir, 'postgres'))
  const there = here ? undefined : await ownerOf(join(elsewhere, 'postgres'))
  const choose = async (folder: string, runner: Runner): Promise<Choice> => {
    const usable = (await complete(found)) && (await reaches(runner, program(found, 'postgres'), folder, 'x'))
    return { folder, runner, binaries: usable ? found : await copyBinaries(found, machine.systemFolder) }
  }

  if (here && here.uid !== 0) return choose(dataDir, { as: 'user', ...here })
  if (there) return choose(elsewhere, { as: 'user', ...there })

  const inside = await namespace(machine)
  if (inside && (await reaches(inside, 'true', dataDir, 'w'))) return choose(dataDir, inside)

  const user = await handOver(dataDir, here !== undefined)
  if (user) return choose(dataDir, { as: 'user', ...user })
  if (here) throw outOfReach(dataDir)

  const runner: Runner = { as: 'user', ...nobody() }
  await makeFolder(elsewhere, 0o755)
  await chown(elsewhere, runner.uid, runner.gid)
  if (!(await reaches(runner, 'true', elsewhere, 'w'))) throw outOfReach(elsewhere)
  return choose(elsewhere, runner)
}

/** Lets a user into the data folder, with data that root made there before; undefined when nobody can get in. */
async function handOver(dataDir: string, hasData: boolean): Promise<Owner | undefined> {
  const data = join(dataDir, 'postgres')
  if (hasData && (await livePid(data)) !== undefined) return undefined
  const ours = hasData || (await readdir(dataDir)).length === 0
  const before = (await ownerOf(dataDir))!
  const around = (await ownerOf(dirname(dataDir)))!
  for (const user of around.uid === 0 ? [nobody()] : [around, nobody()]) {
    const enters = () => reaches({ as: 'user', ...user }, 'true', dataDir, 'x')
    if (ours && !(await enters())) await chown(dataDir, user.uid, user.gid)
    if (await enters()) {
      if (hasData) await giveAll(data, user)
      return user
    }
    if (ours) await chown(dataDir, before.uid, before.gid)
  }
  return undefined
}

async function giveAll(folder: string, { uid, gid }: Owner): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true })) await lchown(join(folder, entry), uid, gid)
  await lchown(folder, uid, gid)
}

function outOfReach(folder: string): RetomaError {
  const problem = say(`${folder} is out of reach for them`, `${folder} está fora do alcance deles`)
  return new RetomaError('no_unprivileged_user', { problem })
}
