/**
 * Prunes expired rows for the janitor: limit counters of groups, rate windows, login sessions, stored responses, the history of queues,
 * schedules that no process has. A single statement for all tables, so an idle system pays for one; in chunks with SKIP LOCKED, so any number of janitors
 * may run.
 */

import { someBatchPastOwnRetention } from '../../batches/sql/batch-cascade.ts'
import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { unkeptMs } from '../../files/sql/file-removal.ts'
import { someJobPastOwnRetention } from '../../jobs/sql/prune-jobs.ts'
import { isPastHour, isPastMinute } from '../../metrics/sql/queue-history.ts'
import { isForgotten } from '../../schedules/schedule.sql.ts'

const now = nowParameter(1)
const remove = (table: string, since: string, over: string) => `
      delete from retoma.${table}
      where ctid = any (array(select ctid from retoma.${table} where ${over} order by ${since} limit $2 for update skip locked))
      returning 1`

// A limit counter is kept longer than any rate looks back.
const prune = {
  name: 'expired_rows_prune',
  text: `
    with gates as (${remove('limit_counter', 'used_at', `group_key <> '' and running = 0 and used_at < ${now} - interval '25 hours'`)}
    ), windows as (${remove('rate_window', 'expires_at', `expires_at < ${now}`)}
    ), log_ins as (${remove('session', 'expires_at', `expires_at <= ${now}`)}
    ), answers as (${remove('idempotency', 'at', `at <= ${now} - interval '24 hours'`)}
    ), minutes as (${remove('queue_history', 'at', isPastMinute(now))}
    ), hours as (${remove('queue_history', 'at', isPastHour(now))}
    ), schedules as (
      delete from retoma.schedule where ${isForgotten(now)} returning name
    )
    select greatest((select count(*) from gates), (select count(*) from windows), (select count(*) from log_ins),
      (select count(*) from answers), (select count(*) from minutes), (select count(*) from hours))::int as most,
      exists (
        select from retoma.file
        where batch_id is null and job_id is null and shares = 0 and created_at < ${now} - make_interval(secs => ${unkeptMs / 1000})
      ) as files,
      ${someJobPastOwnRetention(now)} as jobs, ${someBatchPastOwnRetention(now)} as batches,
      array(select name from schedules order by name) as schedules`,
}

export interface ExpiredRows {
  /** The largest number of rows deleted from a table. */
  most: number
  /** Files without an owner exist; files/sql/file-removal.ts deletes them, because each may be large. */
  files: boolean
  /** Jobs are past a retention of their own. */
  jobs: boolean
  /** Batches are past a retention of their own. */
  batches: boolean
  /** The removed schedules. */
  schedules: string[]
}

/** Deletes at most `limit` rows of each table. */
export async function pruneExpiredRows(db: Db, limit: number, now: Date | null): Promise<ExpiredRows> {
  const [row] = await db.run<ExpiredRows>(prune, [now, limit], 8000)
  return row!
}
