/**
 * What a person presses. Each verb is one idempotent statement that checks the state in its own `where`; what did not
 * move is answered by the state it is in (P6: safe to press twice).
 */
import type { State } from '../core/state.ts'
import type { Db } from './db.ts'

export interface Pressed {
  state: State
  queue: string
  moved: boolean
}

// Taking worker_id away is taking the lease away: whatever the attempt still writes finds no row.
const cancel = {
  name: 'control_cancel',
  text: `
    update retoma.job
    set state = 'cancelled', last_worker = coalesce(worker_id, last_worker), worker_id = null,
      finished_at = coalesce($2::timestamptz, now()), key_hold = nullif(key_hold, 'final')
    where id = $1 and state in ('waiting', 'running', 'stalled')
    returning id`,
}

const rerun = {
  name: 'control_rerun',
  text: `
    update retoma.job
    set state = 'waiting', rank = rank & ~1, run_at = coalesce($2::timestamptz, now()),
      failures = 0, crashes = 0, restarts = 0, result = null, error = null, finished_at = null
    where id = $1 and state in ('failed', 'skipped', 'cancelled')
    returning id`,
}

const resume = {
  name: 'control_resume',
  text: `
    update retoma.job
    set state = 'waiting', rank = rank & ~1, run_at = coalesce($2::timestamptz, now())
    where id = $1 and state = 'stalled'
    returning id`,
}

const stateOf = { name: 'control_state', text: `select state, queue from retoma.job where id = $1` }

const verbs = { cancel, rerun, resume }
export type ControlVerb = keyof typeof verbs

/** undefined: there is no such job. */
export async function press(db: Db, verb: ControlVerb, id: string, now: Date | null): Promise<Pressed | undefined> {
  const moved = await db.run(verbs[verb], [id, now])
  const [row] = await db.run<{ state: State; queue: string }>(stateOf, [id])
  return row && { ...row, moved: moved.length > 0 }
}
