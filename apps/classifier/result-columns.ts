/**
 * Defines the columns of the tables with results, for the CSV and the XLSX. A new column goes behind the others, because people rely on the
 * positions.
 */
import { cents, currency, exactly } from './money.ts'
import type { Result } from './store/results.ts'

/** Money is a decimal text with a point, marked, because each format writes numbers in its own way. */
export type Cell = string | number | boolean | { money: string } | null

const money = (text: string | null): Cell => (text === null ? null : { money: text })

/** `isSimulated`: the value for rows without an answer. */
export const resultColumns: readonly [name: string, of: (row: Result, isSimulated: boolean) => Cell][] = [
  ['codigo', row => row.codigo],
  ['categoria', row => row.categoria],
  ['confianca', row => row.confianca],
  ['justificativa', row => row.justificativa],
  ['status', row => row.status],
  ['modelo', row => row.modelo],
  ['tokens_entrada', row => row.tokens_entrada],
  ['tokens_saida', row => row.tokens_saida],
  ['custo_usd', row => money(cents(row.custo_usd))],
  ['simulado', (row, isSimulated) => row.simulado ?? isSimulated],
  ['moeda', () => currency],
  ['custo_usd_exato', row => money(exactly(row.custo_usd))],
  ['erro_mensagem', row => row.erro_mensagem],
  ['categoria_ia', row => row.categoria_ia],
  ['revisao', row => row.revisao],
  ['revisado_por', row => row.revisado_por],
  ['revisado_em', row => row.revisado_em?.toISOString() ?? null],
  ['categorias', row => row.categorias.filter(each => each !== null).join(' | ') || null],
  ['ocr', row => row.ocr],
  ['ocr_paginas', row => row.ocr_paginas],
  ['ocr_confianca', row => row.ocr_confianca],
  ['ocr_segundos', row => row.ocr_segundos],
]
