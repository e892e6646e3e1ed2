/**
 * On whose ground a path lies: whoever owns one of its folders can put something else in the place of what lies below. Root
 * asks before it does anything there (root.ts). On another user's ground root makes nothing and follows nothing: that user does.
 *
 * Invariant: a link that another user may have put there leads to something of that user's own, or is refused.
 */
import { lstat, readlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { RetomaError, say } from '../errors.ts'
import { nobody } from './machine.ts'
import type { Owner } from './owner.ts'

export interface Ground {
  /** Without links. */
  path: string
  /** Root, when all its folders are root's. */
  owner: Owner
  exists: boolean
}

const root: Owner = { uid: 0, gid: 0 }
const mostLinks = 40

export async function groundOf(given: string): Promise<Ground> {
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
      // Anybody may make it, so nobody does it in root's place.
      const anybodys = uid === 0 && (mode & 0o1002) === 0o002
      return { path: join(path, ...rest), owner: anybodys ? nobody() : owner, exists: false }
    }
    if (found.isSymbolicLink()) {
      if (++links > mostLinks) throw Object.assign(new Error('ELOOP'), { code: 'ELOOP', path: here })
      // Also one of root's own, moved there by somebody who may.
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
        problem: say(
          `a link of the user with uid ${uid} leads to what is not that user's`,
          `um link do usuário de uid ${uid} leva ao que não é dele`,
        ),
      })
}
