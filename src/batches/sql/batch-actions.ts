/**
 * Applies the actions of a person to a batch, and the verdict of a stall. Each action is one statement with the state check in the
 * `where`, and changes the batch at once: from this commit on `claims_blocked` blocks claims of the batch's jobs. If the jobs must change too,
 * `cascade` names the cascade, and batch-cascade.ts runs the cascade.
 *
 * Invariant: an action applied twice, or by ten callers at once, has the effect of a single call. If nothing changed, the answer is the
 * current state.
 */

import { type Db, runOn } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { fingerprintOf } from '../../jobs/model/error-fingerprint.ts'
import {
  countMoves,
  limitsOfItsQueue,
  noteBatchActions,
  noteBatchStates,
  releaseLimits,
} from '../../jobs/sql/transition.ts'
import { clearedProvider } from '../../providers/sql/provider-state.ts'

const now = nowParameter(2)

// A batch paused by the engine stays paused, from now on with the reason `person`: no answer of a provider resumes the batch.
const pause = {
  name: 'batch_pause',
  text: `
    with home as materialized (
      select id, state, reason ->> 'provider' as provider from retoma.batch
      where id = $1 and (state in ('submitting', 'running') or state = 'paused' and reason ->> 'code' <> 'person')
      for update
    ), disarmed as (
      update retoma.provider p set probe_job = null from home h where p.name = any (array[h.provider]) and p.probe_job is not null
    ), changed as (
      update retoma.batch b
      set state = 'paused', claims_blocked = true, stopped_at = ${now}, reason = jsonb_build_object('code', 'person'), throughput_at = '{}', throughput_done = '{}',
        stall_clock_started_at = 'infinity'
      from home h
      where b.id = any (array[h.id])
      returning b.id, h.state as was, b.state
    ), ${noteBatchActions('pause', 'changed', now, '$3::text')}
    select id from changed`,
}

/** State of a batch after a resume: `submitting` if items are still arriving, otherwise `running`. */
export const resumedState = `case when submitted_at is null then 'submitting' else 'running' end`
/**
 * Claims have skipped the jobs of the batch. The changed counter resets the claim cursors, and the next claim starts at the beginning of
 * the lanes.
 */
export const unblockClaims = `
  unblocked as (
    update retoma.queue q set unblock_seq = q.unblock_seq + 1 from changed p where q.name = any (array[p.queue])
  )`

// A person who resumes a batch has fixed the cause of the pause. The provider of the pause is cleared at once, and so is the provider that
// deferred an item last and has stopped since, because the jobs would meet this stop first. If no provider has deferred an item yet, every
// stopped provider of the kind is cleared.
const resumePaused = {
  name: 'batch_resume_paused',
  text: `
    with home as materialized (
      select id, kind, deferred_by, reason ->> 'provider' as provider from retoma.batch where id = $1 and state = 'paused' for update
    ), met as materialized (
      select p.name from home h join retoma.provider p on p.name = h.provider
          or p.stopped_at is not null and case when h.deferred_by is null then h.kind = any (p.kinds) else p.name = h.deferred_by end
      order by p.name
      for update of p
    ), asked as (
      update retoma.provider set ${clearedProvider(now)} where name = any (array(select name from met))
    ), changed as (
      update retoma.batch b
      set state = ${resumedState}, claims_blocked = false, resumed_at = ${now}, reason = null, deferred_by = null
      from home h
      where b.id = any (array[h.id])
      returning b.id, b.queue, 'paused' as was, b.state
    ), ${unblockClaims}, ${noteBatchActions('resume', 'changed', now, '$3::text')}
    select id from changed`,
}

// Resumes a stalled batch: the stalled jobs become `waiting`.
const resumeStalled = {
  name: 'batch_resume_stalled',
  text: `
    with changed as (
      update retoma.batch
      set state = ${resumedState}, claims_blocked = false, resumed_at = ${now}, reason = null, deferred_by = null, resumes = resumes + 1, throughput_at = '{}', throughput_done = '{}'
      where id = $1 and state = 'stalled'
      returning id, queue, 'stalled' as was, state
    ), ${unblockClaims}, ${noteBatchActions('resume', 'changed', now, '$3::text')}, before as materialized (
      select id from retoma.job
      where state = 'stalled' and batch_id = (select id from changed)
      order by id + 0
      for update
    ), moved as (
      update retoma.job j
      set state = 'waiting', claim_rank = claim_rank & ~1, run_at = ${now}, crash_suspicion = null, ${limitsOfItsQueue}
      where j.id = any (array(select id from before))
      returning j.batch_id, 'stalled' as was, j.state
    ),
    ${countMoves('moved')}
    select id from changed`,
}

