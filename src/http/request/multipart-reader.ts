/**
 * Reads multipart/form-data (RFC 7578) part by part. Nothing is read ahead of the consumer, so that for a body of any size only a piece
 * of the network and the length of a boundary are in memory.
 *
 * Invariant: every byte between the first boundary and the last belongs to a part with parsed headers, or the form is refused with the
 * position of the part. A parser that skips unreadable bytes would lose a file silently.
 */
import { type HeaderParams, headerParams } from './header-params.ts'

/** The problem of a form, in both languages. */
export class MultipartError extends Error {
  readonly pt: string

  constructor(en: string, pt: string) {
    super(en)
    this.pt = pt
  }
}

/** The parsed headers of a part. */
export interface PartHead {
  name: string
  /** undefined: the part is a text field. */
  fileName: string | undefined
  type: string
  charset: string
}

const largestHead = 16 * 1024
const mostHeaders = 20
const mostAround = 1024

export class MultipartReader {
  readonly #pieces: AsyncIterator<Uint8Array>
  readonly #delimiter: Buffer
  // A line end before the body, so that the first boundary begins like the others.
  #held: Buffer = Buffer.from('\r\n')
  #isAllHere = false

  constructor(pieces: AsyncIterator<Uint8Array>, boundary: string) {
    this.#pieces = pieces
    this.#delimiter = Buffer.from(`\r\n--${boundary}`)
  }

  /** Reads up to the first part. */
  async begin(): Promise<void> {
    for (;;) {
      const at = this.#held.indexOf(this.#delimiter)
      const before = at < 0 ? this.#held.length - this.#delimiter.length + 1 : at
      if (before > mostAround || !isBlank(this.#held.subarray(0, Math.max(before, 0))))
        throw new MultipartError('it does not begin with its boundary', 'não começa com o boundary')
      if (at >= 0) return this.#skip(at + this.#delimiter.length)
      if (!(await this.#pull())) throw new MultipartError('it has no boundary', 'não tem o boundary')
    }
  }

  /** Called right after a boundary. Returns undefined if the boundary was the last and nothing follows. */
  async head(): Promise<PartHead | undefined> {
    while (this.#held.length < 2) await this.#need()
    const mark = this.#held.toString('latin1', 0, 2)
    this.#skip(2)
    if (mark === '--') return this.#end()
    if (mark !== '\r\n')
      throw new MultipartError('its boundary is followed by something else', 'há algo depois do boundary')
    return partHead(await this.#headers())
  }

  /** The next bytes of the part; undefined at the end of the part. */
  async piece(): Promise<Uint8Array | undefined> {
    for (;;) {
      const at = this.#held.indexOf(this.#delimiter)
      const sure = at < 0 ? this.#held.length - this.#delimiter.length + 1 : at
      if (sure > 0) return this.#take(sure)
      if (at === 0) return void this.#skip(this.#delimiter.length)
      await this.#need()
    }
  }

  async #headers(): Promise<string[]> {
    for (;;) {
      // A part without headers begins with an empty line.
      const at = this.#held.indexOf('\r\n') === 0 ? 0 : this.#held.indexOf('\r\n\r\n')
      const end = at < 0 ? this.#held.length : at
      if (end > largestHead) throw new MultipartError('its headers are too long', 'os cabeçalhos são longos demais')
      const ended = this.#held.indexOf(this.#delimiter)
      if (ended >= 0 && ended <= end) throw new MultipartError('its headers have no end', 'os cabeçalhos não terminam')
      if (at >= 0) {
        const text = this.#take(at).toString('utf8')
        // In an empty part, the line end after the headers may also be the line end that begins the boundary.
        this.#skip(at === 0 || ended === at + 2 ? 2 : 4)
        // A line that begins with a blank continues the line before.
        return text === '' ? [] : text.replace(/\r\n[ \t]+/g, ' ').split('\r\n')
      }
      await this.#need()
    }
  }

  async #end(): Promise<undefined> {
    for (let after = 0; ; ) {
      after += this.#held.length
      if (after > mostAround || !isBlank(this.#held))
        throw new MultipartError('something follows after its last boundary', 'há algo depois do último boundary')
      this.#skip(this.#held.length)
      if (!(await this.#pull())) return undefined
    }
  }

  #take(length: number): Buffer {
    const taken = this.#held.subarray(0, length)
    this.#skip(length)
    return taken
  }

  #skip(length: number): void {
    this.#held = this.#held.subarray(length)
  }

  async #need(): Promise<void> {
    if (!(await this.#pull())) throw new MultipartError('it breaks off', 'para no meio')
  }

  async #pull(): Promise<boolean> {
    if (this.#isAllHere) return false
    const { done, value } = await this.#pieces.next()
    if (done) this.#isAllHere = true
    else this.#held = this.#held.length === 0 ? asBuffer(value) : Buffer.concat([this.#held, value])
    return !done
  }
}

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array) => Buffer.from(buffer, byteOffset, byteLength)

const isBlank = (bytes: Uint8Array) => bytes.every(byte => byte === 13 || byte === 10 || byte === 32 || byte === 9)

const headerLine = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*)$/

function partHead(lines: readonly string[]): PartHead {
  if (lines.length > mostHeaders) throw new MultipartError('it has too many headers', 'tem cabeçalhos demais')
  const headers = new Map<string, string>()
  for (const line of lines) {
    const [, name, value] = headerLine.exec(line) ?? []
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a header must not hold.
    if (name === undefined || /[\x00-\x08\x0a-\x1f\x7f]/.test(value!))
      throw new MultipartError('one of its headers cannot be read', 'um dos cabeçalhos não pode ser lido')
    const known = name.toLowerCase()
    if (headers.has(known)) throw new MultipartError(`it has ${known} twice`, `tem ${known} duas vezes`)
    headers.set(known, value!)
  }
  const disposition = dispositionOf(headers.get('content-disposition'))
  const coding = headers.get('content-transfer-encoding')?.trim().toLowerCase() ?? 'binary'
  if (!['7bit', '8bit', 'binary'].includes(coding))
    throw new MultipartError('its Content-Transfer-Encoding is not taken', 'o Content-Transfer-Encoding não é aceito')
  const type = headerParams(headers.get('content-type') ?? 'text/plain')
  if (type === undefined)
    throw new MultipartError('its Content-Type cannot be read', 'o Content-Type não pode ser lido')
  if (type.type.startsWith('multipart/'))
    throw new MultipartError('it is a form itself', 'é um formulário dentro do outro')
  const fileName = disposition.params.get('filename') ?? (type.type === 'application/octet-stream' ? '' : undefined)
  return {
    name: disposition.params.get('name')!,
    fileName,
    type: type.type,
    charset: type.params.get('charset') ?? 'utf-8',
  }
}

function dispositionOf(value: string | undefined): HeaderParams {
  if (value === undefined) throw new MultipartError('it has no Content-Disposition', 'não tem Content-Disposition')
  const found = headerParams(value)
  if (found?.type !== 'form-data')
    throw new MultipartError('its Content-Disposition cannot be read', 'o Content-Disposition não pode ser lido')
  if (!found.params.get('name')) throw new MultipartError('it has no name', 'não tem nome')
  return found
}
