/**
 * Decides which temporary folders this user may use and remove. Temporary folders are shared with other users, who can choose names: a
 * folder with our name is not always ours. The supervisor uses this file for the crash report files, and a worker for local copies of
 * files.
 *
 * Invariant: only a folder of this very user is removed. Root removes nothing in a parent where another user could put a link instead of
 * the folder, and creates nothing in a parent that belongs to another user.
 */
import { lstatSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'

/** -1 on a system without user ids: every file there counts as our own. */
const ownUid = (): number => process.getuid?.() ?? -1

/** True if this process may create files in `parent`: the owner is root or this user. */
export function isUsableParent(parent: string): boolean {
  try {
    const { uid } = statSync(parent)
    return ownUid() === -1 || uid === 0 || uid === ownUid()
  } catch {
    return false
  }
}

/** True for a folder of this user (not a link), in a parent where no other user could replace the folder. */
export function isOwnLeftover(parent: string, folder: string): boolean {
  try {
    const found = lstatSync(folder)
    if (!found.isDirectory()) return false
    if (ownUid() === -1) return true
    return found.uid === ownUid() && (ownUid() !== 0 || isSafeFromOthers(parent))
  } catch {
    return false
  }
}

/** True if other users may change only their own entries in `parent`: the folder is sticky, as /tmp is. */
function isSafeFromOthers(parent: string): boolean {
  const { mode } = statSync(parent)
  return isUsableParent(parent) && ((mode & 0o022) === 0 || (mode & 0o1000) !== 0)
}

/** The system's temporary folder, unless this folder belongs to another user; then /tmp. */
export const temporaryFolder = (): string => (isUsableParent(tmpdir()) ? tmpdir() : '/tmp')
