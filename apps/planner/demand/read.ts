/**
 * Reads a table of visits in a separate process (`ctx.isolated`). A problem of the file is a result; a thrown error is a problem of this code.
 */
import { startOf } from '../sniff.ts'
import { countVisits, type Demand } from './count.ts'
import { readCsv } from './csv.ts'
import { type Table, TableTrouble, type Trouble } from './table.ts'
import { readXlsx } from './xlsx.ts'

export type ReadDemand = { demand: Demand } | Trouble

export default async ({ path }: { path: string }): Promise<ReadDemand> => {
  try {
    return { demand: await countVisits(await tableOf(path)) }
  } catch (error) {
    if (error instanceof TableTrouble) return error.of
    throw error
  }
}

async function tableOf(path: string): Promise<Table> {
  const { type } = await startOf(path)
  switch (type) {
    case 'empty':
      throw new TableTrouble({ trouble: 'empty' })
    case 'zip':
      return readXlsx(path)
    case 'ole':
      throw new TableTrouble({ trouble: 'old_workbook' })
    case 'pdf':
    case 'image':
      throw new TableTrouble({ trouble: 'type', likeness: type })
    case 'gzip':
      throw new TableTrouble({ trouble: 'type', likeness: 'archive' })
    case 'text':
      return readCsv(path)
  }
}
