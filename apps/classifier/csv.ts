/**
 * Writes results for spreadsheets in Brazil: UTF-8 with a byte order mark, semicolons, decimal commas, every field in quotes except the
 * column names. A new column goes behind the others, because people rely on the positions.
 *
 * Invariant: no cell is a formula. Text of a document or of an AI stays text: a possible formula gets an apostrophe in front, which
 * spreadsheets do not show.
 */
import { cents, currency, exactly } from './money.ts'
import type { Result } from './store/results.ts'

type Cell = string | number | boolean | null

/** `isSimulated`: the value for rows without an answer. */
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

/** Never with an exponent, which some spreadsheets do not read as a number. */
const decimal = (value: number): string =>
  (Number.isInteger(value) ? String(value) : value.toFixed(6).replace(/(?<!0)0+$/, '')).replace('.', ',')

const comma = (digits: string | null): string | null => digits?.replace('.', ',') ?? null

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** A formula character at the start, or behind characters that an import may strip: blanks, quotes, invisible characters. */
const formula = /^[\s"'`\p{Cf}\p{Cc}]*[=+\-@\t\r\n＝＋－＠|%]/u

const harmless = (text: string): string => (formula.test(text) ? `'${text}` : text)
