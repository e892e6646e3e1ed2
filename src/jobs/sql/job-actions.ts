/**
 * Applies the action of a person to a job. Each action is one idempotent statement with the state check in the `where`. If nothing
 * changed, the answer is the current state (P6: safe to repeat).
 */

import { type Db, type Run, runOn } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { sqlState } from '../../database/pg-errors.ts'
import { runInCallerTransaction, type Transaction } from '../../database/transactions/caller-transaction.ts'
import { fingerprintOf } from '../model/error-fingerprint.ts'
import type { JobState } from '../model/state.ts'
import {
  countMoves,
  keyTakenByAnother,
  limitsOfItsQueue,
  noteBatchStates,
  noteJobActions,
  readyForRetry,
  releaseLimits,
} from './transition.ts'

export interface AppliedJobAction {
  state: JobState
  queue: string
  moved: boolean
  /** The job was running: its attempt has lost the lease. */
  ran: boolean
  /** The batch of the job. */
  batch: string | null
  /** Another job with the same unique key, the reason why this job was not run again. */
  heldBy?: string
}

// A null `worker_id` ends the lease: every later write of the attempt finds no row.
const end = (action: string, states: string, state: string, more = '') => `
    with before as materialized (
      select id, state, queue, limited, limit_key from retoma.job
      where id = $1::bigint and state in (${states})
      for update
    ), moved as (
      update retoma.job j
      set state = '${state}', last_worker = coalesce(j.worker_id, j.last_worker), worker_id = null,
        finished_at = coalesce($2::timestamptz, now()), unique_until = nullif(j.unique_until, 'final')${more}
      from before b
      where j.id = any (array[b.id])
      returning j.id, j.attempt, b.state as was, j.state, b.queue, b.limited, b.limit_key, j.batch_id, j.ref
    ), ran as (
      select * from moved where was = 'running'
    ), ${releaseLimits('ran', nowParameter(2))},
    ${countMoves('moved')},
    ${noteJobActions(action, 'moved', nowParameter(2), '$3::text')}
    select was = 'running' as ran from moved`

const cancel = { name: 'job_cancel', text: end('cancel', `'waiting', 'running', 'stalled'`, 'cancelled') }

const skip = {
  name: 'job_skip',
  text: end(
    'skip',
    `'waiting', 'running', 'stalled', 'failed'`,
    'skipped',
    `,
        error = jsonb_build_object('type', 'skipped', 'message', $4::text, 'code', null, 'stack', null)`,
  ),
}

const fail = {
  name: 'job_fail',
  text: end('fail', `'waiting', 'running', 'stalled'`, 'failed', `, error = $4::jsonb`),
}

// If another job has the unique key by now, the job stays as before. The batch is locked first: a finished batch is open again from here
// on, and an end found just before no longer counts.
const again = (action: string, states: string, more = '') => `
    with home as materialized (
      select b.id, b.state, b.cascade from retoma.batch b
      where b.id = (select batch_id from retoma.job where id = $1::bigint)
      for update
    ), before as materialized (
      select id, state from retoma.job j
      where id = $1::bigint and state in (${states})
        and not exists (select from home where state = 'cancelled' or cascade is not null)
        and not ${keyTakenByAnother('j')}
      for update
    ), moved as (
      update retoma.job j
      set ${more}${readyForRetry}
      from before b
      where j.id = any (array[b.id])
      returning j.id, j.attempt, b.state as was, j.state, j.batch_id, j.ref
    ), reopened as (
      update retoma.batch b
      set reopen_count = b.reopen_count + 1,
        resumes = case when b.state = 'failed' then 0 else b.resumes end,
        reason = case when b.state = 'failed' then null else b.reason end,
        finished_at = null,
        stop_baseline_failed = greatest(b.stop_baseline_failed - (m.was = 'failed')::int, 0),
        stop_baseline_finished = greatest(b.stop_baseline_finished - 1, 0),
        state = case
          when b.state not in ('succeeded', 'completed_with_failures', 'failed') then b.state
          when b.submitted_at is null then 'submitting'
          else 'running'
        end
      from moved m join home h on h.id = m.batch_id
      where b.id = any (array[h.id])
      returning b.id, h.state as was, b.state, b.reason
    ), ${noteBatchStates('reopened', nowParameter(2))},
    ${countMoves('moved')},
    ${noteJobActions(action, 'moved', nowParameter(2), '$3::text')}
    select id from moved`

