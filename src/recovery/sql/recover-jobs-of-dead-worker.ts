/**
 * Recovers orphans: running jobs whose worker is dead or missing and left no crash report (recover-jobs-of-crashed-worker.ts). Every check finds
 * the orphans again; a single statement ends the lease and stores the reason. Bounded, with SKIP LOCKED: any number of
 * watchdogs may run without a leader.
 *
 * Invariant: an orphan is recovered no sooner than its kind's `orphanAfter` after the worker's last heartbeat, and no
 * later than `sweepEvery` after that instant (sweep-schedule.ts). The failure keeps the last sign of the worker as evidence.
 *
 * A worker is declared dead after 20 s, or after the smallest `orphanAfter` of its kinds if smaller; never later because
 * a kind allows more. Until the recovery the dead worker still has the leases. If the worker lives after all and settles
 * a job before its next heartbeat returns no row, the outcome is valid, and the only outcome.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { defaultPolicy } from '../../jobs/model/policy.ts'
import {
  inPolicyWords,
  orphanError,
  restartsWithoutProgress,
  suspicionAfterRestart,
  tooMany,
  tooManyError,
} from '../../jobs/sql/crash-suspicion.ts'
import { policyInForce } from '../../jobs/sql/policy-override.ts'
import { countMoves, noteJobStates, releaseLimits } from '../../jobs/sql/transition.ts'
import { lastSweep } from './sweep-schedule.ts'

export { orphanMessage } from '../../jobs/sql/crash-suspicion.ts'

/** A watchdog without an answer checks again at its next tick. */
const tickMs = 8000

export interface Recovered {
  id: string
  queue: string
  kind: string
  state: 'waiting' | 'stalled' | 'failed'
  worker: string
}

const now = nowParameter(1)
const ms = (number: string): string => `make_interval(secs => ${number} / 1000.0)`
const { orphanAfter, sweepEvery } = defaultPolicy

// The last sign of life of the worker: its heartbeat, or the claim of the job. The claim may be younger than the heartbeat. An
// instant after the death is of a faster clock, before a failover.
const lastSign = `least(greatest(j.started_at, w.heartbeat_at), w.dead_at)`

// The instant from which a job is an orphan. Immediately, if the worker's row is missing; if the worker stopped by itself
// (`left_at`); if `dead_at` lies in the future (before a failover to a slower clock); or if
// the kind allows no more time than the declaration of death takes. A job that would end as `failed` has a longer time whole,
// from its start if the worker's row is missing: a failure is final.
const orphanFrom = `
  case
    when w.id is null and k.policy ->> 'onOrphan' = 'fail' and p.after > ${orphanAfter} then j.started_at + ${ms('p.after')}
    when w.id is null
      or w.left_at is not null
      or p.after <= ${orphanAfter} and p.every <= ${sweepEvery}
      or not b.begun
      or w.dead_at > ${now} + interval '1 second'
    then '-infinity'
    else ${lastSign} + ${ms('p.after')}
  end`

