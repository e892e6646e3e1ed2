/** The rows of a table, whatever its format, and the troubles of a file that is no usable table. */
import type { Row } from '@retoma/office-files'

export { type Cell, longestCell, mostColumns, mostRows, type Row } from '@retoma/office-files'

export interface Table {
  format: 'csv' | 'xlsx'
  /** null: of a spreadsheet. */
  encoding: string | null
  delimiter: string | null
  sheet: string | null
  /** Days of a spreadsheet count from 1904. */
  from1904: boolean
  /** In chunks, because 500,000 turns of the event loop take longer than the rows. */
  rows: AsyncIterable<Row[]>
}

/** Why a row is dropped. */
export type DropReason = 'no_date' | 'bad_date' | 'no_hour' | 'bad_hour' | 'bad_count' | 'negative_count'

export type Trouble =
  | { trouble: 'empty' | 'macros' | 'old_workbook' }
  | { trouble: 'type'; likeness: 'binary' | 'pdf' | 'image' | 'archive' | 'document' | 'binary_workbook' }
  | { trouble: 'corrupt'; problem: string }
  | { trouble: 'too_large'; en: string; pt: string }
  | { trouble: 'bomb'; megabytes: number; most: number }
  | { trouble: 'formula'; cell: string }
  | { trouble: 'header'; en: string; pt: string; columns: string[] }
  | { trouble: 'no_visits'; dropped: number; reasons: { reason: DropReason; example: string }[] }

/** Ends the reading of a file; the module of the child returns the trouble. */
export class TableTrouble extends Error {
  readonly of: Trouble

  constructor(of: Trouble) {
    super(of.trouble)
    this.of = of
  }
}

export const tooLarge = (en: string, pt: string): TableTrouble => new TableTrouble({ trouble: 'too_large', en, pt })
