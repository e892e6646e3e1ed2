/**
 * Finds attempts that run too long or make no progress, by the thresholds of their kind or batch, with the facts that
 * recovery/model/late-attempt-verdict.ts needs, and ends the attempts by the verdict.
 *
 * Invariant: exactly the checked attempt is ended: the `where` has the fence of the attempt, and for a stall also the
 * last progress. SKIP LOCKED and bounded, so any number of watchdogs may run, and a worker that settles at the same
 * moment goes first.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { defaultPolicy, type JobPolicy } from '../../jobs/model/policy.ts'
import {
  restartsWithoutProgress,
  suspicionAfterRestart,
  tooMany,
  tooManyError,
} from '../../jobs/sql/crash-suspicion.ts'
import { overriding, policyInForce } from '../../jobs/sql/policy-override.ts'
import { countMoves, countOutcomes, noteJobStates, releaseLimits } from '../../jobs/sql/transition.ts'
import { type AttemptFacts, timeoutGrace } from '../model/late-attempt-verdict.ts'
import { lastSweep } from './sweep-schedule.ts'

const tickMs = 8000
const now = nowParameter(1)
const ms = (age: string) => `(extract(epoch from ${age}) * 1000)::float8`

const timeoutOf = (policy: string): string =>
  `make_interval(secs => (${policy} ->> 'timeout')::float8 / 1000 + ${timeoutGrace / 1000})`
const expectOf = (policy: string): string => `make_interval(secs => (${policy} ->> 'expect')::float8 / 1000)`

/** Time an attempt may run, and may be without progress, before a check. */
const thresholds = (policy: string): string => `
  least(${timeoutOf(policy)}, ${expectOf(policy)}) as runs,
  make_interval(secs => (${policy} ->> 'stallAfter')::float8 / 1000) as stall`

/**
 * Parts of a `with` that read the policies once and not for each job. `clock`: the thresholds of a kind, the smallest
 * threshold of the kind or a batch of its jobs, and the last sweep. `own`: the thresholds of batches with a policy
 * override, also by id.
 */
export const kindClocks = (now: string): string => `
  own as materialized (
    select b.id, b.kind, t.runs, t.stall
    from (
      select id, kind, policy -> 'items' as items from retoma.batch where ${overriding('timeout', 'stallAfter', 'expect')}
    ) b
      join retoma.kind k on k.name = b.kind
      cross join lateral (select ${thresholds('(k.policy || b.items)')}) t
  ), own_by_id as materialized (
    select jsonb_object_agg(id, jsonb_build_array(extract(epoch from runs), extract(epoch from stall))) as clocks from own
  ), clock as materialized (
    select k.name, k.policy, t.runs, t.stall, ${expectOf('k.policy')} as expects, o.differs, least(t.runs, o.runs) as least_runs, least(t.stall, o.stall) as least_stall,
      ${lastSweep(now, `coalesce((k.policy ->> 'sweepEvery')::float8, ${defaultPolicy.sweepEvery})`)} as swept_at
    from retoma.kind k
      cross join lateral (select ${thresholds('k.policy')}) t
      cross join lateral (select count(*) > 0 as differs, min(runs) as runs, min(stall) as stall from own where kind = k.name) o
  )`

const isPast = (now: string, runs: string, stall: string): string =>
  `(j.started_at <= ${now} - ${runs} or greatest(j.started_at, j.progress_at) <= ${now} - ${stall})`
const seconds = (at: number): string => `make_interval(secs => (o.clock ->> ${at})::float8)`

/**
 * True if a job `j` of a kind `k` in `clock` may have a verdict. Exceptions in favour of the job are checked later. The
 * smallest threshold of the kind dismisses most jobs; if batches differ, the rest is compared with its own threshold. A
 * join with the batches would read all batches for each job if the planner expects few running jobs. A job with a timeout of its own, which
 * is never the item of a batch, is compared with that timeout alone.
 */