// Finds orphans first, then locks them with the fence: a lock reads the newest version of a row but does not check the
// worker again. Without the fence the statement would take a job away from a live worker that claimed the job after
// another watchdog recovered it. A job missing in the crash report never started: its claim was on the way when the
// worker crashed. A job of a worker that stopped by itself is released, whatever `onOrphan` says: the worker did not die.
const recover = {
  name: 'orphan_recover',
  text: `
    with found as materialized (
      select j.id, j.attempt, j.worker_id, b.begun, w.crash_report ->> 'how' = 'named' as named, ${lastSign} as sign,
        b.begun and w.left_at is null as died, w.crash_report ->> 'why' as why
      from retoma.job j
        left join retoma.worker w on w.id = any (array[j.worker_id])
        left join retoma.kind k on k.name = any (array[j.kind])
        cross join lateral (
          select coalesce((k.policy ->> 'orphanAfter')::float8, ${orphanAfter}) as after,
            coalesce((k.policy ->> 'sweepEvery')::float8, ${sweepEvery}) as every
        ) p
        cross join lateral (select coalesce(w.crash_report -> 'started' ? (j.id || '/' || j.attempt), true) as begun) b
      where j.state = 'running'
        and (w.id is null or w.dead_at is not null)
        and ($5::text is null or j.kind = $5)
        and ${orphanFrom} <= case when $5::text is null then ${lastSweep(now, 'p.every')} else ${now} end
      order by j.id + 0
      limit $2
    ), orphan as materialized (
      select j.id, j.worker_id, f.begun, f.died, f.named, f.sign, f.why, j.crash_suspicion, j.crashes, ${policyInForce('k', 'j')} as policy, ${restartsWithoutProgress('j')} as restarts_without_progress
      from found f
        join retoma.job j on j.id = any (array[f.id]) and j.attempt = f.attempt and j.worker_id = f.worker_id
        left join retoma.kind k on k.name = any (array[j.kind])
      order by f.id
      for update of j skip locked
    ), judged as materialized (
      select o.id, o.worker_id, o.begun, o.died, o.sign, o.why,
        case
          when not o.died then 'waiting'
          when o.policy ->> 'onOrphan' = 'fail' then 'failed'
          when o.policy ->> 'onOrphan' = 'stall' or t.too_many then 'stalled'
          else 'waiting'
        end as state,
        case
          when t.too_many and coalesce(o.policy ->> 'onOrphan', 'retry') = 'retry' then $4::jsonb
          else ${inPolicyWords('$3::jsonb', 'o.policy')}
        end as error,
        case when o.died and o.named is not true then ${suspicionAfterRestart('o', 'o.restarts_without_progress')} else o.crash_suspicion end as crash_suspicion
      from orphan o cross join lateral (select o.died and o.named is not true and ${tooMany('o.restarts_without_progress')} as too_many) t
    ), moved as (
      update retoma.job j
      set state = o.state,
        worker_id = null,
        last_worker = o.worker_id,
        restarts = j.restarts + o.died::int,
        uncounted_attempts = j.uncounted_attempts + (not o.begun)::int,
        crash_suspicion = o.crash_suspicion,
        claim_rank = case when o.state = 'waiting' then j.claim_rank & ~1 else j.claim_rank end,
        run_at = case when o.state = 'waiting' then ${now} else j.run_at end,
        finished_at = case when o.state = 'failed' then ${now} end,
        unique_until = case when o.state = 'failed' then nullif(j.unique_until, 'final') else j.unique_until end,
        error = case when o.died then o.error else j.error end
      from judged o
      where j.id = any (array[o.id])
      returning j.id, j.queue, j.kind, j.attempt, o.state, 'running' as was, o.worker_id, o.died, o.sign, o.why, j.limited, j.limit_key, j.batch_id, j.ref, j.failures, j.started_at, j.error
    ), noted as (
      insert into retoma.failure (job_id, attempt, failure_type, code, message, evidence, worker, started_at, at)
      select id, attempt, 'orphan', error ->> 'code', error ->> 'message', jsonb_strip_nulls(jsonb_build_object('heartbeatAt', sign, 'why', why)), worker_id, started_at, ${now}
      from moved where died
      on conflict do nothing
    ), ${noteJobStates('moved', now, { where: 'm.died' })},
    ${releaseLimits('moved', now)},
    ${countMoves('moved')}
    select id, queue, kind, state, worker_id as worker from moved`,
}

/**
 * Recovers at most `limit` jobs of dead or missing workers by their policy. With `kind` only jobs of this kind, at once and
 * not at the next sweep of the kind.
 */
export function recoverOrphans(
  db: Db,
  limit: number,
  now: Date | null,
  kind: string | null = null,
): Promise<Recovered[]> {
  return db.run<Recovered>(recover, [now, limit, orphanError, tooManyError, kind], tickMs)
}
