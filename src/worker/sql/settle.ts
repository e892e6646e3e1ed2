/**
 * Settles attempts: any number of outcomes in a single statement and a single commit.
 *
 * Invariant: the fence is in the `where`, and `state` never is: with that literal the planner takes the partial index of
 * running jobs, and each settle costs as much as all attempts that ever ran. A second statement with a fresh snapshot
 * checks the rows that did not change: a write whose answer was lost is "written", anything else "lease lost".
 */

import { shardOf } from '../../batches/sql/batch-counters.ts'
import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { fingerprintOf } from '../../jobs/model/error-fingerprint.ts'
import type { Failure, Outcome } from '../../jobs/model/outcome.ts'
import { keptSuspicion } from '../../jobs/sql/crash-suspicion.ts'
import { countOutcomes, noteJobStates, releaseLimits } from '../../jobs/sql/transition.ts'
import { type HeldAttempt, nameOf } from './lease-heartbeat.ts'

export interface SettleRow {
  id: string
  attempt: number
  /** `refused`: failed, and PostgreSQL rejected both the outcome and the failure that reports the rejection. */
  outcome: Outcome | { state: 'released' } | { state: 'refused' }
}

// The charge of an outcome. A crash also counts the earlier unexplained crashes that the job was part of. A crash or a
// release does not prove the job harmless, so the crash suspicion stays (jobs/model/crash-suspicion.ts).
const nothing = 0
const failure = 1
const crash = 2
const noProgressCharge = -1
// Like `noProgressCharge`, and the attempt does not count as a start: the provider waits, or the batch was paused meanwhile.
const deferredCharge = -2

// Returns the rows that did not change: usually none, and a count shows this without a check of each row. The arrays come
// through "(select …)", so no plan depends on their length (docs/adr/0005-plans.md).
const settle = {
  name: 'settle',
  text: `
    with given as materialized (
      select *
      from unnest(
          (select $1::bigint[]), (select $2::int[]), (select $3::text[]), (select $4::jsonb[]), (select $5::jsonb[]),
          (select $6::float8[]), (select $7::int[]), (select $11::text[]))
        as g (id, attempt, state, result, error, delay_ms, charge, deferred_by)
    ), moved as (
      update retoma.job j
      set state = g.state,
        worker_id = null,
        last_worker = $8,
        result = g.result,
        error = coalesce(g.error - 'evidence', case when g.state = 'waiting' then j.error end),
        failures = j.failures + (g.charge = ${failure})::int,
        crashes = j.crashes + case when g.charge = ${crash} then 1 + ${keptSuspicion('j', 'unexplainedCrashes')} else 0 end,
        crash_suspicion = case when g.charge = ${crash} then j.crash_suspicion || '{"crashedWorker": null, "unexplainedCrashes": 0}' when g.charge < 0 then j.crash_suspicion end,
        uncounted_attempts = j.uncounted_attempts + (g.charge = ${deferredCharge})::int,
        deferred_by = g.deferred_by,
        claim_rank = case when g.state = 'waiting' then j.claim_rank & ~1 else j.claim_rank end,
        run_at = case when g.state = 'waiting' then coalesce($9::timestamptz, now()) + make_interval(secs => g.delay_ms / 1000) else j.run_at end,
        finished_at = case when g.state <> 'waiting' then coalesce($9::timestamptz, now()) end,
        unique_until = case when g.state = 'waiting' then j.unique_until else nullif(j.unique_until, 'final') end
      from given g
      where j.id = any (array[g.id]) and j.attempt = g.attempt and j.worker_id = $8
      returning j.id, g.attempt, g.error, g.charge, g.state, j.queue, j.limited, j.limit_key, j.batch_id, case when g.charge <> ${deferredCharge} then j.ref end as ref, j.failures, j.started_at
    ), failed as (
      insert into retoma.failure (job_id, attempt, failure_type, code, message, stack, evidence, worker, started_at, at)
      select id, attempt, error ->> 'type', error ->> 'code', error ->> 'message', error ->> 'stack', error -> 'evidence', $8, started_at, coalesce($9::timestamptz, now())
      from moved where charge > 0
      on conflict do nothing
    ), ${noteJobStates('moved', nowParameter(9), { where: `m.state = 'failed'` })},
    ${releaseLimits('moved', nowParameter(9))},
    ${countOutcomes('moved', '$10::smallint', nowParameter(9))}
    select g.id, g.attempt
    from given g
    where (select count(*) from moved) < (select count(*) from given)
      and not exists (select from moved m where m.id = g.id and m.attempt = g.attempt)`,
}

