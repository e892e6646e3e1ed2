/**
 * Recovers the jobs of a worker whose supervisor saw the crash. The crash report is stored with the worker, and each job is treated as
 * the report demands (design: "Who crashed it"). Without a crash report the watchdog recovers the jobs, later (recover-jobs-of-dead-worker.ts).
 *
 * Invariant: every job is taken by the fence. A second run, a run whose answer was lost, or a watchdog that came first changes and
 * charges nothing again. The statement waits for a locked row and does not skip the row, because the job that crashed the process must be
 * charged; the rows are locked in the order of the ids, so there is no deadlock.
 *
 * A chunk is one bounded statement that even a slow machine can finish; most workers need a single chunk. The first chunk stores the
 * attempts in flight, and later chunks use this number, also if the recovering process crashes in between and another process starts
 * again. The last chunk declares the worker dead: until then no watchdog takes the remaining jobs for orphans without a crash report.
 *
 * - unstarted: claimed and never started. Waits again at once; nothing is noted.
 * - crash: named as the suspected job, or the only attempt in flight. The crash is charged to the job.
 * - suspect: one of several attempts in flight at a crash without a known suspected job.
 * - restart: not caused by this job. Waits again at once.
 * - released: the worker stopped by itself (`left_at`), or a stop was requested and the kind would stall or fail its orphans. Waits again
 *   at once; nothing is noted.
 * - later: as restart, but the kind asks for more (`onOrphan`, `orphanAfter`); the job stays for the watchdog. Also the suspected job of
 *   a kind with `onOrphan: 'fail'`, except after a timeout: the job fails as every orphan of its kind, at the same time with the same words.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { aloneAfter } from '../../jobs/model/crash-suspicion.ts'
import { fingerprintOf } from '../../jobs/model/error-fingerprint.ts'
import type { Failure } from '../../jobs/model/outcome.ts'
import { isPoisonSql, poisonFailure } from '../../jobs/model/poison-job.ts'
import { defaultPolicy } from '../../jobs/model/policy.ts'
import {
  inPolicyWords,
  keptSuspicion,
  orphanError,
  restartsWithoutProgress,
  suspicionAfterRestart,
  suspicionWith,
  tooMany,
  tooManyError,
} from '../../jobs/sql/crash-suspicion.ts'
import { policyInForce } from '../../jobs/sql/policy-override.ts'
import { countMoves, noteJobStates, releaseLimits } from '../../jobs/sql/transition.ts'
import { type Random, systemRandom } from '../../lib/random.ts'
import { cleanText } from '../../lib/values/json.ts'
import type { CrashReport } from '../../supervisor/model/crash-report.ts'
import type { Recovered } from './recover-jobs-of-dead-worker.ts'

export interface RecoveredWorker extends Recovered {
  effect: 'unstarted' | 'released' | 'crash' | 'suspect' | 'restart'
}

const now = nowParameter(1)
const { orphanAfter } = defaultPolicy
const deadlineMs = 8000
const chunkSize = 1000

/** Placeholder for the number of crashes, which is known once the row is locked. */
const crashes = '<crashes>'

// The exponent is bounded, because the power for a thousand crashes is not finite. So are the factors of the jitter: PostgreSQL rejects a
// product that is too small for a float8.
const backoff = (spent: string, policy: string): string => {
  const part = (name: string) => `(${policy} #>> '{backoff,${name}}')::float8`
  const power = `least(${part('first')} * exp(least((${spent} - 1) * ln(${part('factor')}), 500)), ${part('max')})`
  return `make_interval(secs => ${power} * (1 + greatest(${part('jitter')}, 1e-100) * greatest($13::float8, 1e-100)) / 1000)`
}

