/**
 * Counts the visits of a table per weekday and hour. A row that is not understood is dropped, and counted by its reason with an example.
 *
 * Invariant: the rows of the table without the header and the empty rows are the counted rows and the dropped rows.
 */
import { type Columns, columnsOf } from './columns.ts'
import { type Cell, type Row, type Table, TableTrouble } from './table.ts'
import { type LocalDate, readDate, readHour, readInstant, readNumber, readSerial } from './values.ts'

export type DropReason = 'no_date' | 'bad_date' | 'no_hour' | 'bad_hour' | 'bad_count' | 'negative_count'

export interface Demand {
  format: 'csv' | 'xlsx'
  encoding: string | null
  delimiter: string | null
  sheet: string | null
  rows: number
  visits: number
  /** First and last day with a visit. */
  from: string
  to: string
  /** Days of the period, by weekday: 0 is Sunday. */
  days: number[]
  /** Weekdays and hours with visits. `average`: visits per day of the period with this weekday. */
  demand: { weekday: number; hour: number; visits: number; average: number }[]
  dropped: { rows: number; reasons: { reason: DropReason; rows: number; example: string }[] }
}

const largestCount = 1_000_000
const dayMs = 86_400_000
const dayOf = ({ year, month, day }: LocalDate): number => Date.UTC(year, month - 1, day) / dayMs
const dateOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10)
const weekdayOf = (day: number): number => (day + 4) % 7

class Counter {
  readonly visits = Array.from({ length: 7 }, () => new Array<number>(24).fill(0))
  readonly dropped = new Map<DropReason, { rows: number; example: string }>()
  rows = 0
  first = Number.POSITIVE_INFINITY
  last = Number.NEGATIVE_INFINITY
  readonly #columns: Columns
  readonly #from1904: boolean

  constructor(columns: Columns, from1904: boolean) {
    this.#columns = columns
    this.#from1904 = from1904
  }

  add({ number, cells }: Row): void {
    this.rows++
    const read = this.#read(cells)
    if ('reason' in read) {
      const before = this.dropped.get(read.reason)
      if (before !== undefined) before.rows++
      else this.dropped.set(read.reason, { rows: 1, example: `${number}: ${JSON.stringify(read.text.slice(0, 60))}` })
      return
    }
    const { day, hour, count } = read
    this.first = Math.min(this.first, day)
    this.last = Math.max(this.last, day)
    this.visits[weekdayOf(day)]![hour]! += count
  }

  #read(cells: readonly Cell[]): { day: number; hour: number; count: number } | { reason: DropReason; text: string } {
    const { instant, date, hour, count } = this.#columns
    const visits = count === null ? 1 : countOf(cells[count])
    if (typeof visits === 'object') return visits
    if (instant !== null) {
      const at = this.#instantOf(cells[instant])
      return 'reason' in at ? at : { ...at, count: visits }
    }
    const day = this.#dayOf(cells[date!])
    if (typeof day === 'object') return day
    const at = this.#hourOf(cells[hour!])
    return typeof at === 'object' ? at : { day, hour: at, count: visits }
  }

  #instantOf(cell: Cell | undefined): { day: number; hour: number } | { reason: DropReason; text: string } {
    const text = shown(cell)
    if (text === '') return { reason: 'no_date', text }
    const serial = serialOf(cell)
    const at = serial === undefined ? readInstant(text) : readSerial(serial, this.#from1904)
    if (at !== undefined) return { day: dayOf(at.date), hour: at.hour }
    return { reason: readDate(text) === undefined ? 'bad_date' : 'no_hour', text }
  }

  #dayOf(cell: Cell | undefined): number | { reason: DropReason; text: string } {
    const text = shown(cell)
    if (text === '') return { reason: 'no_date', text }
    const serial = serialOf(cell)
    const date =
      serial === undefined ? (readDate(text) ?? readInstant(text)?.date) : readSerial(serial, this.#from1904)?.date
    return date === undefined ? { reason: 'bad_date', text } : dayOf(date)
  }

  #hourOf(cell: Cell | undefined): number | { reason: DropReason; text: string } {
    const text = shown(cell)
    if (text === '') return { reason: 'no_hour', text }
    const serial = serialOf(cell)
    // A time of a spreadsheet is a part of a day; a whole number is an hour.
    const hour =
      serial === undefined
        ? readHour(text)
        : Number.isInteger(serial)
          ? readHour(String(serial))
          : Math.floor((Math.round((serial % 1) * 86_400) % 86_400) / 3600)
    return hour === undefined ? { reason: 'bad_hour', text } : hour
  }
}