// The running jobs change with the batch, so that their handlers do not wait for the cascade. A job that a claim under way starts after this
// snapshot changes with the cascade.
const cancel = {
  name: 'batch_cancel',
  text: `
    with home as materialized (
      select id, state from retoma.batch where id = $1 and state in ('submitting', 'running', 'paused', 'stalled') for update
    ), changed as (
      update retoma.batch b
      set state = 'cancelled', claims_blocked = true, finished_at = ${now}, reason = null, cascade = 'cancel', cascade_at = ${now}, cascade_chunk = 0
      from home h
      where b.id = any (array[h.id])
      returning b.id, h.state as was, b.state
    ), ${noteBatchActions('cancel', 'changed', now, '$3::text')}, before as materialized (
      select id from retoma.job
      where state = 'running' and batch_id = (select id from home)
      order by id + 0
      for update
    ), moved as (
      update retoma.job j
      set state = 'cancelled', last_worker = j.worker_id, worker_id = null, finished_at = ${now}, unique_until = nullif(j.unique_until, 'final')
      where j.id = any (array(select id from before))
      returning j.batch_id, 'running' as was, j.state, j.queue, j.limited, j.limit_key
    ), ${releaseLimits('moved', now)},
    ${countMoves('moved')}
    select id from changed`,
}

const statements = { pause, resumePaused, resumeStalled, cancel }
export type BatchActionName = keyof typeof statements

/** Returns true if this call changed the batch. `by` is the actor. */
export async function applyBatchAction(
  db: Db,
  action: BatchActionName,
  id: string,
  by: string | undefined,
  now: Date | null,
): Promise<boolean> {
  return (await db.run(statements[action], [id, now, by ?? null])).length > 0
}

// A `completed_with_failures` batch is retried only if a matching failed job exists, and becomes `running` with the first retried job. A `stalled`
// batch must be resumed first.
const retryFailed = {
  name: 'batch_retry_failed',
  text: `
    with home as materialized (
      select id, state, finished_at from retoma.batch b
      where id = $1 and state not in ('cancelled', 'stalled') and cascade is null
        and (state = 'failed' or (
          select true from retoma.job j
          where j.batch_id = b.id and j.state = 'failed'
            and coalesce(j.error ->> 'cause', '') >= coalesce($3, '') and coalesce(j.error ->> 'cause', '') <= coalesce($3, 'g')
          limit 1
        ))
      for update
    ), changed as (
      update retoma.batch b
      set state = case when h.state = 'failed' then ${resumedState} else h.state end,
        finished_at = case when h.state = 'completed_with_failures' then h.finished_at end, reopen_count = reopen_count + 1,
        resumes = case when h.state = 'failed' then 0 else resumes end,
        reason = case when h.state = 'failed' then null else reason end,
        retries = retries + 1, retried = 0, retry_conflicts = 0,
        cascade = 'retry', cascade_at = ${now}, cascade_cause = $3, cascade_place = coalesce($3, ''), cascade_id = 0
      from home h
      where b.id = any (array[h.id])
      returning b.id, b.retries, h.state as was, b.state
    ), ${noteBatchActions('retry failed', 'changed', now, '$4::text')}
    select retries from changed`,
}

const lock = { name: 'batch_lock', text: `select from retoma.batch where id = $1 for update` }

/**
 * Starts the retry cascade; batch-cascade.ts runs the chunks. Returns the number of this retry, or undefined if there is nothing to retry,
 * the state does not allow a retry, or another cascade is under way.
 */
export async function beginRetry(
  db: Db,
  id: string,
  { cause, by }: { cause?: string | undefined; by?: string | undefined },
  now: Date | null,
): Promise<number | undefined> {
  // The lock comes first: the search for failed jobs then uses a snapshot with the changes of the last chunk. In a single statement a
  // retry of nothing could start after another retry, and the caller of the other retry could no longer read its result.
  const [row] = await db.transaction(async client => {
    const run = runOn(client)
    await run(lock, [id])
    return run<{ retries: number }>(retryFailed, [id, now, cause ?? null, by ?? null])
  })
  return row?.retries
}

const retried = {
  name: 'batch_retry_result',
  text: `select retried, retry_conflicts as conflicts from retoma.batch where id = $1 and retries = $2`,
}

/** Returns the number of jobs the retry changed, whichever process ran the chunks; undefined if another retry has started since. */
export async function retryResult(
  db: Db,
  id: string,
  retries: number,
): Promise<{ retried: number; conflicts: number } | undefined> {
  const [row] = await db.run<{ retried: number; conflicts: number }>(retried, [id, retries])
  return row
}

// The stall clock and the end of the last attempt are unchanged since the verdict. Otherwise the batch made progress, or another watchdog
// was first and a person has resumed the batch since.
const asJudged = `
  ($4::bigint is null or stall_clock_started_at <> 'infinity' and (extract(epoch from stall_clock_started_at) * 1000000)::bigint = $4)
    and ($4::bigint is null or not exists (
      select from retoma.batch_count c
      where c.batch_id = $1 and (extract(epoch from c.progress_at) * 1000000)::bigint > coalesce($5::bigint, 0)
    ))`

