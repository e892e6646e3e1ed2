/** Reads the visible sheets of a workbook (.xlsx) as streams. A workbook with macros is refused. */
import { FileTrouble, openWorkbook, openZip, type Zip } from '@retoma/office-files'
import { type Table, TableTrouble } from './table.ts'

const limits = { entries: 10_000, unpackedBytes: 1024 * 1024 * 1024 }
const mostSheets = 20

/** Opens the workbook for the time of `work`, which gets the visible sheets. Throws TableTrouble. */
export async function withSheets<T>(path: string, work: (sheets: readonly Table[]) => Promise<T>): Promise<T> {
  let zip: Zip | undefined
  try {
    zip = await openZip(path, limits)
    return await work(await sheetsOf(zip))
  } catch (error) {
    if (!(error instanceof FileTrouble)) throw error
    if (error.of.trouble === 'path_outside') throw new TableTrouble({ trouble: 'corrupt', problem: error.message })
    throw new TableTrouble(error.of.trouble === 'encrypted' ? { trouble: 'old_workbook' } : error.of)
  } finally {
    zip?.close()
  }
}

async function sheetsOf(zip: Zip): Promise<Table[]> {
  const hasEntry = (pattern: RegExp) => zip.entries.some(({ name }) => pattern.test(name))
  if (hasEntry(/vbaproject\.bin$|\/macrosheets\//i)) throw new TableTrouble({ trouble: 'macros' })
  if (!zip.has('xl/workbook.xml')) {
    const isOffice = hasEntry(/^(word|ppt)\/|^content\.xml$/i)
    const isBinary = zip.has('xl/workbook.bin')
    const likeness = isBinary ? 'binary_workbook' : isOffice ? 'document' : 'archive'
    throw new TableTrouble({ trouble: 'type', likeness })
  }
  const { sheets, from1904, rows } = await openWorkbook(zip)
  return sheets.slice(0, mostSheets).map(({ name: sheet, part }) => ({
    format: 'xlsx',
    encoding: null,
    delimiter: null,
    sheet,
    from1904,
    rows: rows(part),
  }))
}