export const isLate = (now: string): string => `(
  case when j.policy_override ? 'timeout'
    then ${isPast(now, `least(${timeoutOf('j.policy_override')}, k.expects)`, 'k.stall')}
    else ${isPast(now, 'k.least_runs', 'k.least_stall')}
  and (not k.differs or case
    when j.batch_id is null or j.batch_id not in (select id from own) then ${isPast(now, 'k.runs', 'k.stall')}
    else (
      select ${isPast(now, seconds(0), seconds(1))}
      from (select (select clocks from own_by_id) -> j.batch_id::text as clock offset 0) o
    )
  end) end
)`

/** A running attempt with the facts and the policy for its verdict. */
export interface LateAttempt {
  id: string
  attempt: number
  worker: string
  queue: string
  kind: string
  ref: string | null
  batch: string | null
  failures: number
  crashes: number
  policy: JobPolicy
  /** The last progress, in exact microseconds. */
  signUs: string | null
  startedAt: Date
  runningMs: number
  quietMs: number
  sweptMs: number
  blocked: AttemptFacts['blocked']
  blockedMs: number | null
  freeMs: number | null
  watchedMs: number
}

// Ordered by id, so that attempts without a problem do not keep later attempts from being checked.
const find = {
  name: 'late_attempt_find',
  text: `
    with ${kindClocks(now)}
    select j.id, j.attempt, j.worker_id as worker, j.queue, j.kind, j.ref, j.batch_id as batch, j.failures, j.crashes,
      ${policyInForce('k', 'j')} as policy,
      (extract(epoch from j.progress_at) * 1000000)::bigint::text as "signUs", j.started_at as "startedAt",
      ${ms(`${now} - j.started_at`)} as "runningMs",
      ${ms(`${now} - greatest(j.started_at, j.progress_at)`)} as "quietMs",
      ${ms(`${now} - k.swept_at`)} as "sweptMs",
      case
        when w.blocked_since is null then 'no'
        when w.blocked_job = j.id and coalesce(w.blocked_attempt, j.attempt) = j.attempt then 'by it'
        else 'by another'
      end as blocked,
      ${ms(`${now} - w.blocked_since`)} as "blockedMs",
      ${ms(`${now} - w.unblocked_at`)} as "freeMs",
      coalesce((select ${ms(`${now} - t.since`)} from retoma.periodic_lease t where t.name = 'watchdog' and isfinite(t.since)), 0) as "watchedMs"
    from retoma.job j
      join clock k on k.name = j.kind
      join retoma.worker w on w.id = any (array[j.worker_id]) and w.dead_at is null
    where j.state = 'running' and j.id + 0 > $2 and ${isLate(now)}
    order by j.id + 0
    limit $3`,
}

/** Returns at most `limit` attempts with an id above `after`. */
export const findLateAttempts = (db: Db, after: string, limit: number, now: Date | null): Promise<LateAttempt[]> =>
  db.run<LateAttempt>(find, [now, after, limit], tickMs)

/** The end of an attempt. */
export interface AttemptToEnd {
  of: Pick<LateAttempt, 'id' | 'attempt' | 'worker' | 'signUs'>
  state: 'waiting' | 'stalled' | 'failed'
  delayMs: number
  error: { message: string; code: string | null; cause: string }
}

export interface EndedAttempt {
  id: string
  queue: string
  kind: string
  batch: string | null
  state: AttemptToEnd['state']
}

interface EndParts {
  /** Further conditions, which must be the same as at the check. */
  fence?: string
  state?: string
  error?: string
  /** Assignments that charge the job. */
  set?: string
  parts: string
}

