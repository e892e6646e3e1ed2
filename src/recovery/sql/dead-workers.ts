/**
 * Declares workers dead, in two steps: first suspected, then, two heartbeat intervals later, dead. Both steps run in the
 * database, so neither an outage nor a watchdog that has just started makes false orphans. recover-jobs-of-dead-worker.ts recovers the jobs.
 *
 * Invariant: no worker is declared dead that could not write heartbeats. Checks must have covered two heartbeat
 * intervals; if no process checked for so long (the database was away, no watchdog ran), suspicion starts again. A
 * database that comes and goes never allows checks over two intervals; then a suspect is dead after silence at six checks
 * in a row.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { leasedByWorker, someWait } from '../../jobs/sql/job-floor.ts'
import { isToBeSampled } from '../../metrics/sql/job-count-sample.ts'
import { isLate, kindClocks } from './late-attempts.ts'

/**
 * Silent checks after which a worker is dead, even with gaps between the checks. A live worker sends a heartbeat within two
 * heartbeat intervals after the database returns, and fewer checks fit into two intervals.
 */
const silentChecks = 6
/** A watchdog without an answer checks again at its next tick; a process that ends waits at most this long. */
const tickMs = 8000

export interface OrphanRule {
  /** Applies if all kinds of the worker allow more. */
  orphanAfterMs: number
  heartbeatMs: number
  /** Minimum time between two checks. A process that checks earlier does nothing. */
  apartMs: number
}

interface JudgedWorker {
  id: string
  host: string
  pid: number
  dead: boolean
}

export interface WorkerCheck {
  /** This process won the check: no other process checked within `apartMs`. */
  won: boolean
  /** Time since the last check, if this process won; null: the first check ever, or not won. */
  unseenMs: number | null
  /** Workers that became suspect or dead, or are still suspect. */
  judged: JudgedWorker[]
  /** Orphans exist. */
  orphans: boolean
  /** Batches exist that are unfinished or have a cascade left. */
  batches: boolean
  /** Batches are paused for a provider, or jobs wait for a provider that was cleared. */
  stopped: boolean
  /** Living workers exist that were silent at the last check or are silent at this check. */
  suspects: boolean
  /** Attempts run longer than a limit of their policy without a check. */
  late: boolean
  /** A worker has a blocked loop. */
  hung: boolean
  /** Waiting jobs exist; null: not checked. */
  waiting: boolean | null
  /** Findings exist, which may be over. */
  findings: boolean
  /** The job counts are due to be sampled, and live jobs exist. */
  sample: boolean
}

