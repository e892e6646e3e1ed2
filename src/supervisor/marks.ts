/**
 * What a supervised process tells its supervisor while it lives, as empty files among its papers: they are there as well when
 * it has died since, and need no channel that a user's own code could use or close.
 *
 * Invariant: telling never throws. Who cannot tell works on, and its supervisor knows less.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * ready: its worker's row is there. asked: it has heard a signal that asks it to stop. database: it waits for its database to
 * be there and up to date, which may take its time. memory: it ends itself because it has more than it may, and cannot tell
 * whose that is. hung: likewise, because its main loop is blocked past the time of all that run.
 */
export type Mark = 'ready' | 'asked' | 'database' | 'memory' | 'hung'

export function mark(folder: string | undefined, what: Mark): void {
  if (folder === undefined) return
  try {
    writeFileSync(join(folder, what), '')
  } catch {
    // The supervisor and its folder are gone.
  }
}

export function unmark(folder: string | undefined, what: Mark): void {
  if (folder === undefined) return
  try {
    rmSync(join(folder, what), { force: true })
  } catch {
    // Likewise.
  }
}

export const isMarked = (folder: string, what: Mark): boolean => existsSync(join(folder, what))
