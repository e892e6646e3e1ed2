/** Proposes guards for the tables of a database. The database need not contain Retoma, and stays unchanged. */

import { openDb } from '../database/db.ts'
import { type Log, silentLog } from '../lib/logging/log.ts'
import { type GuardProposal, proposeGuard, statusOf } from './model/guard-proposal.ts'
import { guardCandidates, valuesIn } from './sql/guard-candidates.ts'

/** A longer list would not be read. */
const most = 20

export async function proposeGuards(
  databaseUrl: string,
  log: Log = silentLog,
  schema?: string,
): Promise<GuardProposal[]> {
  const db = openDb({ url: databaseUrl, connections: 1, schema, log })
  const proposals: GuardProposal[] = []
  try {
    for (const table of await guardCandidates(db)) {
      if (proposals.length === most) break
      const status = table.columns.find(({ name }) => name === statusOf(table)?.name)
      if (status === undefined) continue
      const values = status.labels === null ? await valuesIn(db, table, status) : []
      const proposal = proposeGuard(table, values)
      if (proposal !== undefined) proposals.push(proposal)
    }
    return proposals
  } finally {
    await db.close()
  }
}
