/**
 * Finds the owner of a path: a user who owns a folder of the path can replace everything below. Root checks the owner before any change
 * (run-as-root.ts). In a path of another user, root creates nothing and follows no link; root lets the owner do the work.
 *
 * Invariant: a link that another user may have created leads to a file or folder of the same user, or is refused.
 */
import { lstat, readlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { localized, RetomaError } from '../../errors/errors.ts'
import type { Owner } from './file-owner.ts'
import { nobody } from './platform.ts'

export interface PathOwnership {
  /** Without links. */
  path: string
  /** Root if root owns every folder of the path. */
  owner: Owner
  exists: boolean
}

const root: Owner = { uid: 0, gid: 0 }
const mostLinks = 40

export async function pathOwnershipOf(given: string): Promise<PathOwnership> {
  const linked = new Set<number>()
  let rest = resolve(given).split('/').filter(Boolean)
  let path = '/'
  let owner = root
  for (let links = 0; rest.length > 0; ) {
    const [name, ...below] = rest as [string, ...string[]]
    const here = join(path, name)
    const found = await lstat(here).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    if (found === undefined) {
      refuseUnlessTheirs(given, linked, owner)
      const { mode, uid } = await lstat(path)
      // Every user may create an entry here, so the account nobody creates the folder instead of root.
      const anybodys = uid === 0 && (mode & 0o1002) === 0o002
      return { path: join(path, ...rest), owner: anybodys ? nobody() : owner, exists: false }
    }
    if (found.isSymbolicLink()) {
      if (++links > mostLinks) throw Object.assign(new Error('ELOOP'), { code: 'ELOOP', path: here })
      // Also a link of root's: a user with the right may have moved the link there.
      for (const uid of [found.uid, owner.uid]) if (uid !== 0) linked.add(uid)
      rest = [
        ...resolve(dirname(here), await readlink(here))
          .split('/')
          .filter(Boolean),
        ...below,
      ]
      path = '/'
      owner = root
      continue
    }
    if (found.uid !== 0) owner = { uid: found.uid, gid: found.gid }
    path = here
    rest = below
  }
  refuseUnlessTheirs(given, linked, owner)
  return { path, owner, exists: true }
}

function refuseUnlessTheirs(folder: string, linked: ReadonlySet<number>, owner: Owner): void {
  for (const uid of linked)
    if (uid !== owner.uid)
      throw new RetomaError('data_unreadable', {
        folder,
        problem: localized(
          `a link of the user with uid ${uid} leads to what is not that user's`,
          `um link do usuário de uid ${uid} leva ao que não é dele`,
        ),
      })
}
