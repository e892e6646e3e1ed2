/**
 * Copies files to the local disk for handlers that need a path: a folder per worker with a folder per attempt, removed when the attempt
 * ends. Only the owner may read the folders.
 *
 * Invariant: no copy outlives its attempt, whatever the outcome. A killed process leaves its folder behind; the folder name holds the
 * process id, and the next worker started on this machine removes folders of ended processes.
 */
import { mkdir, mkdtemp, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isOwnLeftover } from '../lib/temporary-folder.ts'
import type { OpenFile } from './model/file.ts'

const prefix = 'retoma-files-'

interface Of {
  folder: Promise<string>
  files: Map<string, Promise<string>>
}

export class LocalFileCopies {
  readonly #parent: string
  #folder: Promise<string> | undefined
  readonly #of = new Map<string, Of>()

  /** `parent`: the temporary folder of the system. */
  constructor(parent: string) {
    this.#parent = parent
  }

  /** The path of the copy. A second call for the same file returns the same path. */
  copy(attempt: string, file: OpenFile): Promise<string> {
    return this.of(attempt)(file)
  }

  /** Like `copy`, for later: if the attempt ends in between, the folder is already known and removed, and nothing is written. */
  of(attempt: string): (file: OpenFile) => Promise<string> {
    const { folder, files } = this.#forAttempt(attempt)
    return file => {
      const known = files.get(file.id)
      if (known !== undefined) return known
      const copied = write(folder, file).catch(error => {
        files.delete(file.id)
        throw error
      })
      files.set(file.id, copied)
      return copied
    }
  }

  /** Removes the copies of an ended attempt. Never throws: leftovers are removed with the worker's folder. */
  drop(attempt: string): Promise<void> | undefined {
    const of = this.#of.get(attempt)
    if (of === undefined) return undefined
    this.#of.delete(attempt)
    return of.folder.then(remove).catch(() => {})
  }

  async close(): Promise<void> {
    await this.#folder?.then(remove).catch(() => {})
  }

  #forAttempt(attempt: string): Of {
    this.#folder ??= mkdtemp(join(this.#parent, `${prefix}${process.pid}-${born}-`))
    const known = this.#of.get(attempt)
    if (known !== undefined) return known
    const folder = this.#folder.then(async whole => {
      const own = join(whole, attempt.replace(/[^\w-]/g, '_'))
      await mkdir(own, { mode: 0o700 })
      return own
    })
    folder.catch(() => {}) // the writer of a copy receives this error; there may be no writer
    const made = { folder, files: new Map() }
    this.#of.set(attempt, made)
    return made
  }
}

/** Tells this process from an earlier process with the same process id. */
const born = Math.round(performance.timeOrigin)

/** Keeps the file extension, because some programs depend on the extension. */
async function write(folder: Promise<string>, { id, name, bytes }: OpenFile): Promise<string> {
  const path = join(await folder, `${id}${/\.\w{1,10}$/.exec(name)?.[0] ?? ''}`)
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const piece of bytes) await file.writeFile(piece)
  } catch (error) {
    await rm(path, { force: true })
    throw error
  } finally {
    await file.close()
  }
  return path
}

const remove = (folder: string) => rm(folder, { recursive: true, force: true })

/** Removes the folders of ended processes; returns the number of removed folders. */
export async function removeLeftoverCopies(parent: string): Promise<number> {
  let removed = 0
  for (const name of await readdir(parent)) {
    const [, pid, birth] = new RegExp(`^${prefix}(\\d+)-(\\d+)-`).exec(name) ?? []
    if (pid === undefined || isThere(Number(pid), Number(birth))) continue
    const folder = join(parent, name)
    if (!isOwnLeftover(parent, folder)) continue
    await remove(folder)
    removed++
  }
  return removed
}

function isThere(pid: number, birth: number): boolean {
  if (pid === process.pid) return birth === born
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
