/**
 * Erases a job in a final state, with its steps, failures, events, files, incidents and findings, and its name in the
 * batch.
 *
 * Invariant: a single statement under the job's lock, so either the job exists with everything or nothing is left. A job
 * retried at the same instant either stays and continues, or is not found. The unique key is free afterwards; the next
 * enqueue with the key creates another job. The batch still counts an erased item.
 */

import type { Db } from '../../database/db.ts'
import { finalStates } from '../../jobs/model/state.ts'
import { eraseIncidents } from './erase-incidents.ts'

const erase = {
  name: 'job_erase',
  text: `
    with erased as materialized (
      select id, batch_id, ref from retoma.job where id = $1 and state = any ($2::text[]) for update
    ), unnamed as (
      update retoma.batch_count c
      set last_ref = null
      from erased e
      where c.batch_id = any (array[e.batch_id]) and c.last_ref = e.ref
    ), ${eraseIncidents({
      incidents: `i.subject = (select 'job:' || id from erased)`,
      findings: `f.subject = (select 'job:' || id from erased)`,
      also: 'select id from erased',
      now: 'coalesce($3::timestamptz, now())',
    })}
    select id from erased`,
}

/**
 * Returns 'erased', or the reason why not: undefined if the job does not exist, else its state, which may be final by
 * now.
 */
export async function eraseJob(db: Db, id: string, now: Date | null): Promise<'erased' | string | undefined> {
  if ((await db.run(erase, [id, finalStates, now])).length > 0) return 'erased'
  const [found] = await db.run<{ state: string }>(state, [id])
  return found?.state
}

const state = { name: 'job_erase_state', text: `select state from retoma.job where id = $1` }