// The in-flight attempts are looked up by a hash, built once: with a join each job would scan all of them, because the planner expects
// few.
const recoverCrashed = {
  name: 'crashed_worker_recover',
  text: `
    with held as materialized (
      select id, attempt, (id, attempt) in (select s.id, s.attempt from unnest($5::bigint[], $6::int[]) as s (id, attempt)) as begun
      from retoma.job
      where worker_id = $2 and state = 'running'
    ), chunk as materialized (
      select * from held where id > $15 order by id limit ${chunkSize}
    ), rest as materialized (
      select * from held where id > (select max(id) from chunk)
    ), taken as materialized (
      select j.*, h.begun
      from (select * from chunk order by id) h
        cross join lateral (
          select id, attempt, kind, batch_id, policy_override, failures, crashes, crash_suspicion, started_at, progress_at
          from retoma.job j
          where j.id = h.id and j.attempt = h.attempt and j.worker_id = $2
          for update
        ) j
    ), begun as materialized (
      select id, attempt from taken where begun
      union all
      select id, attempt from rest where begun
    ), known as materialized (
      select greatest($16::int, count(*)::int) as begun
      from unnest($5::bigint[], $6::int[]) as s (id, attempt)
      where (s.id, s.attempt) in (select id, attempt from begun)
        or s.id || '/' || s.attempt in (select jsonb_array_elements_text(crash_report -> 'started') from retoma.worker where id = $2)
    ), judged as materialized (
      select t.*, p.policy, ${restartsWithoutProgress('t')} as restarts_without_progress,
        case
          when not t.begun then 'unstarted'
          when (select left_at from retoma.worker where id = $2) is not null then 'released'
          when $3 = 'named' and t.id = $7 and t.attempt = $8 and (p.policy ->> 'onOrphan' <> 'fail' or $17) then 'crash'
          when p.policy ->> 'onOrphan' <> 'retry' and $18 then 'released'
          when p.policy ->> 'onOrphan' <> 'retry' then 'later'
          when $3 = 'unexplained' and (select begun from known) = 1 then 'crash'
          when $3 = 'unexplained' and ${keptSuspicion('t', 'level')} < 2 then 'suspect'
          when (p.policy ->> 'orphanAfter')::float8 > ${orphanAfter} then 'later'
          else 'restart'
        end as effect
      from taken t
        left join retoma.kind k on k.name = any (array[t.kind])
        cross join lateral (select $14::jsonb || ${policyInForce('k', 't')} as policy) p
    ), costed as materialized (
      select j.*,
        j.crashes + case when effect = 'crash' then 1 + ${keptSuspicion('j', 'unexplainedCrashes')} else 0 end as crashed,
        effect = 'suspect' or effect = 'restart' and $3 <> 'named' as unknown
      from judged j
      where effect <> 'later'
    ), decided as materialized (
      select c.*,
        case
          when effect = 'crash' and (poison or failures + crashed >= (policy ->> 'maxAttempts')::int) then 'failed'
          when unknown and ${tooMany('restarts_without_progress')} then 'stalled'
          else 'waiting'
        end as state,
        case
          when effect = 'crash' and poison then $10::jsonb || jsonb_build_object('message', replace($10::jsonb ->> 'message', '${crashes}', crashed::text))
          when effect = 'crash' then $9::jsonb
          when unknown and ${tooMany('restarts_without_progress')} then $12::jsonb
          else ${inPolicyWords('$11::jsonb', 'policy')}
        end as error,
        case
          when effect = 'crash'
          then ${suspicionWith(`case when $3 = 'unexplained' then 2 else ${keptSuspicion('c', 'level')} end`, 'null::text', '0', keptSuspicion('c', 'restartsWithoutProgress'))}
          when effect = 'suspect'
          then ${suspicionWith(`case when restarts_without_progress >= ${aloneAfter} then 2 else ${keptSuspicion('c', 'level')} + 1 end`, '$2::text', `${keptSuspicion('c', 'unexplainedCrashes')} + 1`, 'restarts_without_progress')}
          when unknown then ${suspicionAfterRestart('c', 'restarts_without_progress')}
          else c.crash_suspicion
        end as next_suspicion
      from costed c cross join lateral (select ${isPoisonSql('c.crashed', 'c.policy')} as poison) x
    ), moved as (
      update retoma.job j
      set state = d.state,
        worker_id = null,
        last_worker = $2,
        crashes = d.crashed,
        restarts = j.restarts + (d.effect in ('suspect', 'restart'))::int,
        uncounted_attempts = j.uncounted_attempts + (d.effect = 'unstarted')::int,
        crash_suspicion = d.next_suspicion,
        claim_rank = case when d.state = 'waiting' then j.claim_rank & ~1 else j.claim_rank end,
        run_at = case
          when d.state <> 'waiting' then j.run_at
          when d.effect = 'crash' then ${now} + ${backoff('d.failures + d.crashed', 'd.policy')}
          else ${now}
        end,
        finished_at = case when d.state = 'failed' then ${now} end,
        unique_until = case when d.state = 'failed' then nullif(j.unique_until, 'final') else j.unique_until end,
        error = case when d.effect in ('unstarted', 'released') then j.error else d.error end
      from decided d
      where j.id = any (array[d.id])
      returning j.id, j.queue, j.kind, j.attempt, d.state, 'running' as was, d.effect, j.limited, j.limit_key, j.batch_id, j.ref, j.failures, j.started_at, j.error
    ), closed_worker as (
      update retoma.worker
      set dead_at = case when exists (select from rest) then dead_at else coalesce(dead_at, ${now}) end,
        crash_report = coalesce(crash_report, $4::jsonb || jsonb_build_object('started',
          (select coalesce(jsonb_agg(b.id || '/' || b.attempt order by b.id), '[]') from begun b)))
      where id = $2
    ), noted as (
      insert into retoma.failure (job_id, attempt, failure_type, code, message, stack, evidence, worker, started_at, at)
      select id, attempt, error ->> 'type', error ->> 'code', error ->> 'message', error ->> 'stack', error -> 'evidence', $2, started_at, ${now}
      from moved where effect not in ('unstarted', 'released')
      on conflict do nothing
    ), ${noteJobStates('moved', now, { where: `m.effect not in ('unstarted', 'released')` })},
    ${releaseLimits('moved', now)},
    ${countMoves('moved')}
    select n.next, k.begun, m.id, m.queue, m.kind, m.state, $2 as worker, m.effect
    from known k
      cross join (select max(id) as next from chunk where exists (select from rest)) n
      left join moved m on true`,
}

