/** Reads dates, times and numbers as people in Brazil write them. Every function returns undefined for a text that is not understood. */

export interface LocalDate {
  year: number
  month: number
  day: number
}

const isDate = ({ year, month, day }: LocalDate): boolean =>
  year >= 1990 &&
  year <= 2100 &&
  month >= 1 &&
  month <= 12 &&
  day >= 1 &&
  day <= new Date(Date.UTC(year, month, 0)).getUTCDate()

/** The order of day and month in a date such as 03/04/2026. */
export type DateOrder = 'day_first' | 'month_first'

/** `25/12/2026`, `25-12-26`, `25.12.2026`, `2026-12-25` and `2026/12/25`; with the month first: `12/25/2026`. */
export function readDate(text: string, order: DateOrder = 'day_first'): LocalDate | undefined {
  const iso = /^(\d{4})[/.-](\d{1,2})[/.-](\d{1,2})$/.exec(text)
  const own = /^(\d{1,2})[/.-](\d{1,2})[/.-](\d{4}|\d{2})$/.exec(text)
  const [year, month, day] = iso?.slice(1).map(Number) ?? own?.slice(1).reverse().map(Number) ?? []
  if (year === undefined || month === undefined || day === undefined) return undefined
  const isTurned = iso === null && order === 'month_first'
  const date = {
    year: year < 100 ? 2000 + year : year,
    month: isTurned ? day : month,
    day: isTurned ? month : day,
  }
  return isDate(date) ? date : undefined
}

const time = /^(\d{1,2})(?:\s*[:h]\s*(\d{2})?(?::(\d{2})(?:[.,]\d+)?)?)?\s*(?:h|hs|hrs|min)?\s*(?:([ap])\.?\s?m\.?)?$/i

/** The hour, 0 to 23, of `14:30`, `14:30:59`, `14h30`, `14:30h`, `14h`, `9`, `2:30 PM`, `2:30 p.m.`; of `9:00 às 10:00` and `9h-10h` the first. */
export function readHour(text: string): number | undefined {
  const given = text.trim()
  return given.length > longestHour ? undefined : (hourOf(given) ?? startOfRange(given))
}

/** The patterns of an hour read spaces more than once: a longer text is no hour. */
const longestHour = 100

function startOfRange(text: string): number | undefined {
  const [from, to, ...more] = text.split(/\s*(?:[-–]|às|as|até|to)\s*/i)
  if (from === undefined || to === undefined || more.length > 0) return undefined
  return hourOf(to) !== undefined || /^24(?::00|h)?$/.test(to) ? hourOf(from) : undefined
}

function hourOf(text: string): number | undefined {
  const found = time.exec(text.trim())
  if (found === null) return undefined
  const [hour, minute, second] = [found[1], found[2], found[3]].map(part => Number(part ?? 0)) as [
    number,
    number,
    number,
  ]
  const half = found[4]?.toLowerCase()
  if (minute > 59 || second > 59 || hour > 23 || (half !== undefined && (hour > 12 || hour === 0))) return undefined
  if (half === undefined) return hour
  return (hour % 12) + (half === 'p' ? 12 : 0)
}

/** Date and hour in one text. A time zone at the end is ignored: the hour is the hour that is written. */
export function readInstant(text: string, order?: DateOrder): { date: LocalDate; hour: number } | undefined {
  const [day = '', time = ''] = text.split(/[T\s]+(.*)/s)
  const date = readDate(day, order)
  const hour = readHour(time.replace(/(?:Z|[+-]\d{2}:?\d{2})$/, '').trim())
  return date === undefined || hour === undefined ? undefined : { date, hour }
}

/** `1.234,5` and `1,234.5`; `1.234` is one thousand two hundred and thirty-four. */
export function readNumber(text: string): number | undefined {
  const plain = text.replace(/\s/g, '')
  if (!/^-?\d[\d.,]*$/.test(plain)) return undefined
  const number = Number(withPoint(plain))
  return Number.isFinite(number) ? number : undefined
}

function withPoint(text: string): string {
  const [comma, dot] = [text.lastIndexOf(','), text.lastIndexOf('.')]
  if (comma >= 0 && dot >= 0) return comma > dot ? text.replaceAll('.', '').replace(',', '.') : text.replaceAll(',', '')
  if (comma >= 0) return text.indexOf(',') === comma ? text.replace(',', '.') : text.replaceAll(',', '')
  return /^-?\d{1,3}(?:\.\d{3})+$/.test(text) ? text.replaceAll('.', '') : text
}

/** A day and an hour of a spreadsheet: days since 30 December 1899, or since 1904 in old workbooks of a Mac. */
export function readSerial(serial: number, from1904: boolean): { date: LocalDate; hour: number } | undefined {
  if (!(serial > 0 && serial < 80_000)) return undefined
  // Half a second more: 9:00 is stored as 0.374999.
  const seconds = Math.floor(serial * 86_400 + 0.5)
  const day = new Date((Math.floor(seconds / 86_400) - (from1904 ? 24_107 : 25_569)) * 86_400_000)
  const date = { year: day.getUTCFullYear(), month: day.getUTCMonth() + 1, day: day.getUTCDate() }
  return isDate(date) ? { date, hour: Math.floor((seconds % 86_400) / 3600) } : undefined
}
