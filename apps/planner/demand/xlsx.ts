/** Reads the first visible sheet of a workbook (.xlsx) as a stream. A workbook with macros is refused. */
import { FileTrouble, openWorkbook, openZip } from '@retoma/office-files'
import { type Row, type Table, TableTrouble } from './table.ts'

const limits = { entries: 10_000, unpackedBytes: 1024 * 1024 * 1024 }

export const readXlsx = (path: string): Promise<Table> => told(() => tableIn(path))

async function tableIn(path: string): Promise<Table> {
  const zip = await openZip(path, limits)
  const hasEntry = (pattern: RegExp) => zip.entries.some(({ name }) => pattern.test(name))
  if (hasEntry(/vbaproject\.bin$|\/macrosheets\//i)) throw new TableTrouble({ trouble: 'macros' })
  if (!zip.has('xl/workbook.xml')) {
    const isOffice = hasEntry(/^(word|ppt)\/|^content\.xml$/i)
    throw new TableTrouble({ trouble: 'type', likeness: isOffice ? 'document' : 'archive' })
  }
  const { sheets, from1904, rows } = await openWorkbook(zip)
  const { name: sheet, part } = sheets[0]!
  return { format: 'xlsx', encoding: null, delimiter: null, sheet, from1904, rows: rowsOf(rows(part)) }
}

async function* rowsOf(rows: AsyncGenerator<Row[]>): AsyncGenerator<Row[]> {
  for (;;) {
    const { done, value } = await told(() => rows.next())
    if (done) return
    yield value
  }
}

/** Turns a problem of the file into a trouble of the table. */
async function told<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof FileTrouble)) throw error
    if (error.of.trouble === 'path_outside') throw new TableTrouble({ trouble: 'corrupt', problem: error.message })
    throw new TableTrouble(error.of.trouble === 'encrypted' ? { trouble: 'old_workbook' } : error.of)
  }
}
