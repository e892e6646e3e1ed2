/**
 * Encodes and decodes the lines of a backup, inside gzip (docs/adr/0010-backup.md): a header, for each table a line with its name
 * and then its rows, the sequences, and an end line with the row counts and the SHA-256 of every byte before.
 *
 * Invariant: a reader that reaches the end of a backup without an error has read exactly the written content.
 */
import { createHash } from 'node:crypto'
import { type LocalizedText, RetomaError } from '../errors/errors.ts'

const format = 1

export interface Header {
  /** Version of the database schema. */
  schema: number
  /** Version of the tables of each system in the backup. */
  systems: Readonly<Record<string, number>>
  /** Version of the Retoma that wrote the backup. */
  retoma: string
  postgres: string
  at: string
}

export interface Sequence {
  name: string
  last: string
  called: boolean
}

export type Counts = Record<string, number>

/** A part of a backup, in the order of writing and reading. */
export type Part =
  | { readonly what: 'header'; readonly header: Header }
  | { readonly what: 'table'; readonly name: string; readonly columns: readonly string[] }
  | { readonly what: 'rows'; readonly rows: readonly string[] }
  | { readonly what: 'sequences'; readonly sequences: readonly Sequence[] }
  | { readonly what: 'end'; readonly counts: Counts }

/** Yields the bytes of a backup, before gzip. Adds the `end` line. */
export async function* encode(parts: AsyncIterable<Exclude<Part, { what: 'end' }>>): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  const counts = new Counter()
  for await (const part of parts) {
    counts.see(part)
    const bytes = Buffer.from(lineOf(part))
    hash.update(bytes)
    yield bytes
  }
  yield Buffer.from(`${JSON.stringify({ end: { rows: counts.rows, sha256: hash.digest('hex') } })}\n`)
}

function lineOf(part: Exclude<Part, { what: 'end' }>): string {
  switch (part.what) {
    case 'header':
      return `${JSON.stringify({ backup: { format, ...part.header } })}\n`
    case 'table':
      return `${JSON.stringify({ table: part.name, columns: part.columns })}\n`
    case 'rows':
      return part.rows.map(row => `${JSON.stringify(row)}\n`).join('')
    case 'sequences':
      return `${JSON.stringify({ sequences: part.sequences })}\n`
  }
}

class Counter {
  readonly rows: Counts = {}
  #table = ''

  see(part: Part): void {
    if (part.what === 'table') {
      this.#table = part.name
      this.rows[part.name] ??= 0
    }
    if (part.what === 'rows') this.rows[this.#table]! += part.rows.length
  }
}

const quote = 0x22
/** A row of PostgreSQL has at most 1 GB; the driver can hold half of this size as a single text. */
const longestLine = 2 ** 29
const longestHeader = 2 ** 16
const batchBytes = 1_000_000
const batchRows = 1000

/** The parts allowed after each part. */
const follows: Readonly<Record<Part['what'] | 'nothing', readonly Part['what'][]>> = {
  nothing: ['header'],
  header: ['table', 'sequences'],
  table: ['rows', 'table', 'sequences'],
  rows: ['rows', 'table', 'sequences'],
  sequences: ['end'],
  end: [],
}

/**
 * Rejects a file that is not a backup, has another format, or is cut off. The memory is bounded: about a batch of rows and a
 * single row.
 */
export async function* decode(bytes: AsyncIterable<Buffer>, file: string): AsyncGenerator<Part> {
  const hash = createHash('sha256')
  const counts = new Counter()
  let last = 'nothing' as Part['what'] | 'nothing'
  const accept = <P extends Part>(part: P): P => {
    if (!follows[last].includes(part.what)) throw damage(file, outOfOrder)
    last = part.what
    counts.see(part)
    return part
  }

  let rows: string[] = []
  let size = 0
  for await (const line of linesOf(bytes, file)) {
    const isRow = line[0] === quote
    if (rows.length > 0 && (!isRow || size + line.length > batchBytes || rows.length === batchRows)) {
      yield accept({ what: 'rows', rows })
      rows = []
      size = 0
    }
    if (isRow) {
      rows.push(parse<string>(line, file))
      size += line.length
    } else if (last === 'nothing') {
      yield accept(headerOf(line, file))
    } else {
      const { sha256, ...part } = metaOf(line, file)
      accept(part)
      if (part.what === 'end') {
        const isSame = sha256 === hash.digest('hex') && JSON.stringify(part.counts) === JSON.stringify(counts.rows)
        if (!isSame) throw damage(file, otherContent)
      }
      yield part
    }
    if (last !== 'end') hash.update(line).update('\n')
  }
  if (last === 'nothing') throw new RetomaError('no_backup', { file })
  if (last !== 'end') throw damage(file, cutOff)
}

const outOfOrder = { en: 'its parts are out of order', pt: 'as partes estão fora de ordem' }
const otherContent = { en: 'its checksum does not match its content', pt: 'o checksum não confere com o conteúdo' }
export const cutOff = { en: 'its end is missing', pt: 'falta o fim' }

export const damage = (file: string, problem: LocalizedText, options?: ErrorOptions): RetomaError =>
  new RetomaError('backup_damaged', { file, problem }, options)

function headerOf(line: Buffer, file: string): Part {
  const found = safely(() => JSON.parse(line.toString())) as { backup?: Header & { format?: unknown } } | undefined
  const { backup } = found ?? {}
  if (typeof backup?.format !== 'number') throw new RetomaError('no_backup', { file })
  if (backup.format !== format || !Number.isInteger(backup.schema))
    throw new RetomaError('backup_too_new', { file, version: String(backup.retoma) })
  const { format: _, ...header } = backup
  return { what: 'header', header: { ...header, systems: header.systems ?? {} } }
}

interface Meta {
  table?: string
  columns?: string[]
  sequences?: Sequence[]
  end?: { rows: Counts; sha256: string }
}

function metaOf(line: Buffer, file: string): Part & { sha256?: string } {
  const { table, columns, sequences, end } = parse<Meta>(line, file)
  if (table !== undefined && columns !== undefined) return { what: 'table', name: table, columns }
  if (sequences !== undefined) return { what: 'sequences', sequences }
  if (end !== undefined) return { what: 'end', counts: end.rows, sha256: end.sha256 }
  throw damage(file, { en: 'it has a line that means nothing', pt: 'há uma linha sem sentido' })
}

function parse<T>(line: Buffer, file: string): T {
  const value = safely(() => JSON.parse(line.toString()))
  if (value === undefined || value === null)
    throw damage(file, { en: 'it has a line that is not JSON', pt: 'há uma linha que não é JSON' })
  return value as T
}

function safely<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

/**
 * Yields lines without the line feed. The last line must end with a line feed too, so that a cut is never taken for the end of
 * the file.
 */
async function* linesOf(bytes: AsyncIterable<Buffer>, file: string): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = []
  let size = 0
  let first = true
  for await (const chunk of bytes) {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      pieces.push(chunk.subarray(from, end))
      yield pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
      pieces = []
      size = 0
      first = false
      from = end + 1
    }
    if (from === chunk.length) continue
    pieces.push(chunk.subarray(from))
    size += chunk.length - from
    if (first && size > longestHeader) throw new RetomaError('no_backup', { file })
    if (size > longestLine) throw damage(file, { en: 'it has a line without end', pt: 'há uma linha sem fim' })
  }
  if (first && size > 0) throw new RetomaError('no_backup', { file })
  if (size > 0) throw damage(file, cutOff)
}
