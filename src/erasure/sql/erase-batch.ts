/**
 * Erases a finished batch. From the first commit on no reader sees the batch, and the incidents and findings about the batch are deleted.
 * The jobs and all rows of the jobs follow in chunks of a cascade (batches/sql/batch-cascade.ts), run by any process.
 */

import { finalBatchStates } from '../../batches/model/batch-state.ts'
import { type Db, runOn } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { eraseIncidents } from './erase-incidents.ts'

const mark = {
  name: 'batch_erase_mark',
  text: `
    update retoma.batch
    set cascade = 'prune', cascade_chunk = 0, cascade_at = coalesce($2::timestamptz, now()), key_reserved = false
    where id = $1 and state = any ($3::text[]) and cascade is null
    returning complete_job::text as complete`,
}

// Deletes incidents and findings of the batch and of the jobs. A subject may have parts other than numbers, hence the pattern.
const eraseNotices = {
  name: 'batch_erase_incidents',
  text: `
    with ${eraseIncidents({
      incidents: `
        i.subject = 'batch:' || $1::text or starts_with(i.subject, 'batch:' || $1::text || '/')
        or (
          select j.batch_id from retoma.job j
          where j.id = case when i.subject ~ '^job:[0-9]{1,18}$' then substr(i.subject, 5)::bigint end
        ) = $1::text::bigint`,
      findings: `
        (
          select j.batch_id from retoma.job j
          where j.id = case when f.subject ~ '^job:[0-9]{1,18}$' then substr(f.subject, 5)::bigint end
        ) = $1::text::bigint`,
      also: 'select $2::bigint',
      now: nowParameter(3),
    })}
    select from old`,
}

/**
 * Returns 'marked' if this call began the erase, undefined if there is no such batch, otherwise the state of the batch. The state may be
 * final if another cascade is under way.
 */
export async function markBatchErased(db: Db, id: string, now: Date | null): Promise<'marked' | string | undefined> {
  const marked = await db.transaction(async client => {
    const run = runOn(client)
    const [row] = await run<{ complete: string | null }>(mark, [id, now, finalBatchStates])
    if (row !== undefined) await run(eraseNotices, [id, row.complete, now])
    return row !== undefined
  })
  if (marked) return 'marked'
  const [found] = await db.run<{ state: string }>(state, [id])
  return found?.state
}

const state = { name: 'batch_erase_state', text: `select state from retoma.batch where id = $1` }
