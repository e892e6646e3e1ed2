/**
 * Receives the file of a new document, streamed into PostgreSQL. The first bytes decide whether the file is a PDF, before anything is stored.
 *
 * Invariant: a refused or broken-off request leaves no file.
 */
import { type Engine, type FileView, isRetomaError, localized, RetomaError } from 'retoma'
import type { Part, UploadedFile } from 'retoma/http'
import { errors } from './errors.ts'
import { headBytes, isPdf, likenessOf } from './pdf/sniff.ts'

const megabyte = 1024 * 1024
export const largestFile = 50 * megabyte

export async function receiveFile(engine: Engine, parts: AsyncIterable<Part>): Promise<FileView> {
  let file: FileView | undefined
  try {
    for await (const part of parts) if (part.file !== undefined) file = await receive(engine, part.file)
  } catch (error) {
    await leaveFile(engine, file)
    throw error
  }
  if (file !== undefined) return file
  throw new RetomaError('bad_request', { field: 'file', problem: localized('it is missing', 'está faltando') })
}

async function receive(engine: Engine, { name, bytes }: UploadedFile): Promise<FileView> {
  try {
    return await engine.files.put(onlyPdf(bytes, name), { name, type: 'application/pdf', most: largestFile })
  } catch (error) {
    if (!isRetomaError(error, 'file_too_large')) throw error
    throw new RetomaError(errors.upload_too_large, { name, megabytes: largestFile / megabyte })
  }
}

async function* onlyPdf(bytes: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  let head: Uint8Array | undefined = new Uint8Array()
  const check = (start: Uint8Array) => {
    if (!isPdf(start)) throw new RetomaError(errors.upload_not_pdf, { name, likeness: likenessOf(start) })
  }
  for await (const piece of bytes) {
    if (head === undefined) yield piece
    else {
      head = Buffer.concat([head, piece])
      if (head.byteLength < headBytes) continue
      check(head)
      yield head
      head = undefined
    }
  }
  if (head === undefined) return
  check(head)
  yield head
}

/** Removes a received file. The janitor removes a file that cannot be removed now. */
export async function leaveFile(engine: Engine, file: FileView | undefined): Promise<void> {
  if (file !== undefined) await engine.files.remove([file.id]).catch(() => {})
}
