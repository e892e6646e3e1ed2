/**
 * postmaster.pid: PostgreSQL's own note of which process serves a data folder, and its interlock against a second one.
 * Read by start and stop.
 *
 * Invariant: a note is removed only when the process it names is certainly not a server of this folder; PostgreSQL's
 * shared memory, keyed by the folder, then still refuses a second server.
 */
import { link, lstat, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type pg from 'pg'
import { randomName } from '../lib/random.ts'
import { inFolder, type OwnFolder, readOwn } from './own-files.ts'
import { commandLine, exists, parentOf, workingFolder } from './processes.ts'

export interface Note {
  text: string
  /** Undefined while it is being written, or after a crash emptied it. */
  pid: number | undefined
}

export async function readNote(file: string): Promise<Note | undefined> {
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
 * The pid of the server that answers us: the parent of the backend at the other end, whatever the note says. It may be
 * missing: of two servers that start at once over the note of a dead one, the second may remove the note that the first
 * has just written, before shared memory refuses it. The first then serves without one, until within a minute it looks.
 */
export async function answeringPid(client: pg.Client, data: string): Promise<number | undefined> {
  const { processID } = client as pg.Client & { processID: number }
  const pid = await parentOf(processID)
  return pid !== undefined && (await serves(pid, data)) ? pid : livePid(data)
}

/** Whether that process is a server of this folder; a zombie, or a stranger that got the number later, is not. */
async function serves(pid: number, data: string): Promise<boolean> {
  const command = (await commandLine(pid)).join(' ')
  if (!/(^|\/)postgres -D /.test(command)) return false
  const cwd = await workingFolder(pid)
  if (cwd === undefined) return command.includes(`postgres -D ${data}`)
  // The data may lie elsewhere, behind a link; the system tells where a process really is.
  return cwd === (await realpath(data).catch(() => data))
}

/** Whether anything is left of a server: an ending process works in its folder a little longer than it has a name. */
export async function lingers(pid: number, data: string): Promise<boolean> {
  if (await serves(pid, data)) return true
  const cwd = await workingFolder(pid)
  return cwd !== undefined && cwd === (await realpath(data).catch(() => data))
}

/** Removes notes of the pid file and the socket's lock that name a process which is no server of this folder. */
export async function clearStale(data: string, files: string[], now: Date, uid?: number): Promise<void> {
  for (const file of files) {
    const note = await readNote(file)
    if (!note || (note.pid !== undefined && (await serves(note.pid, data)))) continue
    const blank = note.pid === undefined
    if (blank && now.getTime() - (await lstat(file)).mtimeMs < 2000) continue
    // PostgreSQL itself takes over from a process that is gone, and checks its orphans in doing so.
    if (!blank && !exists(note.pid!)) continue
    await remove({ path: dirname(file), uid }, basename(file), note.text)
  }
}

/** Takes the file away first and looks again, since a new server may have written its own note meanwhile. */
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
