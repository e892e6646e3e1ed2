/**
 * Stores the last log lines of attempts: one row per attempt, written whole.
 *
 * Invariant: a row never loses lines to an older write. Each write has the number of lines so far, and a write with fewer lines changes
 * nothing, so a write may be repeated after a lost answer. A job keeps the lines of its last ten attempts with lines. Lines of a deleted
 * job are not written: the foreign key decides against a delete at the same time.
 */
import type { Db } from '../../database/db.ts'

export interface JobLogRow {
  id: string
  attempt: number
  /** The number of lines of the attempt so far. */
  count: number
  /** The kept lines as JSON text. */
  lines: string
}

const earlierAttempts = 9

// Each job is found alone, by the primary key, in the order of the ids, as in checkpoint.ts.
const write = {
  name: 'job_log_write',
  text: `
    with given as materialized (
      select g.*
      from unnest((select $1::bigint[]), (select $2::int[]), (select $3::int[]), (select $4::json[])) as g (id, attempt, line_count, lines)
      where (select true from retoma.job j where j.id = g.id)
      order by g.id, g.attempt
    ), old as (
      delete from retoma.job_log o
      using given g
      where o.job_id = any (array[g.id]) and o.attempt <= (
        select l.attempt from retoma.job_log l
        where l.job_id = g.id and l.attempt < g.attempt
        order by l.attempt desc
        offset ${earlierAttempts} limit 1
      )
    )
    insert into retoma.job_log as l (job_id, attempt, line_count, lines, at)
    select id, attempt, line_count, lines, coalesce($5::timestamptz, now()) from given
    on conflict (job_id, attempt) do update
    set line_count = excluded.line_count, lines = excluded.lines, at = excluded.at
    where l.line_count < excluded.line_count`,
}

export async function writeJobLogs(db: Db, rows: readonly JobLogRow[], now: Date | null): Promise<void> {
  await db.run(write, [
    rows.map(row => row.id),
    rows.map(row => row.attempt),
    rows.map(row => row.count),
    rows.map(row => row.lines),
    now,
  ])
}
