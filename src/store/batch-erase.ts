/**
 * A batch that is over is erased: from the first commit on it is gone for everybody, and so is what was told of it. Its jobs, with
 * all that is theirs, follow in bites (batch-bite.ts), whoever takes them.
 */
import { finalBatchStates } from '../core/batch-state.ts'
import { type Db, runOn } from './db.ts'
import { forgetTold } from './told.ts'

const mark = {
  name: 'batch_erase_mark',
  text: `
    update retoma.batch
    set todo = 'prune', todo_chunk = 0, todo_at = coalesce($2::timestamptz, now()), key_held = false
    where id = $1 and state = any ($3::text[]) and todo is null
    returning complete_job::text as complete`,
}

// Of the batch and of its jobs. Some parts of a subject are no numbers.
const told = {
  name: 'batch_erase_told',
  text: `
    with ${forgetTold({
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
      now: 'coalesce($3::timestamptz, now())',
    })}
    select from old`,
}

/** 'marked', or why not: undefined, there is none; else its state, which may be final when something still has to follow. */
export async function markErased(db: Db, id: string, now: Date | null): Promise<'marked' | string | undefined> {
  const marked = await db.transaction(async client => {
    const run = runOn(client)
    const [row] = await run<{ complete: string | null }>(mark, [id, now, finalBatchStates])
    if (row !== undefined) await run(told, [id, row.complete, now])
    return row !== undefined
  })
  if (marked) return 'marked'
  const [found] = await db.run<{ state: string }>(state, [id])
  return found?.state
}

const state = { name: 'batch_erase_state', text: `select state from retoma.batch where id = $1` }
