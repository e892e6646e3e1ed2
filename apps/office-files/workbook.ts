/**
 * Reads the sheets of a workbook (.xlsx) as streams of rows.
 *
 * Invariant: nothing of a workbook is executed, and no formula is computed. The texts that cells share are the only part in memory as a
 * whole, within `mostShared`.
 */
import type { Parser } from 'htmlparser2'
import { corrupt, tooLarge } from './trouble.ts'
import { readXml, xmlParser } from './xml.ts'
import type { Zip } from './zip.ts'

/**
 * A date of a spreadsheet is a number in days. `isTime`: the format of the cell shows a time without a day. `formula`: the cell is computed, and
 * `shown` is the value that was saved with the cell.
 */
export type Cell = string | { serial: number; isTime?: true } | { formula: string; shown: string }

export interface Row {
  /** As a person counts the rows: the first row of the file is 1. */
  number: number
  cells: Cell[]
}

export const mostRows = 2_000_000
export const mostColumns = 1000
/** Characters of a cell. */
export const longestCell = 32_767

const mostShared = 64 * 1024 * 1024
const mostSheets = 1000

export interface Workbook {
  /** The visible sheets in their order, with at least one. */
  sheets: readonly { name: string; part: string }[]
  /** Days count from 1904. */
  from1904: boolean
  /** In chunks, because 500,000 turns of the event loop take longer than the rows. */
  rows(part: string): AsyncGenerator<Row[]>
}

/** Throws FileTrouble. `zip` has xl/workbook.xml. */
export async function openWorkbook(zip: Zip): Promise<Workbook> {
  const { sheets, from1904 } = await sheetsOf(zip)
  const shared = await sharedTexts(zip)
  const timeStyles = await stylesOfTimes(zip)
  return { sheets, from1904, rows: part => rowsOf(zip, part, { shared, timeStyles }) }
}

async function sheetsOf(zip: Zip): Promise<Pick<Workbook, 'sheets' | 'from1904'>> {
  let from1904 = false
  const found: { name: string; id: string }[] = []
  await readXml(zip, 'xl/workbook.xml', {
    open(tag, attributes) {
      if (tag === 'workbookPr') from1904 = /^(1|true)$/.test(attributes.date1904 ?? '')
      const isVisible = attributes.state !== 'hidden' && attributes.state !== 'veryHidden'
      if (tag === 'sheet' && isVisible && found.length < mostSheets)
        found.push({ name: attributes.name ?? '', id: attributes['r:id'] ?? '' })
    },
  })
  if (found.length === 0) throw corrupt('the workbook has no sheet')
  const targets = new Map<string, string>()
  const relations = 'xl/_rels/workbook.xml.rels'
  if (zip.has(relations))
    await readXml(zip, relations, {
      open(tag, { Id, Target }) {
        if (tag === 'Relationship' && Id !== undefined && Target !== undefined) targets.set(Id, Target)
      },
    })
  const sheets = found.map(({ name, id }, index) => {
    const target = targets.get(id) ?? `worksheets/sheet${index + 1}.xml`
    return { name: name.slice(0, 100), part: target.startsWith('/') ? target.slice(1) : `xl/${target}` }
  })
  return { sheets, from1904 }
}

/** Texts by their index. */
async function sharedTexts(zip: Zip): Promise<string[]> {
  const name = 'xl/sharedstrings.xml'
  if (!zip.has(name)) return []
  const texts: string[] = []
  let [text, isText, size] = ['', false, 0]
  await readXml(zip, name, {
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

/** Formats of times that every program knows by number: `h:mm AM/PM` to `h:mm:ss`, and `[h]:mm:ss`. */
const knownTimes: ReadonlySet<string> = new Set(['18', '19', '20', '21', '46'])
/** More than any program writes. */
const mostStyles = 65_536

/** The styles of cells, by their number, whose format shows hours without a day. */
async function stylesOfTimes(zip: Zip): Promise<ReadonlySet<string>> {
  const name = 'xl/styles.xml'
  const styles = new Set<string>()
  if (!zip.has(name)) return styles
  const times = new Set(knownTimes)
  let [isOfCells, index] = [false, 0]
  await readXml(zip, name, {
    open(tag, { numFmtId = '', formatCode = '' }) {
      if (tag === 'cellXfs') isOfCells = true
      if (tag === 'numFmt' && times.size < mostStyles && isTimeFormat(formatCode)) times.add(numFmtId)
      if (tag !== 'xf' || !isOfCells || index >= mostStyles) return
      if (times.has(numFmtId)) styles.add(String(index))
      index++
    },
    close(tag) {
      if (tag === 'cellXfs') isOfCells = false
    },
  })
  return styles
}

/** Quoted texts, escaped characters, and brackets with a colour or a language are no parts of a date. */
function isTimeFormat(code: string): boolean {
  const parts = code.slice(0, 255).replace(/"[^"]*"|\\.|\[(?!h)[^\]]*\]/gi, '')
  return /h/i.test(parts) && !/[dy]/i.test(parts)
}

interface BookParts {
  shared: readonly string[]
  timeStyles: ReadonlySet<string>
}

async function* rowsOf(zip: Zip, part: string, book: BookParts): AsyncGenerator<Row[]> {
  const reader = new SheetReader(book)
  for await (const chunk of zip.text(part)) {
    reader.write(chunk)
    yield reader.taken()
  }
  reader.end()
  yield reader.taken()
}

/** Turns the XML of a sheet into rows. */
class SheetReader {
  readonly #parser: Parser
  readonly #book: BookParts
  #rows: Row[] = []
  #row: Row = { number: 0, cells: [] }
  #column = -1
  #type = 'n'
  #isTime = false
  #value = ''
  #formula = false
  #reads = false

  constructor(book: BookParts) {
    this.#book = book
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
      this.#isTime = attributes.s !== undefined && this.#book.timeStyles.has(attributes.s)
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
    const value = this.#value
    if (this.#formula)
      return { formula: `${lettersOf(this.#column)}${this.#row.number}`, shown: this.#type === 'e' ? '' : value }
    switch (this.#type) {
      case 's':
        return this.#book.shared[Number(value)] ?? ''
      case 'n': {
        const serial = Number(value)
        if (value.trim() === '' || !Number.isFinite(serial)) return ''
        return this.#isTime ? { serial, isTime: true } : { serial }
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
