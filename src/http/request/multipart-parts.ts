/**
 * Reads multipart/form-data as the body arrives: the parts in order, files as streams. Nothing is read ahead of the consumer. A body that
 * is a file itself is read in the same way, as a form with one part.
 *
 * Invariant: an unreadable part is refused with its position; no part is left out. After a refusal the rest of the body is read and
 * discarded, within bounds: on a cut connection the client would not see the response with the reason.
 */

import { localized, RetomaError } from '../../errors/errors.ts'
import { cleanFileName, isFileType } from '../../files/model/file.ts'
import { headerParams, textOf } from './header-params.ts'
import { MultipartError, MultipartReader, type PartHead } from './multipart-reader.ts'
import { largestField, mostFields, type Part, type UploadOptions } from './upload.ts'

const mostThrownAway = 64 * 1024 * 1024
const longestBoundary = 200

export async function* partsOf(request: Request, options: UploadOptions): AsyncGenerator<Part, void> {
  const boundary = boundaryOf(request)
  const pieces = piecesOf(request)
  const form = new MultipartReader(pieces, boundary)
  const kinds = { fields: 0, files: 0 }
  let position = 0
  try {
    await understood(0, form.begin())
    for (;;) {
      const head = await understood(++position, form.head())
      if (head === undefined) return
      refuseUnknown(head, options, position)
      if (head.fileName === undefined) {
        if (++kinds.fields > mostFields) throw troubleAt(position, 'there are too many fields', 'há campos demais')
        yield { field: head.name, value: await textIn(form, head, position) }
        continue
      }
      if (++kinds.files > options.mostFiles) throw new RetomaError('too_many_files', { most: options.mostFiles })
      const file = new Coming(form, head, options.largestFile, position)
      if (await file.isNamed()) yield { file }
      await file.leave()
    }
  } finally {
    void throwAway(pieces)
  }
}

/** The body as the only file of the first file field, which also names the file. */
export async function* wholeFileOf(
  request: Request,
  { files, largestFile }: UploadOptions,
): AsyncGenerator<Part, void> {
  const [type = ''] = (request.headers.get('content-type') ?? '').toLowerCase().split(';')
  const pieces = piecesOf(request)
  const [field] = files as [string]
  try {
    const bytes = bounded(pieces, largestFile)
    yield { file: { field, name: field, path: field, type: fileType(type.trim()), bytes } }
  } finally {
    void throwAway(pieces)
  }
}

/** Leaves `pieces` open at the end: the caller discards the rest. */
async function* bounded(pieces: AsyncGenerator<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  for (let size = 0; ; ) {
    const { value: piece, done } = await pieces.next()
    if (done) return
    size += piece.byteLength
    if (size > most) throw new RetomaError('file_too_large', { most })
    yield piece
  }
}

function boundaryOf({ headers }: Request): string {
  const boundary = headerParams(headers.get('content-type') ?? '')?.params.get('boundary') ?? ''
  if (boundary === '' || boundary.length > longestBoundary)
    throw badRequest('body', 'its type names no boundary', 'o tipo não diz o boundary')
  return boundary
}

async function* piecesOf({ body }: Request): AsyncGenerator<Uint8Array, void> {
  if (body === null) return
  try {
    yield* body as unknown as AsyncIterable<Uint8Array>
  } catch {
    throw badRequest('body', 'it did not arrive whole', 'não chegou inteiro')
  }
}

/** Also called after the whole body was read; then nothing is left. */
async function throwAway(pieces: AsyncGenerator<Uint8Array>): Promise<void> {
  let bytes = 0
  try {
    for await (const piece of pieces) {
      bytes += piece.byteLength
      if (bytes > mostThrownAway) return
    }
  } catch {
    // The client has disconnected and reads no response.
  }
}

/** Turns a problem of the form into an error with the position of the part; 0: no part. */
async function understood<T>(position: number, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw error instanceof MultipartError ? troubleAt(position, error.message, error.pt) : error
  }
}