const retry = { name: 'job_retry', text: again('retry', `'failed', 'skipped', 'cancelled'`) }

const rerun = {
  name: 'job_rerun',
  text: again(
    'rerun',
    `'succeeded', 'failed', 'skipped', 'cancelled'`,
    ' checkpoint = null, checkpoint_data = null, progress = null, progress_at = null,',
  ),
}

const forget = { name: 'job_delete_checkpoints', text: `delete from retoma.checkpoint where job_id = $1::bigint` }

const resume = {
  name: 'job_resume',
  text: `
    with moved as (
      update retoma.job j
      set state = 'waiting', claim_rank = claim_rank & ~1, run_at = coalesce($2::timestamptz, now()), crash_suspicion = null, ${limitsOfItsQueue}
      where id = $1::bigint and state = 'stalled'
      returning j.id, j.attempt, 'stalled' as was, j.state, j.batch_id, j.ref
    ),
    ${countMoves('moved')},
    ${noteJobActions('resume', 'moved', nowParameter(2), '$3::text')}
    select id from moved`,
}

const stateOf = {
  name: 'job_state',
  text: `select state, queue, batch_id as batch from retoma.job where id = $1::bigint`,
}

const holderOf = {
  name: 'job_key_holder',
  text: `
    select other.id
    from retoma.job j
      cross join lateral (
        select id from retoma.job o
        where o.kind = j.kind and o.key = j.key and o.unique_until is not null and o.id <> j.id
        limit 1
      ) other
    where j.id = $1::bigint`,
}

const statements = { cancel, retry, rerun, resume, skip, fail }
export type JobActionName = keyof typeof statements

export interface JobActionRequest {
  /** The actor. */
  by?: string | undefined
  /** For `skip` and `fail`. */
  reason?: string | undefined
  /** For `fail`: the code of the error. */
  code?: string | undefined
}

/** Applies the action, in the transaction of the caller if one is given. Returns undefined if there is no such job. */
export async function applyJobAction(
  db: Db,
  action: JobActionName,
  id: string,
  now: Date | null,
  { by, reason = '', code }: JobActionRequest = {},
  tx?: Transaction,
): Promise<AppliedJobAction | undefined> {
  const more = { cancel: [], retry: [], rerun: [], resume: [], skip: [reason], fail: [failureText(reason, code)] }
  const values = [id, now, by ?? null, ...more[action]]
  const run = tx === undefined ? db.run : runInCallerTransaction(tx, db.names)
  const [moved] = await (tx === undefined ? move(db, action, values) : moveOn(run, action, values))
  const [row] = await run<{ state: JobState; queue: string; batch: string | null }>(stateOf, [id])
  if (row === undefined) return undefined
  const takesKey = action === 'retry' || action === 'rerun'
  const [holder] = takesKey && moved === undefined ? await run<{ id: string }>(holderOf, [id]) : []
  return { ...row, moved: moved !== undefined, ran: moved?.ran === true, ...(holder ? { heldBy: holder.id } : {}) }
}

function failureText(message: string, code: string | undefined): string {
  const failure = { type: 'error', message, code: code ?? null, stack: null }
  return JSON.stringify({ ...failure, cause: fingerprintOf(failure) })
}

/** The row of a changed job; `ran` only after `cancel` and `skip`. */
type MovedJob = { ran?: boolean }

async function move(db: Db, action: JobActionName, values: unknown[]): Promise<MovedJob[]> {
  const moving =
    action === 'rerun'
      ? db.transaction(client => moveOn(runOn(client), action, values))
      : moveOn(db.run, action, values)
  try {
    return await moving
  } catch (error) {
    // Two jobs take the same key at the same instant; the unique index allows only the first.
    if (sqlState(error) === '23505') return []
    throw error
  }
}

/**
 * A rerun uses two statements in a transaction: the second statement sees all checkpoints saved before the first statement locked the row,
 * and from then on no attempt can save a checkpoint, because no attempt has the lease. In a single statement the delete would use a snapshot
 * older than the lock.
 */
async function moveOn(run: Run, action: JobActionName, values: unknown[]): Promise<MovedJob[]> {
  const moved = await run<MovedJob>(statements[action], values)
  if (action === 'rerun' && moved.length > 0) await run(forget, values.slice(0, 1))
  return moved
}
