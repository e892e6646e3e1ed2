/**
 * Reads the first sheet of a workbook (.xlsx) as a stream: the ZIP with yauzl, the XML with htmlparser2, which expands no entities of a
 * document.
 *
 * Invariant: at most `mostUnpacked` bytes are unpacked, whatever sizes the ZIP declares, so that a bomb ends early. Nothing of a workbook is
 * executed: a workbook with macros is refused, and a formula is not computed.
 */
import { Parser } from 'htmlparser2'
import { type Entry, openPromise, type ZipFile } from 'yauzl'
import { type Cell, longestCell, mostColumns, mostRows, type Row, type Table, TableTrouble, tooLarge } from './table.ts'

const megabyte = 1024 * 1024
const mostUnpacked = 1024 * megabyte
/** Texts that cells share; they are in memory as a whole. */
const mostShared = 64 * megabyte
const mostEntries = 10_000

export async function readXlsx(path: string): Promise<Table> {
  const book = await openBook(path)
  const { sheet, part, from1904 } = await firstSheet(book)
  const shared = await sharedTexts(book)
  return { format: 'xlsx', encoding: null, delimiter: null, sheet, from1904, rows: rowsOf(book, part, shared) }
}

interface Book {
  zip: ZipFile
  entries: Map<string, Entry>
  /** Bytes unpacked so far, of all entries. */
  unpacked: number
}

const corrupt = (problem: unknown): TableTrouble =>
  new TableTrouble({ trouble: 'corrupt', problem: String((problem as Error)?.message ?? problem).slice(0, 300) })

