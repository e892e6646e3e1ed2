/**
 * Makes the folder for crash reports: a folder per supervisor in the temporary folder, removed when the supervisor ends. The next
 * supervisor removes the folder of a killed supervisor; the folder name holds the process id.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../lib/clock.ts'
import { isOwnLeftover, isUsableParent } from '../lib/temporary-folder.ts'

export interface CrashReportFolder {
  /** The folder for pending crash reports. */
  readonly pendingReports: string
  /** The report folder of the next process with this number, created and empty. */
  reportFolder(process?: number): string
  /** Updates the timestamps, so that cleaners of old files keep the folder. */
  touch(): void
  remove(): void
}

/** The second path serves if the first is not writable, such as in a container with a read-only disk. */
const parents = () => [tmpdir(), '/dev/shm']
/** Processes of another container may see the same folder, and the same process ids mean other processes there. */
const prefix = () => `retoma-crash-reports-${hostname().replace(/[^\w.]/g, '_')}-`

/** Undefined: this user can write to none of the paths. */
export function makeCrashReportFolder(among: readonly string[] = parents()): CrashReportFolder | undefined {
  for (const parent of among) {
    if (!isUsableParent(parent)) continue
    try {
      removeLeftovers(parent)
      return folderAt(mkdtempSync(join(parent, `${prefix()}${process.pid}-`)))
    } catch {
      // The next path may work.
    }
  }
  return undefined
}

/**
 * mkdtemp makes the folder accessible to this user only. Later runs empty the folder instead of making a new folder: this works on a full
 * disk too.
 */
function folderAt(path: string): CrashReportFolder {
  const pendingReports = join(path, 'pending')
  mkdirSync(pendingReports)
  return {
    pendingReports,
    reportFolder(process = 1) {
      const reportFolder = join(path, `report-${process}`)
      mkdirSync(reportFolder, { recursive: true })
      for (const name of readdirSync(reportFolder)) rmSync(join(reportFolder, name), { recursive: true, force: true })
      return reportFolder
    },
    touch() {
      const now = systemClock.now()
      for (const name of ['', ...readdirSync(path, { recursive: true })]) utimesSync(join(path, String(name)), now, now)
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}

function removeLeftovers(parent: string): void {
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(prefix())) continue
    const pid = Number.parseInt(name.slice(prefix().length), 10)
    if (pid !== process.pid && exists(pid)) continue
    // The name alone proves nothing: another user may have chosen the name.
    if (!isOwnLeftover(parent, join(parent, name))) continue
    try {
      rmSync(join(parent, name), { recursive: true, force: true })
    } catch {
      // The next supervisor will try again.
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
