/**
 * What a person presses. Each verb is one idempotent statement that checks the state in its own `where`; what did not
 * move is answered by the state it is in (P6: safe to press twice).
 */
import type { State } from '../core/state.ts'
import type { Db } from './db.ts'
import { freeGates } from './gate.ts'
import { sqlState } from './trouble.ts'

export interface Pressed {
  state: State
  queue: string
  moved: boolean
  /** Another job that has its key: why a rerun did not move. */
  heldBy?: string
}

// Taking worker_id away is taking the lease away: whatever the attempt still writes finds no row.
const cancel = {
  name: 'control_cancel',
  text: `
    with before as materialized (
      select id, state, queue, gated, gate_key from retoma.job
      where id = $1 and state in ('waiting', 'running', 'stalled')
      for update
    ), moved as (
      update retoma.job j
      set state = 'cancelled', last_worker = coalesce(j.worker_id, j.last_worker), worker_id = null,
        finished_at = coalesce($2::timestamptz, now()), key_hold = nullif(j.key_hold, 'final')
      from before b
      where j.id = b.id
      returning b.state, b.queue, b.gated, b.gate_key
    ), ran as (
      select * from moved where state = 'running'
    ), ${freeGates('ran', 'coalesce($2::timestamptz, now())')}
    select state from moved`,
}

// Its queue's limits may be others than when it came in.
const asQueueSays = `
  gated = coalesce((select q.gated from retoma.queue q where q.name = j.queue), false),
  gate_key = coalesce((select j.group_key from retoma.queue q where q.name = j.queue and q.grouped), '')`

// It takes its key again, as one that waits must hold it; when another job has it by now, this one stays as it is.
const rerun = {
  name: 'control_rerun',
  text: `
    update retoma.job j
    set state = 'waiting', rank = rank & ~1, run_at = coalesce($2::timestamptz, now()),
      failures = 0, crashes = 0, restarts = 0, result = null, error = null, finished_at = null,
      key_hold = case when key is not null then coalesce(key_hold, 'final') end,
      ${asQueueSays}
    where id = $1 and state in ('failed', 'skipped', 'cancelled')
      and not exists (
        select from retoma.job other
        where other.kind = j.kind and other.key = j.key and other.key_hold is not null and other.id <> j.id
      )
    returning id`,
}

const resume = {
  name: 'control_resume',
  text: `
    update retoma.job j
    set state = 'waiting', rank = rank & ~1, run_at = coalesce($2::timestamptz, now()), ${asQueueSays}
    where id = $1 and state = 'stalled'
    returning id`,
}

const stateOf = { name: 'control_state', text: `select state, queue from retoma.job where id = $1` }

const holderOf = {
  name: 'control_holder',
  text: `
    select other.id from retoma.job j
      join retoma.job other on other.kind = j.kind and other.key = j.key and other.key_hold is not null and other.id <> j.id
    where j.id = $1`,
}

const verbs = { cancel, rerun, resume }
export type ControlVerb = keyof typeof verbs

/** undefined: there is no such job. */
export async function press(db: Db, verb: ControlVerb, id: string, now: Date | null): Promise<Pressed | undefined> {
  const moved = await db.run(verbs[verb], [id, now]).catch(error => {
    // Two that take one key again at the same instant: the index lets one of them.
    if (verb === 'rerun' && sqlState(error) === '23505') return []
    throw error
  })
  const [row] = await db.run<{ state: State; queue: string }>(stateOf, [id])
  if (row === undefined) return undefined
  const [holder] = verb === 'rerun' && moved.length === 0 ? await db.run<{ id: string }>(holderOf, [id]) : []
  return { ...row, moved: moved.length > 0, ...(holder ? { heldBy: holder.id } : {}) }
}
