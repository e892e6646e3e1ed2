/**
 * Counts the visits of a table per weekday and hour. A row that is not understood is dropped, and counted by its reason with an example.
 *
 * Invariant: the rows of the table without the header and the empty rows are the counted rows and the dropped rows.
 */
import { type Columns, columnsOf } from './columns.ts'
import { type Cell, type DropReason, type Row, type Table, TableTrouble } from './table.ts'
import { type DateOrder, type LocalDate, readDate, readHour, readInstant, readNumber, readSerial } from './values.ts'

export interface Demand {
  format: 'csv' | 'xlsx'
  encoding: string | null
  delimiter: string | null
  sheet: string | null
  /** How dates such as 03/04/2026 were read: with the day first, unless only the other order fits all dates. */
  date_order: DateOrder
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
  readonly order: DateOrder
  readonly #columns: Columns
  readonly #from1904: boolean
  #lost = 0

  constructor(columns: Columns, { from1904, order }: { from1904: boolean; order: DateOrder }) {
    this.order = order
    this.#columns = columns
    this.#from1904 = from1904
  }

  /** The number of dropped rows. */
  get lost(): number {
    return this.#lost
  }

  /** Returns false if the row is dropped. */
  add({ number, cells }: Row): boolean {
    this.rows++
    const read = this.#read(cells)
    if ('reason' in read) {
      this.#lost++
      const before = this.dropped.get(read.reason)
      if (before !== undefined) before.rows++
      else this.dropped.set(read.reason, { rows: 1, example: `${number}: ${JSON.stringify(read.text.slice(0, 60))}` })
      return false
    }
    const { day, hour, count } = read
    this.first = Math.min(this.first, day)
    this.last = Math.max(this.last, day)
    this.visits[weekdayOf(day)]![hour]! += count
    return true
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
    const at = serial === undefined ? readInstant(text, this.order) : readSerial(serial, this.#from1904)
    if (at !== undefined) return { day: dayOf(at.date), hour: at.hour }
    return { reason: readDate(text, this.order) === undefined ? 'bad_date' : 'no_hour', text }
  }

  #dayOf(cell: Cell | undefined): number | { reason: DropReason; text: string } {
    const text = shown(cell)
    if (text === '') return { reason: 'no_date', text }
    const serial = serialOf(cell)
    const date =
      serial === undefined
        ? (readDate(text, this.order) ?? readInstant(text, this.order)?.date)
        : readSerial(serial, this.#from1904)?.date
    return date === undefined ? { reason: 'bad_date', text } : dayOf(date)
  }

  #hourOf(cell: Cell | undefined): number | { reason: DropReason; text: string } {
    const text = shown(cell)
    if (text === '') return { reason: 'no_hour', text }
    const serial = serialOf(cell)
    // A whole number in a format of times is a number of days: 1 is 24:00, which is no hour.
    if (isTime(cell) && serial !== undefined && Number.isInteger(serial) && serial !== 0)
      return { reason: 'bad_hour', text: `${serial * 24}:00` }
    // A time of a spreadsheet is a part of a day; another whole number is an hour.
    const hour =
      serial === undefined
        ? (readHour(text) ?? readInstant(text, this.order)?.hour)
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

const isTime = (cell: Cell | undefined): boolean => typeof cell === 'object' && 'isTime' in cell

function countOf(cell: Cell | undefined): number | { reason: DropReason; text: string } {
  const text = shown(cell)
  const count = serialOf(cell) ?? readNumber(text)
  if (count === undefined || count > largestCount) return { reason: 'bad_count', text }
  return count < 0 ? { reason: 'negative_count', text } : count
}

/** The name of a column in a spreadsheet: A to Z, then AA, AB and so on. */
const columnName = (column: number): string =>
  `${column < 26 ? '' : columnName(Math.floor(column / 26) - 1)}${String.fromCharCode(65 + (column % 26))}`

/** A cell of a column in use with a formula has no value that can be trusted. */
function refuseFormulas({ number, cells }: Row, columns: Columns): void {
  for (const column of Object.values(columns)) {
    const cell = column === null ? undefined : cells[column]
    if (typeof cell === 'object' && 'formula' in cell)
      throw new TableTrouble({ trouble: 'formula', cell: cell.formula })
    if (typeof cell === 'string' && /^\s*=/.test(cell))
      throw new TableTrouble({ trouble: 'formula', cell: `${columnName(column!)}${number}` })
  }
}

const isEmpty = ({ cells }: Row): boolean => cells.every(cell => typeof cell === 'string' && cell.trim() === '')

/** Rows up to the header: titles above the header are passed by. */
const mostTitles = 10

export async function countVisits(table: Table): Promise<Demand> {
  const reader = new VisitReader(table)
  for await (const rows of table.rows) for (const row of rows) if (!isEmpty(row)) reader.add(row)
  return demandOf(table, reader.counter())
}

/** Finds the header below the titles, and counts the rows after the header, once for each order of day and month that is still possible. */
class VisitReader {
  readonly #from1904: boolean
  #columns: Columns | undefined
  #dayFirst: Counter | undefined
  #monthFirst: Counter | undefined
  #problem: { error: unknown; isWide: boolean } | undefined
  #titles = 0

  constructor({ from1904 }: Table) {
    this.#from1904 = from1904
  }

  add(row: Row): void {
    if (this.#columns === undefined || this.#dayFirst === undefined) {
      this.#findHeader(row)
      return
    }
    refuseFormulas(row, this.#columns)
    const isRead = this.#dayFirst.add(row)
    // A date that exists only with the day first decides for the whole table.
    if (this.#monthFirst?.add(row) === false && isRead) this.#monthFirst = undefined
  }

  /** Throws the trouble of a table without a header. */
  counter(): Counter {
    if (this.#dayFirst === undefined) throw this.#problem?.error ?? new TableTrouble({ trouble: 'empty' })
    return this.#monthFirst !== undefined && this.#monthFirst.lost < this.#dayFirst.lost
      ? this.#monthFirst
      : this.#dayFirst
  }

  #findHeader(row: Row): void {
    try {
      this.#columns = columnsOf(row.cells)
    } catch (error) {
      // The first row with several cells is probably meant to be the header.
      const isWide = row.cells.filter(cell => shown(cell) !== '').length > 1
      if (this.#problem === undefined || (isWide && !this.#problem.isWide)) this.#problem = { error, isWide }
      if (++this.#titles >= mostTitles) throw this.#problem.error
      return
    }
    this.#dayFirst = new Counter(this.#columns, { from1904: this.#from1904, order: 'day_first' })
    this.#monthFirst = new Counter(this.#columns, { from1904: this.#from1904, order: 'month_first' })
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
      reasons: reasons.map(({ reason, example }) => ({ reason, example })),
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
    date_order: counter.order,
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
