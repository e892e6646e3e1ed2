/**
 * Reads a CSV file as a stream: encoding and delimiter are guessed, quotes and line breaks inside quotes are understood. The memory is
 * bounded by the longest row.
 */
import { createReadStream } from 'node:fs'
import { columnsOf } from './columns.ts'
import { longestCell, mostColumns, mostRows, type Row, type Table, TableTrouble, tooLarge } from './table.ts'

/** A chunk of a row is never longer than a cell and a chunk of the file. */
const chunkBytes = 256 * 1024

export async function readCsv(path: string): Promise<Table> {
  const encoding = await encodingOf(path)
  const delimiter = await delimiterOf(path, encoding)
  return {
    format: 'csv',
    encoding,
    delimiter,
    sheet: null,
    from1904: false,
    rows: rowsOf(textOf(path, encoding), delimiter),
  }
}

/** Reads the whole file once: a file in UTF-8 may have its first accent in the last row. */
async function encodingOf(path: string): Promise<string> {
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  let isUtf8 = true
  let first: Buffer | undefined
  for await (const chunk of createReadStream(path, { highWaterMark: chunkBytes }) as AsyncIterable<Buffer>) {
    first ??= chunk
    const marked = markOf(first)
    if (marked !== undefined) return marked
    if (chunk.includes(0)) return utf16Of(first)
    if (!isUtf8) continue
    try {
      utf8.decode(chunk, { stream: true })
    } catch {
      isUtf8 = false
    }
  }
  if (first === undefined) throw new TableTrouble({ trouble: 'empty' })
  return isUtf8 ? 'utf-8' : 'windows-1252'
}

function markOf(start: Buffer): string | undefined {
  if (start[0] === 0xff && start[1] === 0xfe) return 'utf-16le'
  if (start[0] === 0xfe && start[1] === 0xff) return 'utf-16be'
  return undefined
}

/** A text in UTF-16 without a mark has a zero in nearly every second byte; any other zero is no text. */
function utf16Of(start: Buffer): string {
  const half = Math.floor(start.length / 2)
  const zeros = (offset: number) => {
    let found = 0
    for (let at = offset; at < start.length; at += 2) if (start[at] === 0) found++
    return found
  }
  const [even, odd] = [zeros(0), zeros(1)]
  if (odd > half * 0.8 && even < half * 0.1) return 'utf-16le'
  if (even > half * 0.8 && odd < half * 0.1) return 'utf-16be'
  throw new TableTrouble({ trouble: 'type', likeness: 'binary' })
}

async function* textOf(path: string, encoding: string): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding)
  for await (const chunk of createReadStream(path, { highWaterMark: chunkBytes }) as AsyncIterable<Buffer>)
    yield decoder.decode(chunk, { stream: true })
  yield decoder.decode()
}

const delimiters = [';', '\t', ',', '|'] as const
/** Rows in which the header may be: titles come before the header. */
const firstLines = 10

/**
 * The delimiter that makes a header of one of the first rows. Without a header, of the first row with text: the most frequent delimiter outside
 * of quotes; a semicolon wins, because numbers have commas.
 */
async function delimiterOf(path: string, encoding: string): Promise<string> {
  let start = ''
  let lines: string[] = []
  for await (const text of textOf(path, encoding)) {
    start += text
    lines = start
      .replace(/^\ufeff/, '')
      .split(/[\r\n]+/)
      .filter(line => line.trim() !== '')
    if (lines.length > firstLines || start.length > chunkBytes) break
  }
  for (const line of lines.slice(0, firstLines))
    for (const delimiter of delimiters) if (isHeader(line, delimiter)) return delimiter
  const plain = (lines[0] ?? '').replace(/"[^"]*"/g, '')
  const count = (mark: string) => plain.split(mark).length - 1
  const [most] = delimiters.toSorted((a, b) => count(b) - count(a))
  return count(most!) === 0 ? ';' : most!
}

function isHeader(line: string, delimiter: string): boolean {
  try {
    columnsOf(line.split(delimiter).map(cell => cell.trim().replace(/^"|"$/g, '')))
    return true
  } catch (error) {
    if (error instanceof TableTrouble) return false
    throw error
  }
}

