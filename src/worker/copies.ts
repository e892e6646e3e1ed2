/**
 * Files as they lie on this machine's disk for handlers that want a path: a folder for a worker, in it one for each attempt, gone
 * when that ends. Nobody else may look into it.
 *
 * Invariant: nothing of an attempt that has ended stays, however it ended. A process that was killed leaves its folder, which
 * names it; the next worker that begins on this machine takes away those whose process is gone.
 */
import { mkdir, mkdtemp, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { OpenFile } from '../core/file.ts'
import { isOwnLeftover } from '../lib/temporary.ts'

const prefix = 'retoma-files-'

interface Of {
  folder: Promise<string>
  files: Map<string, Promise<string>>
}

export class Copies {
  readonly #place: string
  #folder: Promise<string> | undefined
  readonly #of = new Map<string, Of>()

  /** `place`: the system's folder for what is temporary. */
  constructor(place: string) {
    this.#place = place
  }

  /** Where it is. Asked again for the same file, it is the same. */
  copy(attempt: string, file: OpenFile): Promise<string> {
    return this.of(attempt)(file)
  }

  /** The same for later: an attempt that ends in between finds its folder here, and nothing is written any more. */
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

  /** That attempt has ended. Never throws: what cannot be removed now is, with the whole folder. */
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
    this.#folder ??= mkdtemp(join(this.#place, `${prefix}${process.pid}-${born}-`))
    const known = this.#of.get(attempt)
    if (known !== undefined) return known
    const folder = this.#folder.then(async whole => {
      const own = join(whole, attempt.replace(/[^\w-]/g, '_'))
      await mkdir(own, { mode: 0o700 })
      return own
    })
    folder.catch(() => {}) // whoever writes into it hears of it; nobody may
    const made = { folder, files: new Map() }
    this.#of.set(attempt, made)
    return made
  }
}

/** Tells this process from an earlier one that had its number. */
const born = Math.round(performance.timeOrigin)

/** With the ending of its name, which some go by. */
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

/** What processes that are gone have left behind; answers how many folders. */
export async function removeLeftCopies(place: string): Promise<number> {
  let removed = 0
  for (const name of await readdir(place)) {
    const [, pid, birth] = new RegExp(`^${prefix}(\\d+)-(\\d+)-`).exec(name) ?? []
    if (pid === undefined || isThere(Number(pid), Number(birth))) continue
    const folder = join(place, name)
    if (!isOwnLeftover(place, folder)) continue
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
