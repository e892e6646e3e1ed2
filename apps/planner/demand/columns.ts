/** Finds the columns of a table of visits by the words of its header. */
import { type Cell, TableTrouble } from './table.ts'

export interface Columns {
  /** Date and hour in one column. */
  instant: number | null
  date: number | null
  hour: number | null
  /** null: every row is one visit. */
  count: number | null
}

/** Words without accents and signs. The first word of a list that a header has wins. */
const words: Readonly<Record<keyof Columns, readonly string[]>> = {
  instant: [
    'data hora', 'data e hora', 'data horario', 'datahora', 'data da visita e hora', 'datetime', 'date time', 'timestamp', 'visited at',
    'created at', 'check in', 'checkin', 'entrada', 'momento', 'inicio',
  ], // biome-ignore format: in lines
  date: ['data', 'dia', 'date', 'day', 'data da visita', 'data visita', 'visit date'],
  hour: ['hora', 'horario', 'hour', 'time', 'hora da visita', 'horario da visita', 'hora de entrada'],
  count: [
    'visitas', 'quantidade', 'qtd', 'qtde', 'total', 'pessoas', 'clientes', 'visitantes', 'visits', 'visitors', 'count', 'people',
    'numero de visitas', 'numero de clientes', 'n de visitas',
  ], // biome-ignore format: in lines
}

const folded = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim()

const textOf = (cell: Cell | undefined): string =>
  cell === undefined ? '' : typeof cell === 'string' ? cell : 'serial' in cell ? String(cell.serial) : ''

/** Throws a trouble that names the columns of the header. */
export function columnsOf(header: readonly Cell[]): Columns {
  const names = header.map(cell => folded(textOf(cell)))
  const find = (column: keyof Columns): number | null => {
    const found = words[column].map(word => names.indexOf(word)).find(index => index >= 0)
    return found ?? null
  }
  const columns = { instant: find('instant'), date: find('date'), hour: find('hour'), count: find('count') }
  // A column "data" may have the hour beside the day.
  if (columns.instant === null && columns.date !== null && columns.hour === null)
    return { ...columns, instant: columns.date, date: null }
  if (columns.date !== null && columns.hour !== null) return { ...columns, instant: null }
  if (columns.instant !== null) return { ...columns, date: null, hour: null }
  const missing =
    columns.hour === null
      ? {
          en: 'a column with the date is missing, such as "data" or "data e hora"',
          pt: 'falta uma coluna com a data, como "data" ou "data e hora"',
        }
      : { en: 'a column with the date is missing, such as "data"', pt: 'falta uma coluna com a data, como "data"' }
  const shown = header.map(textOf).filter(text => text.trim() !== '')
  throw new TableTrouble({
    trouble: 'header',
    ...missing,
    columns: shown.slice(0, 20).map(text => text.slice(0, 40)),
  })
}
