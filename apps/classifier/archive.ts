/**
 * Receives a ZIP with documents: each file inside becomes a document, with its path as the code. Only bytes are unpacked here; the formats
 * are read by the job, in a separate process.
 *
 * Invariant: at most `mostUnpacked` bytes and `mostDocuments` documents come out of a ZIP, whatever the ZIP declares, and no path of a ZIP is
 * a path on this machine. A ZIP that cannot be unpacked as a whole leaves none of its files: the ZIP itself is the document, and the job
 * tells the reason.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { FileTrouble, openZip, type Zip } from '@retoma/office-files'
import type { UploadedFile } from 'retoma/http'

export const largestArchive = 200 * 1024 * 1024
/** Of one ZIP. */
const mostUnpacked = 1024 * 1024 * 1024
/** Of all ZIPs of a request. */
export const mostUnpackedInAll = 2 * mostUnpacked
/** Folders and the notes of operating systems count too. */
const mostEntries = 20_000

/** A name without another ending, or with the ending of a ZIP. */
export const isArchive = ({ name, type }: Pick<UploadedFile, 'name' | 'type'>): boolean =>
  /\.zip$/i.test(name) || (/^application\/(?:x-)?zip(?:-compressed)?\b/i.test(type) && !/\.\w{2,5}$/.test(name))

interface Unpacked {
  /** The path inside the ZIP. */
  path: string
  bytes: AsyncIterable<Uint8Array>
}

export interface ArchiveOptions {
  /** Called with the number of documents before any is unpacked. */
  expect: (documents: number) => void
  /** Stores a document. */
  take: (file: Unpacked) => Promise<void>
  /** Removes the documents of this ZIP, because the ZIP is damaged. */
  undo: () => Promise<void>
  /** Stores the ZIP itself: no document came out of the ZIP. */
  keep: (bytes: AsyncIterable<Uint8Array>) => Promise<void>
  tooLarge: () => Error
  /** The bytes that all ZIPs of the request may still unpack. */
  budget: { left: number }
  /** The ZIPs of the request unpack to more than the budget. */
  tooMuch: () => Error
}

export async function receiveArchive(file: UploadedFile, options: ArchiveOptions): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), folderPrefix))
  try {
    sweeping ??= sweepFolders(folder)
    await sweeping
    const path = join(folder, 'zip')
    await pipeline(Readable.from(bounded(file.bytes, options.tooLarge)), createWriteStream(path, { mode: 0o600 }))
    if (!(await unpacked(path, options))) await options.keep(createReadStream(path))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const folderPrefix = 'retoma-zip-'
const leftAfterMs = 24 * 3600 * 1000
let sweeping: Promise<void> | undefined

/**
 * Removes the folders of processes that died: folders of this user, beside the `own` new folder, that are a day older than `own`. Once in a
 * process.
 */
export async function sweepFolders(own: string): Promise<void> {
  const parent = dirname(own)
  const now = (await lstat(own)).mtimeMs
  const names = await readdir(parent).catch(() => [])
  for (const name of names.filter(each => each.startsWith(folderPrefix))) {
    const path = join(parent, name)
    const about = await lstat(path).catch(() => undefined)
    if (about === undefined || !about.isDirectory() || about.uid !== (process.getuid?.() ?? about.uid)) continue
    if (now - about.mtimeMs > leftAfterMs) await rm(path, { recursive: true, force: true }).catch(() => {})
  }
}

async function* bounded(bytes: AsyncIterable<Uint8Array>, tooLarge: () => Error): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const chunk of bytes) {
    size += chunk.length
    if (size > largestArchive) throw tooLarge()
    yield chunk
  }
}

/** false: nothing was unpacked. */
async function unpacked(path: string, { expect, take, undo, budget, tooMuch }: ArchiveOptions): Promise<boolean> {
  let zip: Zip | undefined
  try {
    zip = await openZip(path, { entries: mostEntries, unpackedBytes: mostUnpacked })
    const documents = zip.entries.filter(({ name }) => !isNote(name))
    // An Office file with another name, and a ZIP with a password, are for the job.
    const isWhole = zip.has('[Content_Types].xml') || zip.has('mimetype') || documents.some(each => each.isEncrypted)
    if (isWhole || documents.length === 0) return false
    expect(documents.length)
    if (documents.reduce((sum, each) => sum + each.size, 0) > budget.left) throw tooMuch()
    for (const each of documents) await take({ path: each.name, bytes: counted(each.read(), budget, tooMuch) })
    return true
  } catch (error) {
    if (!(error instanceof FileTrouble)) throw error
    await undo()
    return false
  } finally {
    zip?.close()
  }
}

/** A ZIP may declare smaller sizes than it has. The bytes of a damaged ZIP count, too. */
async function* counted(
  bytes: AsyncIterable<Uint8Array>,
  budget: ArchiveOptions['budget'],
  tooMuch: () => Error,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    budget.left -= chunk.length
    if (budget.left < 0) throw tooMuch()
    yield chunk
  }
}

/** Folders, and files that operating systems write beside documents. */
const isNote = (name: string): boolean =>
  name.endsWith('/') || /^__MACOSX\/|(?:^|\/)(?:\.DS_Store|Thumbs\.db|desktop\.ini)$/i.test(name)