const end = (
  type: 'timeout' | 'stalled' | 'hung',
  { fence = '', state = 'h.state', error = 'h.error', set = '', parts }: EndParts,
) => ({
  name: `late_attempt_end_${type}`,
  text: `
    with given as materialized (
      select *
      from unnest((select $2::bigint[]), (select $3::int[]), (select $4::text[]), (select $5::bigint[]), (select $6::text[]),
          (select $7::float8[]), (select $8::jsonb[]))
        as g (id, attempt, worker_id, sign_us, state, delay_ms, error)
    ), held as materialized (
      select g.*
      from given g join retoma.job j on j.id = any (array[g.id]) and j.attempt = g.attempt and j.worker_id = g.worker_id${fence}
      order by g.id
      for update of j skip locked
    ), moved as (
      update retoma.job j
      set state = ${state},
        worker_id = null,
        last_worker = h.worker_id,${set}
        claim_rank = case when h.state = 'waiting' then j.claim_rank & ~1 else j.claim_rank end,
        run_at = case when h.state = 'waiting' then ${now} + make_interval(secs => h.delay_ms / 1000) else j.run_at end,
        finished_at = case when h.state = 'failed' then ${now} end,
        unique_until = case when h.state = 'failed' then nullif(j.unique_until, 'final') else j.unique_until end,
        error = jsonb_build_object('type', '${type}', 'stack', null) || ${error}
      from held h
      where j.id = any (array[h.id])
      returning j.id, j.queue, j.kind, j.attempt, j.state, 'running' as was, h.worker_id as worker, j.limited, j.limit_key, j.batch_id, j.ref, j.failures, j.started_at, j.error
    ), noted as (
      insert into retoma.failure (job_id, attempt, failure_type, code, message, worker, started_at, at)
      select id, attempt, '${type}', error ->> 'code', error ->> 'message', worker, started_at, ${now} from moved
      on conflict do nothing
    ), ${releaseLimits('moved', now)},
    ${parts}
    select id, queue, kind, batch_id as batch, state from moved`,
})

// A timeout is progress of the batch, like an attempt its worker settled. An attempt with a retry is reported by its
// failure alone.
const outOfTime = end('timeout', {
  set: `
        failures = j.failures + 1,`,
  parts: `${countOutcomes('moved', '0', now)}, ${noteJobStates('moved', now, { where: `m.state = 'failed'` })}`,
})

// A stall is no progress.
const stalls = end('stalled', {
  fence: `
        and (extract(epoch from j.progress_at) * 1000000)::bigint is not distinct from g.sign_us`,
  parts: `${countMoves('moved')}, ${noteJobStates('moved', now)}`,
})

// As after the crash of a worker: a job with repeated restarts and no progress runs alone, and finally becomes `stalled`.
const tooOften = `h.state = 'waiting' and ${tooMany(restartsWithoutProgress('j'))}`
const hangs = end('hung', {
  state: `case when ${tooOften} then 'stalled' else h.state end`,
  error: `case when ${tooOften} then $9::jsonb - 'type' else h.error end`,
  set: `
        restarts = j.restarts + 1,
        crash_suspicion = ${suspicionAfterRestart('j', restartsWithoutProgress('j'))},`,
  parts: `${countMoves('moved')}, ${noteJobStates('moved', now)}`,
})

const statements = { timeout: outOfTime, stalled: stalls, hung: hangs }

/** Returns the ended attempts; the others have changed, or another watchdog has them. */
export function endAttempts(
  db: Db,
  type: keyof typeof statements,
  endings: readonly AttemptToEnd[],
  now: Date | null,
): Promise<EndedAttempt[]> {
  const of = <T>(column: (each: AttemptToEnd) => T) => endings.map(column)
  const values = [
    now, of(each => each.of.id), of(each => each.of.attempt), of(each => each.of.worker), of(each => each.of.signUs),
    of(each => each.state), of(each => each.delayMs), of(each => JSON.stringify(each.error)), ...(type === 'hung' ? [tooManyError] : []),
  ] // biome-ignore format: the columns in their order
  return db.run<EndedAttempt>(statements[type], values, tickMs)
}
