/**
 * Writes results for spreadsheets in Brazil: UTF-8 with a byte order mark, semicolons, decimal commas, every field in quotes except the
 * column names.
 *
 * Invariant: no cell is a formula. Text of a document or of an AI stays text: a possible formula gets an apostrophe in front, which
 * spreadsheets do not show.
 */
import { type Cell, resultColumns } from './result-columns.ts'
import type { Result } from './store/results.ts'

const mark = '\uFEFF'

export const csvHead = (): string => `${mark}${resultColumns.map(([name]) => name).join(';')}\r\n`

export const csvRow = (row: Result, isSimulated: boolean): string =>
  `${resultColumns.map(([, of]) => cell(of(row, isSimulated))).join(';')}\r\n`

function cell(value: Cell): string {
  if (value === null) return '""'
  if (typeof value === 'boolean') return quoted(String(value))
  if (typeof value === 'number') return quoted(decimal(value))
  if (typeof value === 'object') return quoted(value.money.replace('.', ','))
  return quoted(harmless(value))
}

/** Never with an exponent, which some spreadsheets do not read as a number. */
const decimal = (value: number): string =>
  (Number.isInteger(value) ? String(value) : value.toFixed(6).replace(/(?<!0)0+$/, '')).replace('.', ',')

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** A formula character at the start, or behind characters that an import may strip: blanks, quotes, invisible characters. */
const formula = /^[\s"'`\p{Cf}\p{Cc}]*[=+\-@\t\r\n＝＋－＠|%]/u

const harmless = (text: string): string => (formula.test(text) ? `'${text}` : text)
