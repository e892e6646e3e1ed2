/**
 * Reads a ZIP file with yauzl, an entry at a time.
 *
 * Invariant: at most `unpackedBytes` are unpacked, whatever sizes the ZIP declares, so that a bomb ends early. A ZIP with a path that leaves
 * its folder is refused (yauzl), and no name is ever a path on this machine.
 */
import { type Entry, openPromise, type ZipFile } from 'yauzl'
import { corrupt, FileTrouble, tooLarge } from './trouble.ts'
import { zipName } from './zip-name.ts'

const megabyte = 1024 * 1024

export interface ZipLimits {
  entries: number
  /** Of all entries together. */
  unpackedBytes: number
}

export interface ZipEntry {
  /** The path with `/`; a folder ends with `/`. */
  name: string
  /** As the ZIP declares; the reader ends an entry that has more. */
  size: number
  isEncrypted: boolean
  /** The bytes of this entry, also if another entry has the same name. */
  read(): AsyncGenerator<Buffer>
}

export interface Zip {
  readonly entries: readonly ZipEntry[]
  has(name: string): boolean
  /** The bytes of the last entry with this name; the case of the name does not count. */
  read(name: string): AsyncGenerator<Buffer>
  /** The text of an entry, as UTF-8. */
  text(name: string): AsyncGenerator<string>
  close(): void
}

/** Throws FileTrouble. */
export async function openZip(path: string, limits: ZipLimits): Promise<Zip> {
  let zip: ZipFile | undefined
  try {
    zip = await openPromise(path, { autoClose: false, lazyEntries: true })
    const entries: Entry[] = []
    for await (const entry of zip.eachEntry()) {
      if (entries.length >= limits.entries)
        throw tooLarge(`more than ${limits.entries} files inside`, `mais de ${limits.entries} arquivos dentro`)
      entries.push(entry)
    }
    const declared = entries.reduce((sum, each) => sum + each.uncompressedSize, 0)
    if (declared > limits.unpackedBytes) throw bomb(declared, limits)
    return new OpenZip(zip, entries, limits)
  } catch (error) {
    zip?.close()
    if (error instanceof FileTrouble) throw error
    throw isPathOutside(error) ? new FileTrouble({ trouble: 'path_outside' }) : corrupt(error)
  }
}

/** The sentences of yauzl. */
const isPathOutside = (error: unknown): boolean =>
  /^(?:absolute path|invalid relative path)\b/.test((error as Error)?.message ?? '')

const bomb = (bytes: number, { unpackedBytes }: ZipLimits): FileTrouble =>
  new FileTrouble({ trouble: 'bomb', megabytes: Math.round(bytes / megabyte), most: unpackedBytes / megabyte })

class OpenZip implements Zip {
  readonly entries: readonly ZipEntry[]
  readonly #zip: ZipFile
  readonly #limits: ZipLimits
  readonly #byName: Map<string, Entry>
  #unpacked = 0

  constructor(zip: ZipFile, entries: readonly Entry[], limits: ZipLimits) {
    this.#zip = zip
    this.#limits = limits
    this.#byName = new Map(entries.map(entry => [entry.fileName.toLowerCase(), entry]))
    this.entries = entries.map(entry => ({
      name: zipName(entry),
      size: entry.uncompressedSize,
      isEncrypted: entry.isEncrypted(),
      read: () => this.#bytes(entry),
    }))
  }

  has(name: string): boolean {
    return this.#byName.has(name.toLowerCase())
  }

  async *read(name: string): AsyncGenerator<Buffer> {
    const entry = this.#byName.get(name.toLowerCase())
    if (entry === undefined) throw corrupt(`${name} is missing`)
    yield* this.#bytes(entry)
  }

  async *#bytes(entry: Entry): AsyncGenerator<Buffer> {
    if (entry.isEncrypted()) throw new FileTrouble({ trouble: 'encrypted' })
    try {
      const bytes = await this.#zip.openReadStreamPromise(entry)
      for await (const chunk of bytes as AsyncIterable<Buffer>) {
        this.#unpacked += chunk.length
        if (this.#unpacked > this.#limits.unpackedBytes) throw bomb(this.#unpacked, this.#limits)
        yield chunk
      }
    } catch (error) {
      throw error instanceof FileTrouble ? error : corrupt(error)
    }
  }

  async *text(name: string): AsyncGenerator<string> {
    const decoder = new TextDecoder('utf-8')
    for await (const chunk of this.read(name)) yield decoder.decode(chunk, { stream: true })
    yield decoder.decode()
  }

  close(): void {
    this.#zip.close()
  }
}
