/**
 * Writes status files of a supervised process: empty files in the report folder. The files remain after a crash, and need no channel that
 * user code could use or close.
 *
 * Invariant: a write never throws. A process without status files continues to work, and the supervisor knows less.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * `ready`: the worker row exists. `claims`: the first claim was answered. `asked`: the process has received a stop signal. `database`: the process waits for the database or for a
 * migration, which may take time. `second`: the process asks for a second process, which starts after the first claim. `memory`: the process ends itself because of its memory limit, without a known job. `hung`: the process
 * ends itself because the loop is blocked past all deadlines, without a known job.
 */
export type StatusFile = 'ready' | 'claims' | 'asked' | 'database' | 'second' | 'memory' | 'hung'

export function writeStatusFile(folder: string | undefined, what: StatusFile): void {
  if (folder === undefined) return
  try {
    writeFileSync(join(folder, what), '')
  } catch {
    // The supervisor and its folder are gone.
  }
}

export function removeStatusFile(folder: string | undefined, what: StatusFile): void {
  if (folder === undefined) return
  try {
    rmSync(join(folder, what), { force: true })
  } catch {
    // The supervisor and its folder are gone.
  }
}

export const hasStatusFile = (folder: string, what: StatusFile): boolean => existsSync(join(folder, what))
