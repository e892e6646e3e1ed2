/**
 * What nobody uses any more, removed by the janitor: gates of groups, rate windows, log-ins, answers kept for a key. One
 * statement for all of them, so that an idle system pays for one; in bites, and SKIP LOCKED, so that any number of janitors may.
 */
import type { Db } from './db.ts'
import { unkeptMs } from './file-removal.ts'

const now = 'coalesce($1::timestamptz, now())'
const remove = (table: string, since: string, over: string) => `
      delete from retoma.${table}
      where ctid = any (array(select ctid from retoma.${table} where ${over} order by ${since} limit $2 for update skip locked))
      returning 1`

// A gate is kept for longer than any rate looks back.
const prune = {
  name: 'unused_prune',
  text: `
    with gates as (${remove('gate', 'used_at', `group_key <> '' and running = 0 and used_at < ${now} - interval '25 hours'`)}
    ), windows as (${remove('rate_window', 'expires_at', `expires_at < ${now}`)}
    ), log_ins as (${remove('session', 'expires_at', `expires_at <= ${now}`)}
    ), answers as (${remove('idempotency', 'at', `at <= ${now} - interval '24 hours'`)}
    )
    select greatest((select count(*) from gates), (select count(*) from windows), (select count(*) from log_ins),
      (select count(*) from answers))::int as most,
      exists (
        select from retoma.file
        where batch_id is null and job_id is null and created_at < ${now} - make_interval(secs => ${unkeptMs / 1000})
      ) as files`,
}

export interface Unused {
  /** How many it was of that which had most. */
  most: number
  /** There are files that nobody keeps: file-removal.ts takes them, for each may be large. */
  files: boolean
}

/** Deletes at most `limit` of each. */
export async function pruneUnused(db: Db, limit: number, now: Date | null): Promise<Unused> {
  const [row] = await db.run<Unused>(prune, [now, limit], 8000)
  return row!
}
