/**
 * Folders for temporary files are shared with other users, who can choose names: what carries our name there is not always
 * ours. Used by the supervisor for its papers and by a worker for its copies of files.
 *
 * Invariant: nothing is removed that is not a folder of this very user; root removes nothing in a place where another user
 * could put a link in its stead, and makes nothing in a place that belongs to another user.
 */
import { lstatSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'

/** -1 where the system has no such number: there every file counts as one's own. */
const ownUid = (): number => process.getuid?.() ?? -1

/** Whether this process may keep files of its own there: the place is not that of another user than root. */
export function isUsablePlace(place: string): boolean {
  try {
    const { uid } = statSync(place)
    return ownUid() === -1 || uid === 0 || uid === ownUid()
  } catch {
    return false
  }
}

/** A folder of this user's, by itself and not by a link, in a place where nobody else could replace it. */
export function isOwnLeftover(place: string, folder: string): boolean {
  try {
    const found = lstatSync(folder)
    if (!found.isDirectory()) return false
    if (ownUid() === -1) return true
    return found.uid === ownUid() && (ownUid() !== 0 || isSafeFromOthers(place))
  } catch {
    return false
  }
}

/** Others may write there only what is their own: it is sticky, as /tmp is. */
function isSafeFromOthers(place: string): boolean {
  const { mode } = statSync(place)
  return isUsablePlace(place) && ((mode & 0o022) === 0 || (mode & 0o1000) !== 0)
}

/** The system's folder for what is temporary, unless that is another user's. */
export const temporaryPlace = (): string => (isUsablePlace(tmpdir()) ? tmpdir() : '/tmp')
