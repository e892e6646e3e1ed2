/**
 * Stops a server and waits for the end. The last process to leave calls this (leave-server.ts).
 *
 * By signal and not by pg_ctl, which refuses to work as root.
 */
import { rmdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { localized } from '../errors/errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { DataDir } from './data-dir.ts'
import { lingers, pidfile, readNote } from './pidfile.ts'
import { serverError } from './server-errors.ts'

/** A checkpoint may take time; after SIGQUIT the server itself kills remaining processes after 5 s. */
const waitLimit = { SIGINT: 20_000, SIGQUIT: 10_000 }
const pause = 15

/** `SIGQUIT` alone for a recovering server: on SIGINT during recovery, PostgreSQL 18 may wait for its helper processes for ever. */
export async function stopServer(
  dataDir: DataDir,
  pid: number | undefined,
  clock: Clock,
  signals: (keyof typeof waitLimit)[] = ['SIGINT', 'SIGQUIT'],
): Promise<void> {
  if (pid === undefined) return
  // SIGINT ends every session and writes a checkpoint; SIGQUIT leaves the checkpoint to the next start. Both keep committed data.
  for (const signal of signals) {
    if (!sendSignal(pid, signal)) break
    const deadline = clock.now().getTime() + waitLimit[signal]
    while ((await lingers(pid, dataDir.data)) && clock.now().getTime() < deadline) await clock.sleep(pause)
  }
  if (await lingers(pid, dataDir.data))
    throw await serverError(dataDir, 'stop', localized(`process ${pid} does not end`, `o processo ${pid} não termina`))
  if ((await readNote(pidfile(dataDir.data)))?.pid === undefined) await removeOutsideSocket(dataDir)
}

async function removeOutsideSocket(dataDir: DataDir): Promise<void> {
  if (dirname(dataDir.socket) === dataDir.folder) return
  await rmdir(dataDir.socket).catch(() => {})
}

function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
