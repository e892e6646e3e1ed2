/**
 * Results as a spreadsheet opens them in Brazil: UTF-8 with its mark, semicolons, decimal commas, every field in quotes but the
 * names of the columns, which need none. A new column stands behind the others, whose places people rely on.
 *
 * Invariant: no cell is a formula. What a document or an AI wrote is text, and what would be read as a formula gets an
 * apostrophe in front, which spreadsheets do not show.
 */
import { cents, currency, exactly } from './money.ts'
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
  ['custo_usd', row => comma(cents(row.custo_usd))],
  ['simulado', (row, isSimulated) => row.simulado ?? isSimulated],
  ['moeda', () => currency],
  ['custo_usd_exato', row => comma(exactly(row.custo_usd))],
  ['erro_mensagem', row => row.erro_mensagem],
]

const mark = '\uFEFF'

export const csvHead = (): string => `${mark}${columns.map(([name]) => name).join(';')}\r\n`

export const csvRow = (row: Result, isSimulated: boolean): string =>
  `${columns.map(([, of]) => cell(of(row, isSimulated))).join(';')}\r\n`

function cell(value: Cell): string {
  if (value === null) return '""'
  if (typeof value === 'boolean') return quoted(String(value))
  if (typeof value === 'number') return quoted(decimal(value))
  return quoted(harmless(value))
}

/** Never in powers of ten, which not every spreadsheet reads as a number. */
const decimal = (value: number): string =>
  (Number.isInteger(value) ? String(value) : value.toFixed(6).replace(/(?<!0)0+$/, '')).replace('.', ',')

const comma = (digits: string | null): string | null => digits?.replace('.', ',') ?? null

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** First on its own, or behind what an import may strip: blanks, quotes, marks that are not seen. */
const formula = /^[\s"'`\p{Cf}\p{Cc}]*[=+\-@\t\r\n＝＋－＠|%]/u

const harmless = (text: string): string => (formula.test(text) ? `'${text}` : text)
