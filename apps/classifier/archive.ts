/**
 * Receives a ZIP with documents: each file inside becomes a document, with its path as the code. Only bytes are unpacked here; the formats
 * are read by the job, in a separate process.
 *
 * Invariant: at most `mostUnpacked` bytes and `mostDocuments` documents come out of a ZIP, whatever the ZIP declares, and no path of a ZIP is
 * a path on this machine. A ZIP that cannot be unpacked as a whole leaves none of its files: the ZIP itself is the document, and the job
 * tells the reason.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { FileTrouble, openZip, type Zip } from '@retoma/office-files'
import type { UploadedFile } from 'retoma/http'

export const largestArchive = 200 * 1024 * 1024
const mostUnpacked = 1024 * 1024 * 1024
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
}

export async function receiveArchive(file: UploadedFile, options: ArchiveOptions): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'retoma-zip-'))
  try {
    const path = join(folder, 'zip')
    await pipeline(Readable.from(bounded(file.bytes, options.tooLarge)), createWriteStream(path, { mode: 0o600 }))
    if (!(await unpacked(path, options))) await options.keep(createReadStream(path))
  } finally {
    await rm(folder, { recursive: true, force: true })
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
async function unpacked(path: string, { expect, take, undo }: ArchiveOptions): Promise<boolean> {
  let zip: Zip | undefined
  try {
    zip = await openZip(path, { entries: mostEntries, unpackedBytes: mostUnpacked })
    const documents = zip.entries.filter(({ name }) => !isNote(name))
    // An Office file with another name, and a ZIP with a password, are for the job.
    const isWhole = zip.has('[Content_Types].xml') || zip.has('mimetype') || documents.some(each => each.isEncrypted)
    if (isWhole || documents.length === 0) return false
    expect(documents.length)
    for (const each of documents) await take({ path: each.name, bytes: each.read() })
    return true
  } catch (error) {
    if (!(error instanceof FileTrouble)) throw error
    await undo()
    return false
  } finally {
    zip?.close()
  }
}

/** Folders, and files that operating systems write beside documents. */
const isNote = (name: string): boolean =>
  name.endsWith('/') || /^__MACOSX\/|(?:^|\/)(?:\.DS_Store|Thumbs\.db|desktop\.ini)$/i.test(name)
