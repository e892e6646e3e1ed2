/**
 * What is sent for an execution: files, streamed into PostgreSQL as they come, or texts. Checked here: how many, their names and
 * sizes. A file of a type that cannot be read is taken like any other, and skipped when its turn comes (extract/index.ts).
 *
 * Invariant: of a request that is refused, or breaks off, no file is left.
 */
import { createHash } from 'node:crypto'
import { type Engine, isRetomaError, RetomaError, say } from 'retoma'
import type { Part, UploadedFile } from 'retoma/http'
import { codeOfFile, createCodes } from './codigo.ts'
import { errors } from './errors.ts'
import type { Sent } from './runs.ts'
import { storable } from './text.ts'

export const mostDocuments = 2000
export const largestFile = 50 * 1024 * 1024
/** Of all texts together, as JSON. */
export const largestTexts = 32 * 1024 * 1024

/** What came in, and the texts among it by their names. */
export interface Received {
  documents: Sent[]
  fields: Map<string, string>
}

/** `came`: told each text as it comes; what it refuses need not be sent to the end. */
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

/** Of two projects neither is the one that was meant. */
const givenTwice = (field: string) =>
  new RetomaError('bad_request', { field, problem: say('it is given twice', 'veio duas vezes') })

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
    problem: say('it has at least one document', 'deve ter pelo menos um documento'),
  })

/** What came in is of no use. What cannot be removed now is the janitor's. */
export async function leave(engine: Engine, documents: readonly Sent[]): Promise<void> {
  const files = documents.flatMap(({ file }) => (file === null ? [] : [file]))
  if (files.length > 0) await engine.files.remove(files).catch(() => {})
}
