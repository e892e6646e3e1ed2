/**
 * Reads postmaster.pid: PostgreSQL's own record of the process that serves a data folder, and the lock against a second server. start and
 * stop use this file.
 *
 * Invariant: a pid file is removed only if the named process is certainly not a server of this folder; even then PostgreSQL's shared
 * memory, keyed by the folder, refuses a second server.
 */
import { link, lstat, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type pg from 'pg'
import { randomName } from '../lib/random.ts'
import { inFolder, type OwnFolder, readOwn } from './data-dir-files.ts'
import { commandLine, exists, parentOf, workingFolder } from './platform/os-processes.ts'

export interface PidfileNote {
  text: string
  /** undefined while PostgreSQL writes the file, or after a crash emptied the file. */
  pid: number | undefined
}

export async function readNote(file: string): Promise<PidfileNote | undefined> {
  try {
    const text = await readOwn({ path: dirname(file) }, basename(file))
    const pid = Number.parseInt(text, 10)
    return { text, pid: pid > 1 ? pid : undefined }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export function pidfile(data: string): string {
  return join(data, 'postmaster.pid')
}

/** The pid of the live server of this folder, ready or not. */
export async function livePid(data: string): Promise<number | undefined> {
  const note = await readNote(pidfile(data))
  return note?.pid !== undefined && (await serves(note.pid, data)) ? note.pid : undefined
}

/**
 * The pid of the server behind this connection: the parent of the connection's backend, regardless of the pid file. The pid file may be
 * missing: if two servers start at once over the pid file of a dead server, the second may remove the new pid file of the first, before
 * shared memory refuses the second. The first then serves without a pid file, until its own check within a minute.
 */
export async function answeringPid(client: pg.Client, data: string): Promise<number | undefined> {
  const { processID } = client as pg.Client & { processID: number }
  const pid = await parentOf(processID)
  return pid !== undefined && (await serves(pid, data)) ? pid : livePid(data)
}

/** True if the process is a server of this folder; false for a zombie or for another process that got the pid later. */
async function serves(pid: number, data: string): Promise<boolean> {
  const command = (await commandLine(pid)).join(' ')
  if (!/(^|\/)postgres -D /.test(command)) return false
  const cwd = await workingFolder(pid)
  if (cwd === undefined) return command.includes(`postgres -D ${data}`)
  // The data may be elsewhere, behind a link; the system knows the real working folder of a process.
  return cwd === (await realpath(data).catch(() => data))
}

/** True if any part of a server is left: an ending process has the working folder a little longer than the command line. */
export async function lingers(pid: number, data: string): Promise<boolean> {
  if (await serves(pid, data)) return true
  const cwd = await workingFolder(pid)
  return cwd !== undefined && cwd === (await realpath(data).catch(() => data))
}

/** Removes the pid file and the socket's lock file if the named process is no server of this folder. */
export async function clearStale(data: string, files: string[], now: Date, uid?: number): Promise<void> {
  for (const file of files) {
    const note = await readNote(file)
    if (!note || (note.pid !== undefined && (await serves(note.pid, data)))) continue
    const blank = note.pid === undefined
    if (blank && now.getTime() - (await lstat(file)).mtimeMs < 2000) continue
    // PostgreSQL itself replaces the file of a dead process, and checks for orphaned backends at the same time.
    if (!blank && !exists(note.pid!)) continue
    await remove({ path: dirname(file), uid }, basename(file), note.text)
  }
}

/** Renames the file first and reads it again, because a new server may have written a new file meanwhile. */
async function remove(folder: OwnFolder, name: string, expected: string): Promise<void> {
  const aside = `${name}.${randomName('stale')}`
  await inFolder(folder, async at => {
    try {
      await rename(`${at}/${name}`, `${at}/${aside}`)
      if ((await readOwn(folder, aside)) !== expected) await link(`${at}/${aside}`, `${at}/${name}`)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    } finally {
      await rm(`${at}/${aside}`, { force: true })
    }
  })
}
