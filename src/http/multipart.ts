/**
 * multipart/form-data as it comes in: its parts in order, files as streams. Nothing is read ahead of who takes it, so of a body
 * of any size some 64 KB pieces are in memory.
 *
 * Invariant: whoever stops reading, and whatever breaks, the parser ends. What the client still sends is then read and thrown
 * away, within bounds: on a connection that is cut it would not see the answer that tells it why.
 */
import type { Readable, Writable } from 'node:stream'
import createParser from 'busboy'
import { cleanFileName, isFileType } from '../core/file.ts'
import { isRetomaError, RetomaError, say } from '../errors.ts'
import { largestField, mostFields, type Part, type UploadOptions } from './upload.ts'

const mostThrownAway = 64 * 1024 * 1024

export async function* partsOf(request: Request, options: UploadOptions): AsyncGenerator<Part, void> {
  const parser = parserFor(request)
  const came: (Part | Coming)[] = []
  let failure: RetomaError | undefined
  let isOver = false
  let wake = () => {}
  const fail = (error: RetomaError) => {
    failure ??= error
    parser.destroy()
  }
  const tell = (next: Part | Coming) => {
    came.push(next)
    wake()
  }
  let fields = 0
  let files = 0

  parser.on('field', (field: string | undefined, value, { valueTruncated }) => {
    if (!isKnown(field, options.fields))
      return fail(isKnown(field, options.files) ? noFile(field) : unknownField(field))
    if (valueTruncated) return fail(new RetomaError('body_too_large', { most: largestField }))
    if (++fields > mostFields) return fail(broken('it has too many fields', 'tem campos demais'))
    tell({ field, value })
  })
  parser.on('file', (field: string | undefined, stream, { filename, mimeType }) => {
    stream.on('error', () => {}) // whoever reads it hears of it; nobody may
    if (!isKnown(field, options.files))
      return fail(isKnown(field, options.fields) ? noText(field) : unknownField(field))
    if (++files > options.mostFiles) return fail(new RetomaError('too_many_files', { most: options.mostFiles }))
    tell(new Coming(field, stream, { filename, mimeType }, options.largestFile, () => failure))
  })
  parser.on('error', () => fail(broken('it is no whole form', 'não é um formulário inteiro')))
  parser.on('close', () => {
    isOver = true
    wake()
  })
  void feed(request, parser).catch(() => fail(broken('it did not arrive whole', 'não chegou inteiro')))

  try {
    for (;;) {
      const next = came.shift()
      // First: destroyed in the middle of a piece, the parser tells of what else is in it, and a file of that never ends.
      if (failure !== undefined) throw failure
      if (next instanceof Coming) {
        if (await next.isNamed()) yield { file: next }
        await next.leave()
      } else if (next !== undefined) yield next
      else if (isOver) return
      else
        await new Promise<void>(resolve => {
          wake = resolve
        })
    }
  } finally {
    parser.destroy()
  }
}

/** A file on its way. */
class Coming {
  readonly field: string
  readonly name: string
  readonly type: string
  readonly bytes: AsyncIterable<Uint8Array>
  readonly #stream: Readable
  readonly #largest: number
  readonly #failure: () => RetomaError | undefined
  #reading: Promise<void> | undefined
  #isLeft = false

  constructor(
    field: string,
    stream: Readable,
    { filename, mimeType }: { filename: string | undefined; mimeType: string },
    largest: number,
    failure: () => RetomaError | undefined,
  ) {
    this.field = field
    // Browsers write a quote as %22, and curl does as they do.
    this.name = cleanFileName((filename ?? '').replaceAll('%22', '"'))
    this.type = isFileType(mimeType) ? mimeType : 'application/octet-stream'
    this.#stream = stream
    this.#largest = largest
    this.#failure = failure
    this.bytes = { [Symbol.asyncIterator]: () => this.#read() }
  }

  /** A form whose file was not chosen sends one without a name and without a byte: as if it were not there. */
  async isNamed(): Promise<boolean> {
    if (this.name !== '') return true
    for await (const piece of this.#read()) {
      if (piece.byteLength > 0) throw badRequest(this.field, 'the file has no name', 'o arquivo não tem nome')
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
      // Left open when the reader goes: destroyed, the parser would wait for it for ever.
      for await (const piece of this.#stream.iterator({ destroyOnReturn: false })) {
        size += piece.byteLength
        if (size > this.#largest) throw new RetomaError('file_too_large', { most: this.#largest })
        yield piece
      }
    } catch (error) {
      throw isRetomaError(error)
        ? error
        : (this.#failure() ?? broken('it breaks off in a file', 'para no meio de um arquivo'))
    } finally {
      done()
    }
  }

  /** What was not read is thrown away. */
  async leave(): Promise<void> {
    this.#isLeft = true
    await this.#reading
    this.#stream.resume()
  }
}

function parserFor(request: Request) {
  const type = request.headers.get('content-type') ?? ''
  try {
    // Names come as UTF-8, whatever the standard once said.
    const limits = { fieldSize: largestField + 1, headerPairs: 20 }
    return createParser({ headers: { 'content-type': type }, defParamCharset: 'utf8', limits })
  } catch {
    throw broken('its type names no boundary', 'o tipo não diz o boundary')
  }
}

/** Once the parser is through with it, whyever, the rest is only thrown away. */
async function feed({ body }: Request, parser: Writable): Promise<void> {
  if (body === null) return void parser.end()
  const reader = body.getReader()
  let thrownAway = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return void parser.end()
    if (parser.destroyed) {
      thrownAway += value.byteLength
      if (thrownAway > mostThrownAway) return await reader.cancel()
    } else if (!parser.write(value)) await drained(parser)
  }
}

const drained = (parser: Writable) =>
  new Promise<void>(resolve => {
    const go = () => {
      parser.off('drain', go).off('close', go)
      resolve()
    }
    parser.on('drain', go).on('close', go)
  })

const isKnown = (field: string | undefined, known: readonly string[] = []): field is string =>
  field !== undefined && known.includes(field)

const unknownField = (field: string | undefined) =>
  badRequest(cleanFileName(field ?? '').slice(0, 100) || 'body', 'there is no such field', 'não existe esse campo')

/** `curl -F file=a.pdf` sends a name; with an @ it sends the file. */
const noFile = (field: string) => badRequest(field, 'it is a file, not a text', 'deve ser um arquivo, não um texto')
const noText = (field: string) => badRequest(field, 'it is a text, not a file', 'deve ser um texto, não um arquivo')

const broken = (en: string, pt: string) => badRequest('body', en, pt)

const badRequest = (field: string, en: string, pt: string) =>
  new RetomaError('bad_request', { field, problem: say(en, pt) })
