/**
 * Receives the documents of an execution: files, streamed into PostgreSQL, the files of a ZIP (archive.ts), or texts. Checks the number,
 * the names and the sizes. A file of an unreadable type is accepted like any other file, and skipped by the job (extract/index.ts).
 *
 * Invariant: a refused or broken-off request leaves no file.
 */
import { createHash } from 'node:crypto'
import { type Engine, isRetomaError, localized, RetomaError } from 'retoma'
import { cleanFileName, type Part, type UploadedFile } from 'retoma/http'
import { isArchive, largestArchive, mostUnpackedInAll, receiveArchive } from './archive.ts'
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

/**
 * `came` gets each text field on arrival; if `came` throws, the rest need not be sent. `unpack`: the files of a ZIP are documents; otherwise
 * a ZIP is a file like any other. `unpackedBytes`: of all ZIPs together.
 */
export async function receiveFiles(
  engine: Engine,
  parts: AsyncIterable<Part>,
  came: (field: string, value: string) => Promise<void>,
  { unpack = true, unpackedBytes = mostUnpackedInAll } = {},
): Promise<Received> {
  const budget = { left: unpackedBytes }
  const codeOf = createCodes()
  const documents: Sent[] = []
  const fields = new Map<string, string>()
  try {
    for await (const part of parts) {
      if (part.file === undefined) {
        if (fields.has(part.field)) throw givenTwice(part.field)
        await came(part.field, part.value)
        fields.set(part.field, part.value)
      } else if (unpack && isArchive(part.file))
        await receiveZip(engine, part.file, codeOf, documents, { budget, most: unpackedBytes })
      else addDocument(documents, await receiveFile(engine, part.file, codeOf))
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

function addDocument(documents: Sent[], one: Sent): void {
  documents.push(one)
  refuseMore(documents.length)
}

/** The files of a ZIP count as documents. */
function refuseMore(documents: number): void {
  if (documents > mostDocuments) throw new RetomaError(errors.too_many_documents, { most: mostDocuments })
}

async function receiveZip(
  engine: Engine,
  file: UploadedFile,
  codeOf: (name: string) => string,
  documents: Sent[],
  { budget, most }: { budget: { left: number }; most: number },
): Promise<void> {
  const before = documents.length
  const receive = async (one: Pick<UploadedFile, 'name' | 'path' | 'type' | 'bytes'>) =>
    addDocument(documents, await receiveFile(engine, one, codeOf))
  await receiveArchive(file, {
    expect: many => refuseMore(before + many),
    take: ({ path, bytes }) =>
      receive({ path, name: cleanFileName(path) || 'documento', type: 'application/octet-stream', bytes }),
    undo: () => leave(engine, documents.splice(before)),
    keep: async bytes => addDocument(documents, await receiveFile(engine, { ...file, bytes }, codeOf, largestArchive)),
    tooLarge: () => tooLarge(file.name, largestArchive),
    budget,
    tooMuch: () => new RetomaError(errors.archives_too_large, { megabytes: most / 1024 / 1024 }),
  })
}

export const tooLarge = (name: string, most: number) =>
  new RetomaError(errors.document_too_large, { name, megabytes: most / 1024 / 1024 })

async function receiveFile(
  engine: Engine,
  { name, path, type, bytes }: Pick<UploadedFile, 'name' | 'path' | 'type' | 'bytes'>,
  codeOf: (name: string) => string,
  most = largestFile,
): Promise<Sent> {
  try {
    const { id, sha256 } = await engine.files.put(bytes, { name, type, most })
    return { code: codeOf(codeOfFile(path)), file: id, text: null, hash: Buffer.from(sha256, 'hex') }
  } catch (error) {
    if (!isRetomaError(error, 'file_too_large')) throw error
    throw tooLarge(name, most)
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
