/**
 * Stores the address of the `up` that has reserved a folder, for the next `up`. The reservation itself is a lock in the database; this
 * file only holds the address, so a stale file does no harm.
 */
import { rm } from 'node:fs/promises'
import type { Clock } from '../lib/clock.ts'
import { lockKeys } from '../lib/lock-keys.ts'
import { type DataDir, ownFolder } from './data-dir.ts'
import { inFolder, readOwn, writeOwn } from './data-dir-files.ts'

export const { reservation } = lockKeys
const waitLimit = 500
const pause = 20

const sign = 'address'

export async function writeAddress(dataDir: DataDir, address: string): Promise<void> {
  await writeOwn(ownFolder(dataDir), sign, `${address}\n`)
}

/** Waits a moment, because a process writes the address shortly after the reservation. */
export async function readAddress(dataDir: DataDir, clock: Clock): Promise<string> {
  for (let left = waitLimit; left > 0; left -= pause) {
    const text = await readOwn(ownFolder(dataDir), sign).catch(() => '')
    if (text.trim() !== '') return text.trim()
    await clock.sleep(pause)
  }
  return 'an address that is not known yet'
}

export async function forgetAddress(dataDir: DataDir): Promise<void> {
  await inFolder(ownFolder(dataDir), at => rm(`${at}/${sign}`, { force: true }))
}