// If the batch has resumes left, the batch and the running jobs become `stalled`. Otherwise (or with `onStall: 'fail'`) the batch fails,
// and a cascade fails the unfinished jobs.
const stall = {
  name: 'batch_stall',
  text: `
    with home as materialized (
      select id, state, resumes, resumes >= (policy ->> 'maxResumes')::int or policy ->> 'onStall' = 'fail' as over
      from retoma.batch
      where id = $1 and state in ('submitting', 'running') and cascade is null and ${asJudged}
      for update
    ), changed as (
      update retoma.batch b
      set state = case when h.over then 'failed' else 'stalled' end,
        claims_blocked = true,
        stopped_at = ${now},
        finished_at = case when h.over then ${now} end,
        cascade = case when h.over then 'fail' end, cascade_at = ${now}, cascade_chunk = 0,
        throughput_at = '{}', throughput_done = '{}', stall_clock_started_at = 'infinity',
        reason = case
          when h.over and b.policy ->> 'onStall' <> 'fail' then jsonb_build_object('code', 'resumes_spent', 'resumes', h.resumes)
          else $3::jsonb
        end
      from home h
      where b.id = any (array[h.id])
      returning b.id, h.state as was, b.state, b.reason
    ), ${noteBatchStates('changed', now)}, before as materialized (
      select id from retoma.job
      where state = 'running' and batch_id = (select id from home where not over)
      order by id + 0
      for update
    ), moved as (
      update retoma.job j
      set state = 'stalled', last_worker = j.worker_id, worker_id = null
      where j.id = any (array(select id from before))
      returning j.batch_id, 'running' as was, j.state, j.queue, j.limited, j.limit_key
    ), ${releaseLimits('moved', now)},
    ${countMoves('moved')}
    select state from changed`,
}

/** The facts behind the verdict of a watchdog. Without these facts the batch is stalled in any case. */
export interface ObservedStall {
  fromUs: string
  progressUs: string | null
}

/**
 * Writes the verdict with the reason. Returns undefined if the batch was not `submitting` or `running`, or has changed since the verdict.
 */
export async function stallBatch(
  db: Db,
  id: string,
  reason: { code: string },
  now: Date | null,
  seen?: ObservedStall,
): Promise<'stalled' | 'failed' | undefined> {
  const values = [id, now, JSON.stringify(reason), seen?.fromUs ?? null, seen?.progressUs ?? null]
  const [row] = await db.run<{ state: 'stalled' | 'failed' }>(stall, values)
  return row?.state
}

// Running jobs lose the lease and run again; no failure is counted. Ready jobs without a worker stay as before.
const rerun = {
  name: 'batch_stall_retry',
  text: `
    with changed as (
      update retoma.batch
      set stall_clock_started_at = ${now}
      where id = $1 and state in ('submitting', 'running') and cascade is null and ${asJudged}
      returning id, queue
    ), before as materialized (
      select id, worker_id from retoma.job
      where state = 'running' and batch_id = (select id from changed)
      order by id + 0
      for update
    ), moved as (
      update retoma.job j
      set state = 'waiting', last_worker = j.worker_id, worker_id = null, claim_rank = claim_rank & ~1, run_at = ${now},
        error = jsonb_build_object('type', 'stalled', 'message', $6::text, 'code', null, 'stack', null, 'cause', $7::text)
      where j.id = any (array(select id from before))
      returning j.id, j.attempt, j.last_worker, j.started_at, j.batch_id, j.ref, 'running' as was, j.state, j.queue, j.limited, j.limit_key, j.error
    ), noted as (
      insert into retoma.failure (job_id, attempt, failure_type, message, worker, started_at, at)
      select id, attempt, 'stalled', $6, last_worker, started_at, ${now} from moved
      on conflict do nothing
    ), new_events as (
      insert into retoma.event (at, type, batch_id, data)
      select ${now}, 'warning', id, $3::jsonb || jsonb_build_object('what', 'stalled')
      from changed
    ), ${releaseLimits('moved', now)},
    ${countMoves('moved')}
    select queue, (select count(*)::int from moved) as jobs from changed`,
}

const retryMessage = 'stalled: its batch made no progress; it runs again'
const retryCause = fingerprintOf({ type: 'stalled', code: null, message: retryMessage })

/**
 * Runs the running jobs of the batch again. Returns undefined if the batch was not `submitting` or `running`, or has changed since the
 * verdict.
 */
export async function rerunStalled(
  db: Db,
  id: string,
  reason: { code: string },
  now: Date | null,
  seen: ObservedStall,
): Promise<{ queue: string; jobs: number } | undefined> {
  const values = [id, now, JSON.stringify(reason), seen.fromUs, seen.progressUs, retryMessage, retryCause]
  const [row] = await db.run<{ queue: string; jobs: number }>(rerun, values)
  return row
}
