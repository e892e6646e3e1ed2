/**
 * Writes the results of a batch for spreadsheets in Brazil: UTF-8 with a byte order mark, semicolons, decimal commas, every field in quotes
 * except the column names. A new column goes behind the others, because people rely on the positions.
 *
 * Invariant: no cell is a formula. Text of a person or of a shop stays text: a possible formula gets an apostrophe in front, which
 * spreadsheets do not show.
 */
import type { BatchResult } from './store/batches.ts'

type Cell = string | number | boolean | null

const of = (row: BatchResult, field: string) => (row.result?.[field] ?? null) as Cell
const money = (row: BatchResult, field: string) => (of(row, field) as string | null)?.replace('.', ',') ?? null

const columns: readonly [name: string, of: (row: BatchResult) => Cell][] = [
  ['id', row => row.id],
  ['description', row => row.description],
  ['kind', row => row.kind],
  ['status', row => row.status],
  ['price', row => money(row, 'price')],
  ['currency', row => of(row, 'currency')],
  ['mean', row => money(row, 'mean')],
  ['lowest', row => money(row, 'lowest')],
  ['highest', row => money(row, 'highest')],
  ['prices_found', row => of(row, 'prices_found')],
  ['prices_used', row => of(row, 'prices_used')],
  ['coefficient_of_variation', row => of(row, 'coefficient_of_variation')],
  ['confidence', row => of(row, 'confidence')],
  ['confidence_reason', row => of(row, 'confidence_reason')],
  ['error_message', row => row.error_message],
  ['completed_at', row => row.completed_at?.toISOString() ?? null],
  ['simulado', row => row.simulated],
]

const mark = '\uFEFF'

export const csvHead = (): string => `${mark}${columns.map(([name]) => name).join(';')}\r\n`

export const csvRow = (row: BatchResult): string => `${columns.map(([, cellOf]) => cell(cellOf(row))).join(';')}\r\n`

function cell(value: Cell): string {
  if (value === null) return '""'
  if (typeof value === 'number') return quoted(String(value).replace('.', ','))
  return quoted(typeof value === 'boolean' ? String(value) : harmless(value))
}

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** A formula character at the start, or behind characters that an import may strip: blanks, quotes, invisible characters. */
const formula = /^[\s"'`\p{Cf}\p{Cc}]*[=+\-@\t\r\n＝＋－＠|%]/u

const harmless = (text: string): string => (formula.test(text) ? `'${text}` : text)