async function openBook(path: string): Promise<Book> {
  const entries = new Map<string, Entry>()
  try {
    const zip = await openPromise(path, { autoClose: false, lazyEntries: true })
    for await (const entry of zip.eachEntry()) {
      if (entries.size >= mostEntries)
        throw tooLarge(`more than ${mostEntries} files inside`, `mais de ${mostEntries} arquivos dentro`)
      entries.set(entry.fileName.toLowerCase(), entry)
    }
    const names = [...entries.keys()]
    if (names.some(name => /vbaproject\.bin$|\/macrosheets\//.test(name))) throw new TableTrouble({ trouble: 'macros' })
    if (!entries.has('xl/workbook.xml')) {
      const isOffice = names.some(name => /^(word|ppt)\/|^content\.xml$/.test(name))
      throw new TableTrouble({ trouble: 'type', likeness: isOffice ? 'document' : 'archive' })
    }
    const declared = [...entries.values()].reduce((sum, each) => sum + each.uncompressedSize, 0)
    if (declared > mostUnpacked) throw bomb(declared)
    return { zip, entries, unpacked: 0 }
  } catch (error) {
    throw error instanceof TableTrouble ? error : corrupt(error)
  }
}

const bomb = (bytes: number): TableTrouble =>
  new TableTrouble({ trouble: 'bomb', megabytes: Math.round(bytes / megabyte), most: mostUnpacked / megabyte })

/** The text of an entry in chunks. */
async function* unpack(book: Book, name: string): AsyncGenerator<string> {
  const entry = book.entries.get(name.toLowerCase())
  if (entry === undefined) throw corrupt(`${name} is missing`)
  if (entry.isEncrypted()) throw new TableTrouble({ trouble: 'old_workbook' })
  const decoder = new TextDecoder('utf-8')
  try {
    const bytes = await book.zip.openReadStreamPromise(entry)
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      book.unpacked += chunk.length
      if (book.unpacked > mostUnpacked) throw bomb(book.unpacked)
      yield decoder.decode(chunk, { stream: true })
    }
    yield decoder.decode()
  } catch (error) {
    throw error instanceof TableTrouble ? error : corrupt(error)
  }
}

interface Handlers {
  open?: (tag: string, attributes: Record<string, string>) => void
  text?: (text: string) => void
  close?: (tag: string) => void
}

/** Some programs write every tag with a prefix. */
const plain = (tag: string): string => tag.slice(tag.indexOf(':') + 1)

function xmlParser({ open, text, close }: Handlers): Parser {
  return new Parser(
    {
      onopentag: (tag, attributes) => open?.(plain(tag), attributes),
      ontext: given => text?.(given),
      onclosetag: tag => close?.(plain(tag)),
    },
    { xmlMode: true },
  )
}

async function readXml(book: Book, name: string, handlers: Handlers): Promise<void> {
  const parser = xmlParser(handlers)
  for await (const chunk of unpack(book, name)) parser.write(chunk)
  parser.end()
}

async function firstSheet(book: Book): Promise<{ sheet: string; part: string; from1904: boolean }> {
  let from1904 = false
  let first: { name: string; id: string } | undefined
  await readXml(book, 'xl/workbook.xml', {
    open(tag, attributes) {
      if (tag === 'workbookPr') from1904 = /^(1|true)$/.test(attributes.date1904 ?? '')
      if (tag === 'sheet' && attributes.state !== 'hidden' && attributes.state !== 'veryHidden')
        first ??= { name: attributes.name ?? '', id: attributes['r:id'] ?? '' }
    },
  })
  if (first === undefined) throw corrupt('the workbook has no sheet')
  const { name, id } = first
  let target = 'worksheets/sheet1.xml'
  if (book.entries.has('xl/_rels/workbook.xml.rels'))
    await readXml(book, 'xl/_rels/workbook.xml.rels', {
      open(tag, attributes) {
        if (tag === 'Relationship' && attributes.Id === id) target = attributes.Target ?? target
      },
    })
  return { sheet: name.slice(0, 100), part: target.startsWith('/') ? target.slice(1) : `xl/${target}`, from1904 }
}

/** Texts by their index. */
async function sharedTexts(book: Book): Promise<string[]> {
  const name = 'xl/sharedstrings.xml'
  const entry = book.entries.get(name)
  if (entry === undefined) return []
  const texts: string[] = []
  let [text, isText, size] = ['', false, 0]
  await readXml(book, name, {
    open(tag) {
      if (tag === 'si') text = ''
      isText = tag === 't'
    },
    text(given) {
      if (!isText) return
      size += given.length
      if (size > mostShared)
        throw tooLarge('the texts of the workbook need too much memory', 'os textos da planilha ocupam memória demais')
      if (text.length < longestCell) text += given
    },
    close(tag) {
      if (tag === 't') isText = false
      if (tag === 'si') texts.push(text)
    },
  })
  return texts
}

async function* rowsOf(book: Book, part: string, shared: readonly string[]): AsyncGenerator<Row[]> {
  const reader = new SheetReader(shared)
  for await (const chunk of unpack(book, part)) {
    reader.write(chunk)
    yield reader.taken()
  }
  reader.end()
  yield reader.taken()
}

/** Turns the XML of a sheet into rows. */
class SheetReader {
  readonly #parser: Parser
  readonly #shared: readonly string[]
  #rows: Row[] = []
  #row: Row = { number: 0, cells: [] }
  #column = -1
  #type = 'n'
  #value = ''
  #formula = false
  #reads = false

  constructor(shared: readonly string[]) {
    this.#shared = shared
    this.#parser = xmlParser({
      open: (tag, attributes) => this.#open(tag, attributes),
      text: text => {
        if (this.#reads && this.#value.length < longestCell) this.#value += text
      },
      close: tag => this.#close(tag),
    })
  }

  write(chunk: string): void {
    this.#parser.write(chunk)
  }

  end(): void {
    this.#parser.end()
  }

  /** The rows since the last call. */
  taken(): Row[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  #open(tag: string, attributes: Record<string, string>): void {
    if (tag === 'row') {
      const number = Number(attributes.r ?? this.#row.number + 1)
      this.#row = { number: Number.isSafeInteger(number) ? number : this.#row.number + 1, cells: [] }
      this.#column = -1
      if (this.#row.number > mostRows) throw tooLarge(`more than ${mostRows} rows`, `mais de ${mostRows} linhas`)
    }
    if (tag === 'c') {
      const letters = /^[A-Z]{1,3}(?=\d)/.exec(attributes.r ?? '')?.[0]
      this.#column = letters === undefined ? this.#column + 1 : indexOf(letters)
      this.#type = attributes.t ?? 'n'
      this.#value = ''
      this.#formula = false
    }
    if (tag === 'f') this.#formula = true
    this.#reads = tag === 'v' || tag === 't'
  }

  #close(tag: string): void {
    this.#reads = false
    if (tag === 'row' && this.#row.cells.length > 0) this.#rows.push(this.#row)
    if (tag !== 'c') return
    const cell = this.#cell()
    if (cell === '') return
    if (this.#column >= mostColumns)
      throw tooLarge(`more than ${mostColumns} columns`, `mais de ${mostColumns} colunas`)
    while (this.#row.cells.length < this.#column) this.#row.cells.push('')
    this.#row.cells[this.#column] = cell
  }

  #cell(): Cell {
    if (this.#formula) return { formula: `${lettersOf(this.#column)}${this.#row.number}` }
    const value = this.#value
    switch (this.#type) {
      case 's':
        return this.#shared[Number(value)] ?? ''
      case 'n': {
        const serial = Number(value)
        return value.trim() === '' || !Number.isFinite(serial) ? '' : { serial }
      }
      case 'e':
        return ''
      default:
        return value
    }
  }
}

const indexOf = (letters: string): number =>
  [...letters].reduce((index, letter) => index * 26 + letter.charCodeAt(0) - 64, 0) - 1

function lettersOf(index: number): string {
  let letters = ''
  for (let left = index + 1; left > 0; left = Math.floor((left - 1) / 26))
    letters = String.fromCharCode(65 + ((left - 1) % 26)) + letters
  return letters
}
