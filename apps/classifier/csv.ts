/**
 * Results as a spreadsheet opens them in Brazil: UTF-8 with its mark, semicolons, decimal commas, every field in quotes.
 *
 * Invariant: no cell is a formula. What a document or an AI wrote is text, and what would be read as a formula gets an
 * apostrophe in front, which spreadsheets do not show.
 */
import { dollars } from './money.ts'
import type { Result } from './store/results.ts'

type Cell = string | number | boolean | null

/** `isSimulated`: of what has no answer yet. */
const columns: readonly [name: string, of: (row: Result, isSimulated: boolean) => Cell][] = [
  ['codigo', row => row.codigo],
  ['categoria', row => row.categoria],
  ['confianca', row => row.confianca],
  ['justificativa', row => row.justificativa],
  ['status', row => row.status],
  ['modelo', row => row.modelo],
  ['tokens_entrada', row => row.tokens_entrada],
  ['tokens_saida', row => row.tokens_saida],
  ['custo_usd', row => (row.custo_usd === null ? null : Number(dollars(row.custo_usd)))],
  ['simulado', (row, isSimulated) => row.simulado ?? isSimulated],
]

const mark = '\uFEFF'

export const csvHead = (): string => mark + line(columns.map(([name]) => name))

export const csvRow = (row: Result, isSimulated: boolean): string => line(columns.map(([, of]) => of(row, isSimulated)))

const line = (cells: readonly Cell[]): string => `${cells.map(cell).join(';')}\r\n`

function cell(value: Cell): string {
  if (value === null) return '""'
  if (typeof value === 'boolean') return quoted(String(value))
  if (typeof value === 'number') return quoted(decimal(value))
  return quoted(harmless(value))
}

/** Never in powers of ten, which not every spreadsheet reads as a number. */
const decimal = (value: number): string =>
  (Number.isInteger(value) ? String(value) : value.toFixed(6).replace(/0+$/, '')).replace('.', ',')

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** First on its own, or behind what an import may strip: blanks, quotes, marks that are not seen. */
const formula = /^[\s"'`\p{Cf}\p{Cc}]*[=+\-@\t\r\n＝＋－＠|%]/u
const plainNumber = /^-?\d+(?:[.,]\d+)?$/

function harmless(text: string): string {
  return formula.test(text) && !plainNumber.test(text) ? `'${text}` : text
}
