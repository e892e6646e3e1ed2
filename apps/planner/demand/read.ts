/**
 * Reads a table of visits in a separate process (`ctx.isolated`). A problem of the file is a result; a thrown error is a problem of this code.
 */
import { startOf } from '../sniff.ts'
import { countVisits, type Demand } from './count.ts'
import { readCsv } from './csv.ts'
import { type Table, TableTrouble, type Trouble } from './table.ts'
import { withSheets } from './xlsx.ts'

export type ReadDemand = { demand: Demand } | Trouble

export default async ({ path }: { path: string }): Promise<ReadDemand> => {
  try {
    return { demand: await demandOf(path) }
  } catch (error) {
    if (error instanceof TableTrouble) return error.of
    throw error
  }
}

async function demandOf(path: string): Promise<Demand> {
  const { type } = await startOf(path)
  switch (type) {
    case 'empty':
      throw new TableTrouble({ trouble: 'empty' })
    case 'zip':
      return withSheets(path, firstDemand)
    case 'ole':
      throw new TableTrouble({ trouble: 'old_workbook' })
    case 'pdf':
    case 'image':
      throw new TableTrouble({ trouble: 'type', likeness: type })
    case 'gzip':
      throw new TableTrouble({ trouble: 'type', likeness: 'archive' })
    case 'text':
      return countVisits(await readCsv(path))
  }
}

/** The demand of the first sheet with a header. If no sheet has one, the first sheet with rows is the trouble. */
async function firstDemand(sheets: readonly Table[]): Promise<Demand> {
  let trouble = new TableTrouble({ trouble: 'empty' })
  for (const sheet of sheets) {
    try {
      return await countVisits(sheet)
    } catch (error) {
      const isOther = error instanceof TableTrouble && ['empty', 'header'].includes(error.of.trouble)
      if (!isOther) throw error
      if (trouble.of.trouble === 'empty') trouble = error
    }
  }
  throw trouble
}