async function textIn(form: MultipartReader, { charset }: PartHead, position: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let size = 0
  for (;;) {
    const piece = await understood(position, form.piece())
    if (piece === undefined) break
    size += piece.byteLength
    if (size > largestField) throw new RetomaError('body_too_large', { most: largestField })
    pieces.push(piece)
  }
  const text = textOf(Buffer.concat(pieces), charset)
  if (text === undefined) throw troubleAt(position, 'its charset is not known', 'o charset não é conhecido')
  return text
}

const fileType = (type: string) => (isFileType(type) ? type : 'application/octet-stream')

/** A file that is arriving. */
class Coming {
  readonly field: string
  readonly name: string
  readonly path: string
  readonly type: string
  readonly bytes: AsyncIterable<Uint8Array>
  readonly #form: MultipartReader
  readonly #largest: number
  readonly #position: number
  #reading: Promise<void> | undefined
  #isOver = false
  #isLeft = false

  constructor(form: MultipartReader, { name, fileName, type }: PartHead, largest: number, position: number) {
    this.field = name
    // Browsers and curl write a quote as %22.
    this.path = (fileName ?? '').replaceAll('%22', '"')
    this.name = cleanFileName(this.path)
    this.type = fileType(type)
    this.#form = form
    this.#largest = largest
    this.#position = position
    this.bytes = { [Symbol.asyncIterator]: () => this.#read() }
  }

  /** A form without a chosen file sends a part without a name and without bytes; such a part is ignored. */
  async isNamed(): Promise<boolean> {
    if (this.name !== '') return true
    for await (const piece of this.#read()) {
      if (piece.byteLength > 0)
        throw badRequest(this.field, 'the file has no name', 'o arquivo não tem nome', this.#position)
    }
    return false
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    if (this.#isLeft || this.#reading !== undefined) throw new Error('a file is read once, and before the next part')
    let done = () => {}
    this.#reading = new Promise(resolve => {
      done = resolve
    })
    let size = 0
    try {
      for (;;) {
        const piece = await this.#next()
        if (piece === undefined) return
        size += piece.byteLength
        if (size > this.#largest) throw new RetomaError('file_too_large', { most: this.#largest })
        yield piece
      }
    } finally {
      done()
    }
  }

  async #next(): Promise<Uint8Array | undefined> {
    if (this.#isOver) return undefined
    const piece = await understood(this.#position, this.#form.piece())
    this.#isOver = piece === undefined
    return piece
  }

  /** Discards the unread bytes. */
  async leave(): Promise<void> {
    this.#isLeft = true
    await this.#reading
    while ((await this.#next()) !== undefined);
  }
}

function refuseUnknown({ name, fileName }: PartHead, { fields = [], files }: UploadOptions, position: number): void {
  const isFile = fileName !== undefined
  if ((isFile ? files : fields).includes(name)) return
  if ((isFile ? fields : files).includes(name))
    // `curl -F file=a.pdf` sends the name as a text; `file=@a.pdf` sends the file.
    throw isFile
      ? badRequest(name, 'it is a text, not a file', 'deve ser um texto, não um arquivo', position)
      : badRequest(name, 'it is a file, not a text', 'deve ser um arquivo, não um texto', position)
  const field = cleanFileName(name).slice(0, 100) || 'body'
  throw badRequest(field, 'there is no such field', 'não existe esse campo', position)
}

const troubleAt = (position: number, en: string, pt: string) =>
  position === 0
    ? badRequest('body', en, pt)
    : badRequest('body', `part ${position} of the form: ${en}`, `parte ${position} do formulário: ${pt}`, position)

function badRequest(field: string, en: string, pt: string, part?: number): RetomaError {
  const facts = { field, problem: localized(en, pt) }
  const allFacts = part === undefined ? facts : { ...facts, part }
  return new RetomaError('bad_request', allFacts)
}
