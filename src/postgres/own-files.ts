/**
 * The few files that a process of Retoma keeps in a data folder: its log, the address of its `up`, PostgreSQL's notes. The folder
 * may be another user's when Retoma runs as root, so that each of them may be a link to something of root's.
 *
 * Invariant: no link is followed, and nothing is opened that is not a plain file with one name. The folder is held open while it is
 * worked in, and is that of the user it should be: what takes its place meanwhile is not touched.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, rename } from 'node:fs/promises'
import { RetomaError, say } from '../errors.ts'
import { randomName } from '../lib/random.ts'

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants

/** A folder and, where it matters whose it is, the uid of its owner. */
export interface OwnFolder {
  path: string
  uid?: number | undefined
}

/** `at`: where the folder's files are, by a path that nobody can change. */
export async function inFolder<T>(folder: OwnFolder, work: (at: string, name: FileHandle) => Promise<T>): Promise<T> {
  const held = await open(folder.path, O_RDONLY | O_DIRECTORY)
  try {
    const { uid } = await held.stat()
    if (folder.uid !== undefined && uid !== folder.uid) throw foreign(folder.path, folder.path)
    // Other systems than Linux have no such path.
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
    throw foreign(folder.path, name)
  })
}

/** Its text, of which not more is read than a file of ours has. */
export async function readOwn(folder: OwnFolder, name: string, mostBytes = 4096): Promise<string> {
  const file = await openOwn(folder, name, O_RDONLY)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(mostBytes), 0, mostBytes, 0)
    return buffer.subarray(0, bytesRead).toString('utf8')
  } finally {
    await file.close()
  }
}

/** Takes the place of what was there, whatever it was. */
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
      ? say('it was put there by another user', 'foi posta ali por outro usuário')
      : say(`${name} in it is a link, or no plain file`, `${name} nela é um link, ou não é um arquivo comum`)
  return new RetomaError('data_unreadable', { folder, problem })
}
