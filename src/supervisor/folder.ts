/**
 * Where the papers are: a folder of a supervisor's own below the one for temporary files, gone when it ends. What a supervisor
 * that was killed has left is removed by the next one; its name says whose it was.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../lib/clock.ts'
import { isOwnLeftover, isUsablePlace } from '../lib/temporary.ts'

export interface Folder {
  /** Where certificates wait to be used. */
  readonly certificates: string
  /** Where the next process leaves its papers: there, and empty. */
  papers(): string
  /** Says that it is in use, to whoever clears old files away. */
  touch(): void
  remove(): void
}

/** The second is there where the first may not be written to, such as in a container whose disk is read-only. */
const places = () => [tmpdir(), '/dev/shm']
/** Processes of another container may see the same folder, and its numbers mean other processes there. */
const prefix = () => `retoma-papers-${hostname().replace(/[^\w.]/g, '_')}-`

/** Undefined: there is no place that this user may write to. */
export function makeFolder(among: readonly string[] = places()): Folder | undefined {
  for (const place of among) {
    if (!isUsablePlace(place)) continue
    try {
      removeLeftovers(place)
      return folderAt(mkdtempSync(join(place, `${prefix()}${process.pid}-`)))
    } catch {
      // The next one may do.
    }
  }
  return undefined
}

/** mkdtemp makes it for this user alone. Emptied, not made anew: that can be done on a full disk as well. */
function folderAt(path: string): Folder {
  const certificates = join(path, 'certificates')
  const papers = join(path, 'papers')
  mkdirSync(certificates)
  return {
    certificates,
    papers() {
      mkdirSync(papers, { recursive: true })
      for (const name of readdirSync(papers)) rmSync(join(papers, name), { recursive: true, force: true })
      return papers
    },
    touch() {
      const now = systemClock.now()
      for (const name of ['', ...readdirSync(path, { recursive: true })]) utimesSync(join(path, String(name)), now, now)
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}

function removeLeftovers(place: string): void {
  for (const name of readdirSync(place)) {
    if (!name.startsWith(prefix())) continue
    const pid = Number.parseInt(name.slice(prefix().length), 10)
    if (pid !== process.pid && exists(pid)) continue
    // The name alone tells nothing: another user may have chosen it.
    if (!isOwnLeftover(place, join(place, name))) continue
    try {
      rmSync(join(place, name), { recursive: true, force: true })
    } catch {
      // The next one will try again.
    }
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
