/**
 * Erases jobs in a final state, each with its steps, failures, events, files, incidents and findings, and its name in the
 * batch.
 *
 * Invariant: a single statement under the job's lock, so either the job exists with everything or nothing is left. A job
 * retried at the same instant either stays and continues, or is not found. The unique key is free afterwards; the next
 * enqueue with the key creates another job. The batch still counts an erased item.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { finalStates } from '../../jobs/model/state.ts'
import { eraseIncidents } from './erase-incidents.ts'

const erase = {
  name: 'job_erase',
  text: `
    with erased as materialized (
      select id, batch_id, ref from retoma.job where id = any ($1::bigint[]) and state = any ($2::text[]) order by id for update
    ), unnamed as (
      update retoma.batch_count c
      set last_ref = null
      from erased e
      where c.batch_id = any (array[e.batch_id]) and c.last_ref = e.ref
    ), ${eraseIncidents({
      incidents: `i.subject = any (array(select 'job:' || id from erased))`,
      findings: `f.subject = any (array(select 'job:' || id from erased))`,
      also: 'select id from erased',
      now: nowParameter(3),
    })}
    select id from erased`,
}

/** Erases the jobs that are in a final state; returns their number. */
export async function eraseJobs(db: Db, ids: readonly string[], now: Date | null): Promise<number> {
  return (await db.run(erase, [ids, finalStates, now])).length
}

/**
 * Returns 'erased', or the reason why not: undefined if the job does not exist, else its state, which may be final by
 * now.
 */
export async function eraseJob(db: Db, id: string, now: Date | null): Promise<'erased' | string | undefined> {
  if ((await eraseJobs(db, [id], now)) > 0) return 'erased'
  const [found] = await db.run<{ state: string }>(state, [id])
  return found?.state
}

const state = { name: 'job_erase_state', text: `select state from retoma.job where id = $1` }
