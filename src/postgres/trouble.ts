/**
 * Turns what the system and PostgreSQL say when something fails into one RetomaError a person can act on.
 * Called by find, home, init and start, around every step that touches the disk or runs a program.
 */
import { statfs } from 'node:fs/promises'
import { isRetomaError, RetomaError } from '../errors.ts'

type Action = 'initialise' | 'start' | 'answer' | 'stop'

const noSpace = /No space left on device|ENOSPC|Disk quota exceeded|EDQUOT/i

const noRight = /FATAL: .*: (Permission denied|Read-only file system|Operation not permitted)$/m

const denials: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EROFS: 'it is on a read-only disk',
  ENOENT: 'it cannot be made there',
  ENOTDIR: 'part of its path is a file, not a folder',
  EEXIST: 'there is a file in its place',
  ELOOP: 'its path runs in a circle of links',
  ENAMETOOLONG: 'its path is too long',
}

/** A failed call to the file system, as the trouble with the data folder that it is. */
export function folderTrouble(folder: string, error: unknown): unknown {
  if (isRetomaError(error) || !(error instanceof Error)) return error
  const { code = '', path } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') return new RetomaError('disk_full', { folder }, { cause: error })
  const denial = denials[code]
  if (!denial) return error
  const problem = path && path !== folder ? `${denial} (${path})` : denial
  return new RetomaError('data_unreadable', { folder, problem }, { cause: error })
}

/** What initdb or the server said before it gave up. */
export async function serverTrouble(
  home: { folder: string; log: string },
  action: Action,
  output: string,
): Promise<RetomaError> {
  if (noSpace.test(output) || (await isFull(home.folder))) return new RetomaError('disk_full', { folder: home.folder })
  const { folder, log } = home
  const problem = tellingLine(output)
  if (noRight.test(output)) return new RetomaError('data_unreadable', { folder, problem })
  return new RetomaError('postgres_failed', { folder, action, problem, log })
}

async function isFull(folder: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize < 256 * 1024
  } catch {
    return false
  }
}

/** The line that names the cause: the last fatal one with its detail, else the last that says anything. */
export function tellingLine(output: string): string {
  const lines = output
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
  const fatal = lines.findLastIndex(line => /\b(FATAL|PANIC|error|could not)\b/.test(line))
  if (fatal === -1) return lines.at(-1) ?? 'it said nothing'
  const bare = (line: string) => line.replace(/^.*?\b(LOG|FATAL|PANIC|DETAIL|HINT|error): +/, '')
  const telling = /contains errors$/.test(lines[fatal]!) ? (lines[fatal - 1] ?? lines[fatal]!) : lines[fatal]!
  const more = lines.slice(fatal + 1).find(line => /\b(DETAIL|HINT):/.test(line))
  return more ? `${bare(telling)} (${bare(more)})` : bare(telling)
}