const shown = (cell: Cell | undefined): string =>
  typeof cell === 'string' ? cell.trim() : cell !== undefined && 'serial' in cell ? String(cell.serial) : ''

const serialOf = (cell: Cell | undefined): number | undefined =>
  typeof cell === 'object' && 'serial' in cell ? cell.serial : undefined

function countOf(cell: Cell | undefined): number | { reason: DropReason; text: string } {
  const text = shown(cell)
  const count = serialOf(cell) ?? readNumber(text)
  if (count === undefined || count > largestCount) return { reason: 'bad_count', text }
  return count < 0 ? { reason: 'negative_count', text } : count
}

/** A cell of a column in use with a formula has no value that can be trusted. */
function refuseFormulas({ number, cells }: Row, columns: Columns): void {
  for (const column of Object.values(columns)) {
    const cell = column === null ? undefined : cells[column]
    if (typeof cell === 'object' && 'formula' in cell)
      throw new TableTrouble({ trouble: 'formula', cell: cell.formula })
    if (typeof cell === 'string' && /^\s*=/.test(cell))
      throw new TableTrouble({ trouble: 'formula', cell: `${String.fromCharCode(65 + (column! % 26))}${number}` })
  }
}

const isEmpty = ({ cells }: Row): boolean => cells.every(cell => typeof cell === 'string' && cell.trim() === '')

/** Rows above the header, such as a title. */
const mostTitles = 10

export async function countVisits(table: Table): Promise<Demand> {
  const reader = new VisitReader(table)
  for await (const rows of table.rows) for (const row of rows) if (!isEmpty(row)) reader.add(row)
  return demandOf(table, reader.counter())
}

/** Finds the header below the titles, and counts the rows after the header. */
class VisitReader {
  readonly #from1904: boolean
  #found: { columns: Columns; counter: Counter } | undefined
  #problem: unknown
  #titles = 0

  constructor({ from1904 }: Table) {
    this.#from1904 = from1904
  }

  add(row: Row): void {
    if (this.#found === undefined) {
      this.#findHeader(row)
      return
    }
    refuseFormulas(row, this.#found.columns)
    this.#found.counter.add(row)
  }

  /** Throws the trouble of a table without a header. */
  counter(): Counter {
    if (this.#found === undefined) throw this.#problem ?? new TableTrouble({ trouble: 'empty' })
    return this.#found.counter
  }

  #findHeader(row: Row): void {
    try {
      const columns = columnsOf(row.cells)
      this.#found = { columns, counter: new Counter(columns, this.#from1904) }
    } catch (error) {
      // A title has a single cell; the first wide row is the header, or the table has none.
      this.#problem ??= error
      if (row.cells.filter(cell => shown(cell) !== '').length > 1 || ++this.#titles >= mostTitles) throw error
    }
  }
}

function demandOf({ format, encoding, delimiter, sheet }: Table, counter: Counter): Demand {
  const reasons = [...counter.dropped]
    .map(([reason, { rows, example }]) => ({ reason, rows, example }))
    .sort((a, b) => b.rows - a.rows)
  const dropped = reasons.reduce((sum, { rows }) => sum + rows, 0)
  if (counter.rows === dropped)
    throw new TableTrouble({
      trouble: 'no_visits',
      dropped,
      why: reasons.map(each => `${each.reason} (${each.example})`).join('; '),
    })
  const { first, last, visits, rows } = counter
  const days = Array.from({ length: 7 }, (_, weekday) => {
    const until = last - first + 1
    const offset = (weekday - weekdayOf(first) + 7) % 7
    return offset < until ? Math.floor((until - offset - 1) / 7) + 1 : 0
  })
  const rounded = (number: number) => Math.round(number * 100) / 100
  return {
    format,
    encoding,
    delimiter,
    sheet,
    rows,
    visits: rounded(visits.flat().reduce((sum, each) => sum + each, 0)),
    from: dateOf(first),
    to: dateOf(last),
    days,
    demand: visits.flatMap((hours, weekday) =>
      hours.flatMap((count, hour) =>
        count > 0 ? [{ weekday, hour, visits: rounded(count), average: rounded(count / days[weekday]!) }] : [],
      ),
    ),
    dropped: { rows: dropped, reasons },
  }
}
