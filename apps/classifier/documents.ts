/**
 * Receives the documents of an execution: files, streamed into PostgreSQL, or texts. Checks the number, the names and the sizes. A file
 * of an unreadable type is accepted like any other file, and skipped by the job (extract/index.ts).
 *
 * Invariant: a refused or broken-off request leaves no file.
 */
import { createHash } from 'node:crypto'
import { type Engine, isRetomaError, localized, RetomaError } from 'retoma'
import type { Part, UploadedFile } from 'retoma/http'
import { codeOfFile, createCodes } from './codigo.ts'
import { errors } from './errors.ts'
import type { Sent } from './runs.ts'
import { storable } from './text.ts'

export const mostDocuments = 2000
export const largestFile = 50 * 1024 * 1024
/** The size of all texts together, as JSON. */
export const largestTexts = 32 * 1024 * 1024

/** The received documents, and the text fields by name. */
export interface Received {
  documents: Sent[]
  fields: Map<string, string>
}

/** `came` gets each text field on arrival; if `came` throws, the rest need not be sent. */
export async function receiveFiles(
  engine: Engine,
  parts: AsyncIterable<Part>,
  came: (field: string, value: string) => Promise<void>,
): Promise<Received> {
  const codeOf = createCodes()
  const documents: Sent[] = []
  const fields = new Map<string, string>()
  try {
    for await (const part of parts) {
      if (part.file === undefined) {
        if (fields.has(part.field)) throw givenTwice(part.field)
        await came(part.field, part.value)
        fields.set(part.field, part.value)
      } else documents.push(await receiveFile(engine, part.file, codeOf))
    }
    if (documents.length === 0) throw noDocuments('arquivos')
    return { documents, fields }
  } catch (error) {
    await leave(engine, documents)
    throw error
  }
}

/** A field given twice is refused: the intended project is unknown. */
const givenTwice = (field: string) =>
  new RetomaError('bad_request', { field, problem: localized('it is given twice', 'veio duas vezes') })

async function receiveFile(engine: Engine, file: UploadedFile, codeOf: (name: string) => string): Promise<Sent> {
  const { name, type } = file
  try {
    const { id, sha256 } = await engine.files.put(file.bytes, { name, type, most: largestFile })
    return { code: codeOf(codeOfFile(name)), file: id, text: null, hash: Buffer.from(sha256, 'hex') }
  } catch (error) {
    if (!isRetomaError(error, 'file_too_large')) throw error
    throw new RetomaError(errors.document_too_large, { name, megabytes: largestFile / 1024 / 1024 })
  }
}

export function receiveTexts(given: readonly { codigo: string; texto: string }[]): Sent[] {
  if (given.length === 0) throw noDocuments('documentos')
  const codeOf = createCodes()
  return given.map(({ codigo, texto }) => {
    const text = storable(texto)
    return { code: codeOf(codigo), file: null, text, hash: createHash('sha256').update(text).digest() }
  })
}

const noDocuments = (field: string) =>
  new RetomaError('bad_request', {
    field,
    problem: localized('it has at least one document', 'deve ter pelo menos um documento'),
  })

/** Removes the received files. The janitor removes files that cannot be removed now. */
export async function leave(engine: Engine, documents: readonly Sent[]): Promise<void> {
  const files = documents.flatMap(({ file }) => (file === null ? [] : [file]))
  if (files.length > 0) await engine.files.remove(files).catch(() => {})
}