// If the outcome has no failure, or another failure, then a failure row of the attempt comes from the watchdog: the
// attempt ended, but not by this outcome. A job released to `waiting` may have been claimed again since: then a later
// attempt without such a row proves that the outcome was written.
const landed = {
  name: 'settle_was_written',
  text: `
    select g.id, g.attempt
    from unnest($1::bigint[], $2::int[], $3::text[], $4::text[]) as g (id, attempt, state, failure_type)
      join retoma.job j on j.id = any (array[g.id])
    where case
      when g.failure_type is not null then (
        select f.worker = $5 and f.failure_type = g.failure_type from retoma.failure f where f.job_id = g.id and f.attempt = g.attempt)
      else (j.attempt = g.attempt and j.state = g.state and j.last_worker = $5 or j.attempt > g.attempt and g.state = 'waiting')
        and (select true from retoma.failure f where f.job_id = g.id and f.attempt = g.attempt) is null
    end`,
}

/**
 * Returns the settles whose outcome is in the database, written by this call or by an earlier call whose answer was lost.
 */
export async function settleJobs(
  db: Db,
  worker: string,
  settles: readonly SettleRow[],
  now: Date | null,
): Promise<Set<SettleRow>> {
  const rows = settles.map(toRow).sort(byId)
  const column = <K extends keyof Row>(name: K, of = rows) => of.map(row => row[name])
  const unmoved = await db.run<HeldAttempt>(settle, [
    column('id'), column('attempt'), column('state'), column('result'), column('error'), column('delayMs'), column('charge'), worker, now,
    shardOf(worker), column('deferredBy'),
  ]) // biome-ignore format: the columns in their order
  if (unmoved.length === 0) return new Set(settles)
  const names = new Set(unmoved.map(nameOf))
  const open = rows.filter(row => names.has(nameOf(row)))
  const found = await db.run<HeldAttempt>(landed, [
    column('id', open), column('attempt', open), column('state', open), column('failureType', open), worker,
  ]) // biome-ignore format: the columns in their order
  for (const row of found) names.delete(nameOf(row))
  return new Set(settles.filter(each => !names.has(nameOf(each))))
}

/**
 * Compares as numbers: ids are decimal texts without leading zeros. The same order everywhere, so that flushes do not
 * deadlock.
 */
const byId = (a: Row, b: Row) => a.id.length - b.id.length || (a.id < b.id ? -1 : 1)

const failureText = (failure: Failure): string => JSON.stringify({ ...failure, cause: fingerprintOf(failure) })

const refused = JSON.stringify({
  type: 'error',
  message: 'bad_value: PostgreSQL refused the outcome of this attempt, and its failure as well; the log has both',
  code: 'bad_value',
  stack: null,
})

interface Row {
  id: string
  attempt: number
  state: string
  result: string | null
  error: string | null
  delayMs: number
  charge: number
  /** The provider that deferred the attempt. */
  deferredBy: string | null
  /** Type of the charged failure. */
  failureType: string | null
}

function toRow({ id, attempt, outcome }: SettleRow): Row {
  const row: Row = {
    id,
    attempt,
    state: outcome.state,
    result: null,
    error: null,
    delayMs: 0,
    charge: nothing,
    deferredBy: null,
    failureType: null,
  }
  switch (outcome.state) {
    case 'succeeded':
      row.result = outcome.result
      break
    case 'skipped':
      row.error = JSON.stringify({ type: 'skipped', message: outcome.reason, code: null, stack: null })
      break
    case 'failed':
      charge(row, outcome.failure)
      break
    case 'waiting':
      row.delayMs = outcome.delay
      if (outcome.failure) charge(row, outcome.failure)
      break
    case 'released':
      row.state = 'waiting'
      row.charge = noProgressCharge
      break
    case 'deferred':
      row.state = 'waiting'
      row.delayMs = outcome.delay
      row.charge = deferredCharge
      row.deferredBy = outcome.provider
      break
    case 'refused':
      // Contains no value of the job or of an error, and writes no failure row.
      row.state = 'failed'
      row.error = refused
      break
    default:
      outcome satisfies never
  }
  return row
}

function charge(row: Row, charged: Failure): void {
  row.error = failureText(charged)
  row.failureType = charged.type
  row.charge = charged.type === 'crash' ? crash : failure
}