/**
 * A state machine over the characters; `"` inside quotes is written twice. A row without quotes, which most rows are, is split as a whole.
 */
class CsvReader {
  readonly #delimiter: string
  #rows: Row[] = []
  #cells: string[] = []
  #cell = ''
  #state: 'plain' | 'quoted' | 'quote' = 'plain'
  #number = 1
  #afterReturn = false

  constructor(delimiter: string) {
    this.#delimiter = delimiter
  }

  write(text: string): void {
    for (let at = 0; at < text.length; ) {
      const end = this.#isBetweenRows ? text.indexOf('\n', at) : -1
      const line = end < 0 ? '"' : text.slice(at, end)
      if (/["\r](?!$)|"$/.test(line)) {
        this.#take(text[at]!)
        at++
      } else {
        this.#addRow((line.endsWith('\r') ? line.slice(0, -1) : line).split(this.#delimiter))
        at = end + 1
      }
    }
  }

  end(): void {
    if (this.#cell !== '' || this.#cells.length > 0) this.#endRow()
  }

  /** The rows since the last call. */
  taken(): Row[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  get #isBetweenRows(): boolean {
    return this.#cells.length === 0 && this.#cell === '' && this.#state === 'plain' && !this.#afterReturn
  }

  #take(char: string): void {
    const isSecond = this.#afterReturn && char === '\n'
    this.#afterReturn = char === '\r' && this.#state !== 'quoted'
    if (isSecond) return
    if (this.#state === 'quoted') {
      if (char === '"') this.#state = 'quote'
      else this.#cell += char
    } else if (char === this.#delimiter) this.#endCell()
    else if (char === '\n' || char === '\r') this.#endRow()
    else if (char === '"' && this.#state === 'quote') {
      this.#cell += char
      this.#state = 'quoted'
    } else if (char === '"' && this.#cell.trim() === '') {
      this.#cell = ''
      this.#state = 'quoted'
    } else this.#cell += char
    this.#checkCell(this.#cell)
  }

  #endCell(): void {
    this.#cells.push(this.#cell)
    this.#cell = ''
    this.#state = 'plain'
    this.#checkWidth(this.#cells)
  }

  #endRow(): void {
    this.#endCell()
    const cells = this.#cells
    this.#cells = []
    this.#rows.push({ number: this.#number, cells })
    this.#count()
  }

  #addRow(cells: string[]): void {
    this.#checkWidth(cells)
    for (const cell of cells) this.#checkCell(cell)
    this.#rows.push({ number: this.#number, cells })
    this.#count()
  }

  #count(): void {
    this.#number++
    if (this.#number > mostRows + 1) throw tooLarge(`more than ${mostRows} rows`, `mais de ${mostRows} linhas`)
  }

  #checkWidth(cells: readonly string[]): void {
    if (cells.length <= mostColumns) return
    const [en, pt] = [`has more than ${mostColumns} columns`, `tem mais de ${mostColumns} colunas`]
    throw tooLarge(`row ${this.#number} ${en}`, `a linha ${this.#number} ${pt}`)
  }

  #checkCell(cell: string): void {
    if (cell.length <= longestCell) return
    const [en, pt] = [`has more than ${longestCell} characters`, `tem mais de ${longestCell} caracteres`]
    throw tooLarge(`a cell of row ${this.#number} ${en}`, `uma célula da linha ${this.#number} ${pt}`)
  }
}

async function* rowsOf(texts: AsyncIterable<string>, delimiter: string): AsyncGenerator<Row[]> {
  const reader = new CsvReader(delimiter)
  let left = ''
  let isFirst = true
  for await (const text of texts) {
    // The start of the file may have a mark. A line that goes on in the next chunk waits for its end, within bounds.
    const whole = left + (isFirst ? text.replace(/^\ufeff/, '') : text)
    isFirst = false
    const end = whole.length > 4 * chunkBytes ? whole.length : whole.lastIndexOf('\n') + 1
    reader.write(whole.slice(0, end))
    left = whole.slice(end)
    yield reader.taken()
  }
  reader.write(left)
  reader.end()
  yield reader.taken()
}
