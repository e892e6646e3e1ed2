/**
 * Stores and reads files as streams, in pieces of 1 MB, so that the memory of a process does not limit the size of a file.
 *
 * Invariant: at most two pieces of an incoming file are in memory, including the piece under way to PostgreSQL. If the source
 * breaks off, the file is removed at once, or by the janitor if the removal fails. An incomplete file cannot be opened.
 */
import { createHash } from 'node:crypto'
import type { Db } from '../database/db.ts'
import { runInCallerTransaction, type Transaction } from '../database/transactions/caller-transaction.ts'
import { localized, RetomaError } from '../errors/errors.ts'
import { refuseOption } from '../errors/invalid-option.ts'
import type { Clock } from '../lib/clock.ts'
import { isId } from '../lib/values/id.ts'
import { checkFileOptions, type FileOptions, type FileView, type OpenFile, opened, pieceBytes } from './model/file.ts'
import { addPiece, addWhole, beginFile, endFile, findFile, keepFiles, readPiece, shareFiles } from './sql/file.ts'
import { removeFile } from './sql/file-removal.ts'

/** The batch or job that owns files. The files are removed with their owner. */
export type FileHome = {
  /** The files get their owner if and only if this transaction of the caller commits. Default: a transaction of the engine. */
  tx?: Transaction
} & ({ batch: string; job?: undefined } | { job: string; batch?: undefined })

/** The namespace `engine.files`. */
export interface FilesApi {
  /** Resolves once the whole file is stored. A file without an owner is removed after a day. Throws `not_found` for an unknown `job`. */
  put(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, options: FileOptions): Promise<FileView>
  /** null: the file does not exist or is erased. */
  open(id: string): Promise<OpenFile | null>
  /** Assigns all files or none; the files may have had another owner before. Throws `not_found`. */
  keep(ids: readonly string[], home: FileHome): Promise<void>
  /**
   * Makes for each file another file with the same bytes, name and type, without a copy of the bytes: the bytes stay until the last of the
   * files is removed. Returns the new ids in the given order. The new files have no owner until kept. All files or none; throws `not_found`.
   */
  share(
    ids: readonly string[],
    options?: {
      /** The new files exist if and only if this transaction of the caller commits. Default: a transaction of the engine. */
      tx?: Transaction
    },
  ): Promise<string[]>
  /** Answers the number of removed files. */
  remove(ids: readonly string[]): Promise<number>
}

export function createFiles({ db, clock, closing }: { db: Db; clock: Clock; closing: AbortSignal }): FilesApi {
  return {
    async put(source, options) {
      const { most, ...about } = checkFileOptions(options)
      const { job } = about
      if (job !== null && !isId(job)) throw noSuchHome(undefined, job)
      let id: string | undefined
      try {
        const { sha256, size, last } = await takeIn(source, most, async (n, piece) => {
          id ??= await beginFile(db, about, clock.instant())
          await addPiece(db, id, n, piece)
        })
        if (id === undefined) return await addWhole(db, { ...about, sha256, bytes: last.bytes }, clock.instant())
        await addPiece(db, id, last.n, last.bytes)
        const view = await endFile(db, id, { size, sha256 })
        if (view === undefined) throw new RetomaError('file_gone', { id })
        return view
      } catch (error) {
        if (id !== undefined) await removeFile(db, id).catch(() => {}) // the janitor removes the leftover
        throw id === undefined && isMissing(error) ? noSuchHome(undefined, job ?? undefined) : error
      }
    },

    async open(id) {
      const found = await findFile(db, id)
      if (found === undefined) return null
      return opened(found, async n => {
        if (closing.aborted) throw new RetomaError('engine_closed', {})
        const piece = await readPiece(db, id, n)
        if (piece === undefined) throw new RetomaError('file_gone', { id })
        return piece
      })
    },

    async keep(ids, { tx, batch, job }) {
      const asked = [...new Set(ids)]
      const strange = asked.find(id => !isId(id))
      if (strange !== undefined) throw noSuchFile(strange)
      if (!isId(batch ?? job)) throw noSuchHome(batch, job)
      const run = tx === undefined ? db.run : runInCallerTransaction(tx, db.names)
      const there = await keepFiles(run, asked, { batch: batch ?? null, job: job ?? null }).catch(error => {
        throw isMissing(error) ? noSuchHome(batch, job) : error
      })
      const missing = asked.find(id => !there.has(id))
      if (missing !== undefined) throw noSuchFile(missing)
    },

    async share(ids, { tx } = {}) {
      const asked = [...new Set(ids)]
      const strange = asked.find(id => !isId(id))
      if (strange !== undefined) throw noSuchFile(strange)
      const run = tx === undefined ? db.run : runInCallerTransaction(tx, db.names)
      const made = await shareFiles(run, asked, clock.instant())
      return ids.map(id => {
        const shared = made.get(id)
        if (shared === undefined) throw noSuchFile(id)
        return shared!
      })
    },

    async remove(ids) {
      let removed = 0
      for (const id of new Set(ids)) if (isId(id) && (await removeFile(db, id))) removed++
      return removed
    },
  }
}

/** Fills a piece while the previous piece is written; never holds a third. The caller writes the last piece. */
async function takeIn(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  most: number,
  write: (n: number, piece: Uint8Array) => Promise<void>,
): Promise<{ size: number; sha256: Uint8Array; last: { n: number; bytes: Uint8Array } }> {
  const hash = createHash('sha256')
  let size = 0
  let n = 0
  let piece = Buffer.allocUnsafe(pieceBytes)
  let other: typeof piece | undefined
  let filled = 0
  let writing: Promise<void> = Promise.resolve()
  const send = async () => {
    const full = piece.subarray(0, filled)
    hash.update(full)
    await writing
    writing = write(n++, full)
    // Handled here too: the write may fail while the source is slow.
    writing.catch(() => {})
    // The buffer of the previous piece is free again.
    ;[piece, other] = [other ?? Buffer.allocUnsafe(pieceBytes), piece]
    filled = 0
  }
  try {
    for await (const given of source) {
      if (!(given instanceof Uint8Array)) refuseOption('source', 'it gives bytes', 'fornece bytes')
      size += given.byteLength
      if (size > most) throw new RetomaError('file_too_large', { most })
      for (let from = 0; from < given.byteLength; ) {
        if (filled === pieceBytes) await send()
        const some = given.subarray(from, from + pieceBytes - filled)
        piece.set(some, filled)
        filled += some.byteLength
        from += some.byteLength
      }
    }
  } finally {
    await writing
  }
  const bytes = piece.subarray(0, filled)
  return { size, sha256: hash.update(bytes).digest(), last: { n, bytes } }
}

const noSuchFile = (id: string) => new RetomaError('not_found', { what: localized('file', 'arquivo'), id: String(id) })

const noSuchHome = (batch: string | undefined, job: string | undefined) =>
  new RetomaError('not_found', {
    what: batch === undefined ? localized('job', 'job') : localized('batch', 'lote'),
    id: String(batch ?? job),
  })

/** Also matches errors of a caller's connection, from any copy of the driver. */
const isMissing = (error: unknown) => (error as { code?: unknown } | null)?.code === '23503'