interface Row extends RecoveredWorker {
  /** Start of the next chunk; null: this was the last chunk. */
  next: string | null
  begun: number
}

/**
 * Recovers all jobs of the worker and returns the changes of this run. `started` of the crash report must be known: a job missing there
 * is released as never started, even if the job caused the crash, and so for ever. If `started` could not be read, there is no crash
 * report, and the watchdog takes over.
 */
export async function recoverCrashedWorker(
  db: Db,
  worker: string,
  crashReport: CrashReport,
  now: Date | null,
  random: Random = systemRandom,
): Promise<RecoveredWorker[]> {
  const { started, suspectedJob, ...rest } = cleaned(crashReport)
  const begun = started.map(each => each.split('/'))
  const crash = crashOf(rest, suspectedJob)
  const values = [
    now, worker, crashReport.how, JSON.stringify({ ...rest, suspectedJob }),
    begun.map(([id]) => id), begun.map(([, attempt]) => attempt), suspectedJob?.job ?? null, suspectedJob?.attempt ?? null,
    errorText(crash), errorText(poisonFailure(crashes, crash)), orphanError, tooManyError,
    random(), JSON.stringify(defaultPolicy),
  ] // biome-ignore format: the columns in their order
  const ending = [suspectedJob?.how === 'timeout', crashReport.stopRequested === true]
  const recovered: RecoveredWorker[] = []
  let next: string | null = '0'
  let known = 0
  while (next !== null) {
    const rows: Row[] = await db.run<Row>(recoverCrashed, [...values, next, known, ...ending], deadlineMs)
    const [{ next: from, begun }] = rows as [Row]
    for (const { id, queue, kind, state, worker, effect } of rows)
      if (id !== null) recovered.push({ id, queue, kind, state, worker, effect })
    next = from
    known = begun
  }
  return recovered
}

const errorText = (failure: Failure): string => JSON.stringify({ ...failure, cause: fingerprintOf(failure) })

function crashOf(
  { why, signal, exitCode, memoryBytes, oom, stderr }: Omit<CrashReport, 'started' | 'suspectedJob'>,
  suspectedJob: CrashReport['suspectedJob'],
): Failure {
  const evidence = { why, signal, exitCode, memoryBytes, oom, stderr }
  if (suspectedJob === null)
    return {
      type: 'crash',
      code: null,
      message: `the process died while it ran this job alone: ${why}`,
      stack: null,
      evidence,
    }
  const { how, message, stack } = suspectedJob
  return { type: how === 'timeout' ? 'timeout' : 'crash', code: null, message, stack, evidence: { ...evidence, how } }
}

const longest = 20_000

/** Cleans the texts of the report, because a crashing process may write any bytes. */
function cleaned(crashReport: CrashReport): CrashReport {
  const clean = <T extends string | null>(text: T) => (text === null ? text : (cleanText(text.slice(0, longest)) as T))
  const { suspectedJob } = crashReport
  return {
    ...crashReport,
    why: clean(crashReport.why),
    stderr: crashReport.stderr === null ? null : cleanText(crashReport.stderr.slice(-longest)),
    suspectedJob: suspectedJob && {
      ...suspectedJob,
      message: clean(suspectedJob.message),
      stack: clean(suspectedJob.stack),
    },
  }
}
