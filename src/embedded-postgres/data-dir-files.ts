/**
 * Opens Retoma's own files in a data folder: the log, the address of the `up`, PostgreSQL's pid file. If Retoma runs as root, the folder
 * may belong to another user, so each file may be a link to a file of root's.
 *
 * Invariant: no link is followed, and only a plain file with a single name is opened. The folder stays open during the work and has the
 * expected owner: a folder that replaces it meanwhile is not touched.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, rename } from 'node:fs/promises'
import { localized, RetomaError } from '../errors/errors.ts'
import { randomName } from '../lib/random.ts'

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants

/** A folder and, if the owner matters, the uid of the owner. */
export interface OwnFolder {
  path: string
  uid?: number | undefined
}

/** `at`: a path to the folder's files that no other user can change. */
export async function inFolder<T>(folder: OwnFolder, work: (at: string, name: FileHandle) => Promise<T>): Promise<T> {
  const held = await open(folder.path, O_RDONLY | O_DIRECTORY)
  try {
    const { uid } = await held.stat()
    if (folder.uid !== undefined && uid !== folder.uid) throw foreign(folder.path, folder.path)
    // Only Linux has such a path.
    return await work(process.platform === 'linux' ? `/proc/self/fd/${held.fd}` : folder.path, held)
  } finally {
    await held.close()
  }
}

/** `flags` as for open(2). */
export function openOwn(folder: OwnFolder, name: string, flags: number, mode = 0o600): Promise<FileHandle> {
  return inFolder(folder, async at => {
    const file = await open(`${at}/${name}`, flags | O_NOFOLLOW | O_NONBLOCK, mode).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ELOOP' || error.code === 'EMLINK' || error.code === 'ENXIO')
          throw foreign(folder.path, name)
        throw error
      },
    )
    const found = await file.stat()
    if (found.isFile() && found.nlink === 1) return file
    await file.close()
    // The file was removed since it was opened, as by a server that stops: the answer is that of a moment later.
    if (found.isFile() && found.nlink === 0) return openOwn(folder, name, flags, mode)
    throw foreign(folder.path, name)
  })
}

/** Reads at most `mostBytes`, because Retoma's own files are short. */
export async function readOwn(folder: OwnFolder, name: string, mostBytes = 4096): Promise<string> {
  const file = await openOwn(folder, name, O_RDONLY)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(mostBytes), 0, mostBytes, 0)
    return buffer.subarray(0, bytesRead).toString('utf8')
  } finally {
    await file.close()
  }
}

/** Replaces an existing entry of any type. */
export function writeOwn(folder: OwnFolder, name: string, text: string): Promise<void> {
  return inFolder(folder, async at => {
    const draft = `${at}/.${randomName(name)}`
    const file = await open(draft, 'wx', 0o600)
    await file.writeFile(text).finally(() => file.close())
    await rename(draft, `${at}/${name}`)
  })
}

function foreign(folder: string, name: string): RetomaError {
  const problem =
    name === folder
      ? localized('it was put there by another user', 'foi posta ali por outro usuário')
      : localized(`${name} in it is a link, or no plain file`, `${name} nela é um link, ou não é um arquivo comum`)
  return new RetomaError('data_unreadable', { folder, problem })
}