// A single statement, so an idle watchdog costs one statement. The row of retoma.periodic_lease decides which process checks: a
// process that finds the row locked or recent writes nothing. A heartbeat in the future (after a failover to a slower
// clock) would never age, so it counts as now; so does the last check. Workers dead for 1 day are deleted once their
// orphans are recovered. With $6 the statement looks for orphans and late attempts among all running jobs, otherwise only
// for orphans of recently dead workers. The smallest `orphanAfter` of its kinds decides when a worker is dead. `since`
// stores the start of the unbroken series of checks.
const check = {
  name: 'worker_check',
  text: `
    with won as materialized (
      select at, at > coalesce($1::timestamptz, now()) + interval '1 second'
        or at <= coalesce($1::timestamptz, now()) - make_interval(secs => 2 * $3 / 1000.0) as unwatched
      from retoma.periodic_lease
      where name = 'watchdog'
        and (
          at <= coalesce($1::timestamptz, now()) - make_interval(secs => $4 / 1000.0)
          or at > coalesce($1::timestamptz, now()) + interval '1 second'
        )
      for update skip locked
    ), noted as (
      update retoma.periodic_lease t
      set at = coalesce($1::timestamptz, now()),
        since = case when won.unwatched or not isfinite(t.since) then coalesce($1::timestamptz, now()) else t.since end
      from won
      where name = 'watchdog'
    ), rule as materialized (
      select w.id, least($2::float8, (
          select min((k.policy ->> 'orphanAfter')::float8) from retoma.kind k where k.name = any (w.kinds)
        )) as ms
      from retoma.worker w
      where w.dead_at is null
    ), judged as (
      update retoma.worker w
      set heartbeat_at = least(heartbeat_at, coalesce($1::timestamptz, now())),
        suspected_at = case
          when heartbeat_at > coalesce($1::timestamptz, now()) then null
          when suspected_at is null or won.unwatched then coalesce($1::timestamptz, now())
          else suspected_at
        end,
        missed_checks = case when suspected_at is null then 1 else missed_checks + 1 end,
        dead_at = case
          when heartbeat_at < coalesce($1::timestamptz, now()) - make_interval(secs => rule.ms / 1000)
            and (
              not won.unwatched and suspected_at <= coalesce($1::timestamptz, now()) - make_interval(secs => 2 * $3 / 1000.0)
              or suspected_at is not null and missed_checks + 1 >= $5
            )
          then coalesce($1::timestamptz, now())
        end
      from won, rule
      where w.id = any (array[rule.id]) and w.dead_at is null
        and (
          heartbeat_at < coalesce($1::timestamptz, now()) - make_interval(secs => rule.ms / 2000)
          or heartbeat_at > coalesce($1::timestamptz, now()) + interval '1 second'
        )
      returning w.id, host, pid, dead_at is not null as dead
    ), forgotten as (
      delete from retoma.worker w
      using won
      where dead_at < coalesce($1::timestamptz, now()) - interval '1 day'
        and (select true from retoma.job j where j.worker_id = w.id and j.state = 'running' limit 1) is null
    )
    select exists (select from won) as won,
      (select extract(epoch from coalesce($1::timestamptz, now()) - at)::float8 * 1000 from won where isfinite(at)) as "unseenMs",
      coalesce((select jsonb_agg(to_jsonb(judged)) from judged), '[]') as judged,
      case
        when $6 then exists (
          select from retoma.job j
          where j.state = 'running'
            and (select true from retoma.worker w where w.id = j.worker_id and w.dead_at is null) is null
        )
        else exists (
          select from retoma.worker w
          where dead_at > coalesce($1::timestamptz, now()) - interval '5 minutes'
            and (select true from retoma.job j where j.worker_id = w.id and j.state = 'running' limit 1)
        )
      end as orphans,
      exists (select from retoma.batch where finished_at is null or cascade is not null) as batches,
      exists (select from retoma.batch where claims_blocked and state = 'paused' and reason ->> 'code' in ('provider', 'same_cause'))
        or exists (select from retoma.provider where waited_until is not null) as stopped,
      exists (
        select from rule join retoma.worker w on w.id = any (array[rule.id])
        where w.suspected_at is not null
          or w.heartbeat_at < coalesce($1::timestamptz, now()) - make_interval(secs => rule.ms / 2000)
      ) as suspects,
      $6 and exists (
        with ${kindClocks(nowParameter(1))}
        select from retoma.worker w
          cross join lateral (select * from retoma.job where ${leasedByWorker('w.id')} offset 0) j
          join clock k on k.name = j.kind
        where ${isLate(nowParameter(1))}
      ) as late,
      exists (select from retoma.worker where dead_at is null and blocked_since is not null) as hung,
      case when $6 then ${someWait} end as waiting,
      exists (select from retoma.finding) as findings,
      ${isToBeSampled} as sample`,
}

export async function checkWorkers(
  db: Db,
  rule: OrphanRule,
  among: 'all' | 'the lately dead',
  now: Date | null,
): Promise<WorkerCheck> {
  const values = [now, rule.orphanAfterMs, rule.heartbeatMs, rule.apartMs, silentChecks, among === 'all']
  const [found] = await db.run<WorkerCheck>(check, values, tickMs)
  // The statement saw the workers before its own update: a worker declared dead just now may have orphans too.
  return { ...found!, orphans: found!.orphans || found!.judged.some(each => each.dead) }
}
