/** Reads the stored log lines of a job: at most ten rows, each with at most 200 lines. */
import type { Db } from '../../database/db.ts'
import type { StoredLog } from '../model/job-log.ts'

// The order makes the planner read the rows of the job alone.
const view = {
  name: 'job_log_view',
  text: `
    select l.attempt, l.line_count as count, l.lines
    from (select true as found from retoma.job where id = $1) j
      left join retoma.job_log l on l.job_id = $1 and ($2::int is null or l.attempt = $2) and l.attempt >= $3
    order by l.attempt`,
}

/** Returns undefined if there is no such job. `from`: the first attempt to read. */
export async function viewJobLogs(
  db: Db,
  id: string,
  attempt: number | undefined,
  from: number,
): Promise<StoredLog[] | undefined> {
  const rows = await db.run<StoredLog | { attempt: null }>(view, [id, attempt ?? null, from])
  if (rows.length === 0) return undefined
  return rows.filter((row): row is StoredLog => row.attempt !== null)
}
