/** Writes a schedule as a table for a spreadsheet: UTF-8 with a mark, semicolons, no formulas. */
import type { Schedule } from './solve.ts'

/** A cell that a spreadsheet would take for a formula begins with an apostrophe. */
function cell(value: string | number): string {
  const text = typeof value === 'number' ? String(value).replace('.', ',') : value
  const plain = /^[=+\-@\t\r]/.test(text) && typeof value === 'string' ? `'${text}` : text
  return /[";\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

export const mark = '\ufeff'
export const lineOf = (cells: readonly (string | number)[]): string => `${cells.map(cell).join(';')}\r\n`

export const scheduleCsv = ({ assignments }: Schedule): string =>
  mark +
  lineOf(['data', 'turno', 'pessoa']) +
  assignments.map(({ date, shift, person }) => lineOf([date, shift, person])).join('')
