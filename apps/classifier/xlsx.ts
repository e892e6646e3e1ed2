/**
 * Writes results as a workbook (XLSX), for people whose spreadsheet asks too much about a CSV.
 *
 * Invariant: no cell is a formula. A text is written with the type of a text, which a spreadsheet never evaluates, and without characters
 * that XML does not allow.
 */
import writeExcelFile, { type SheetData } from 'write-excel-file/node'
import { type Cell, resultColumns } from './result-columns.ts'
import type { Result } from './store/results.ts'

export const xlsxType = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

/** Characters of a cell; a longer text makes a workbook that spreadsheets repair. */
const longestCell = 32_767

/** All rows are in memory: an execution has at most 2,000. */
export function xlsxOf(rows: readonly Result[], isSimulated: boolean): Promise<Buffer> {
  const names = resultColumns.map(([name]) => ({ value: name, type: String, fontWeight: 'bold' as const }))
  const data: SheetData = [names, ...rows.map(row => resultColumns.map(([, of]) => cellOf(of(row, isSimulated))))]
  return writeExcelFile(data, { sheet: 'Resultados', stickyRowsCount: 1 }).toBuffer()
}

function cellOf(value: Cell) {
  if (value === null || value === '') return null
  if (typeof value === 'number') return { value, type: Number }
  if (typeof value === 'boolean') return { value, type: Boolean }
  if (typeof value === 'object') return { value: Number(value.money), type: Number, format: '0.000000' }
  return { value: allowed(value).slice(0, longestCell).toWellFormed(), type: String }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: XML does not allow these characters
const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

const allowed = (text: string): string => text.replace(forbidden, ' ')
