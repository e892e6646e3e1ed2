/**
 * What the watchdog writes when a worker is gone. Two steps, both in the database, so that an outage or a watchdog that
 * has just been born makes no false orphan: first suspect, and only two beats later declare dead.
 *
 * Invariant: a running job whose worker is dead or missing is an orphan at every tick; taking its lease away and noting
 * why is one statement. Bounded, SKIP LOCKED: any number of watchdogs may run, none is the leader.
 */
import type { Db } from './db.ts'
import { freeGates } from './gate.ts'

/** A watchdog that gets no answer looks again at its next tick; a process that ends does not wait for it for long. */
const tickMs = 8000

export interface OrphanRule {
  orphanAfterMs: number
  beatMs: number
}

export interface JudgedWorker {
  id: string
  host: string
  pid: number
  dead: boolean
}

// A beat in the future (after a failover to a clock that runs behind) would never age: it is taken as one of now.
const judge = {
  name: 'watchdog_judge_workers',
  text: `
    update retoma.worker
    set beat_at = least(beat_at, coalesce($1::timestamptz, now())),
      suspected_at = case
        when beat_at > coalesce($1::timestamptz, now()) then null
        else coalesce(suspected_at, coalesce($1::timestamptz, now()))
      end,
      dead_at = case
        when beat_at < coalesce($1::timestamptz, now()) - make_interval(secs => $2 / 1000.0)
          and suspected_at <= coalesce($1::timestamptz, now()) - make_interval(secs => 2 * $3 / 1000.0)
        then coalesce($1::timestamptz, now())
      end
    where dead_at is null
      and (
        beat_at < coalesce($1::timestamptz, now()) - make_interval(secs => $2 / 2000.0)
        or beat_at > coalesce($1::timestamptz, now()) + interval '1 second'
      )
    returning id, host, pid, dead_at is not null as dead`,
}

/** Workers that have become suspect or dead, or still are suspect. */
export function judgeWorkers(db: Db, rule: OrphanRule, now: Date | null): Promise<JudgedWorker[]> {
  return db.run<JudgedWorker>(judge, [now, rule.orphanAfterMs, rule.beatMs], tickMs)
}

export interface Recovered {
  id: string
  queue: string
  kind: string
  state: 'waiting' | 'stalled' | 'failed'
  worker: string
}

export const orphanMessage = 'orphan: the worker died while it ran this job'

// Found first, locked by the fence then: a lock takes the newest version of a row, and "not exists" is not asked again for
// it. Without the fence a job that another watchdog recovered and a live worker claimed meanwhile would be taken from it.
const recover = {
  name: 'watchdog_recover',
  text: `
    with found as materialized (
      select j.id, j.attempt, j.worker_id
      from retoma.job j
      where j.state = 'running'
        and not exists (select from retoma.worker w where w.id = j.worker_id and w.dead_at is null)
      order by j.id
      limit $2
    ), orphan as materialized (
      select j.id, j.worker_id,
        case k.policy ->> 'onOrphan' when 'stall' then 'stalled' when 'fail' then 'failed' else 'waiting' end as state
      from found f
        join retoma.job j on j.id = f.id and j.attempt = f.attempt and j.worker_id = f.worker_id
        left join retoma.kind k on k.name = j.kind
      order by j.id
      for update of j skip locked
    ), moved as (
      update retoma.job j
      set state = o.state,
        worker_id = null,
        last_worker = o.worker_id,
        restarts = j.restarts + 1,
        rank = case when o.state = 'waiting' then j.rank & ~1 else j.rank end,
        run_at = case when o.state = 'waiting' then coalesce($1::timestamptz, now()) else j.run_at end,
        finished_at = case when o.state = 'failed' then coalesce($1::timestamptz, now()) end,
        key_hold = case when o.state = 'failed' then nullif(j.key_hold, 'final') else j.key_hold end,
        error = jsonb_build_object('what', 'orphan', 'message', $3::text, 'code', null, 'stack', null)
      from orphan o
      where j.id = o.id
      returning j.id, j.queue, j.kind, j.attempt, o.state, o.worker_id, j.gated, j.gate_key
    ), noted as (
      insert into retoma.failure (job_id, attempt, what, message, worker, at)
      select id, attempt, 'orphan', $3, worker_id, coalesce($1::timestamptz, now()) from moved
      on conflict do nothing
    ), ${freeGates('moved', 'coalesce($1::timestamptz, now())')}
    select id, queue, kind, state, worker_id as worker from moved`,
}

/** At most `limit` jobs of dead or vanished workers, put right by their kind's policy. */
export function recoverOrphans(db: Db, limit: number, now: Date | null): Promise<Recovered[]> {
  return db.run<Recovered>(recover, [now, limit, orphanMessage], tickMs)
}

// Kept for a day, so that a person can still see who died; one that still has orphans is kept until they are recovered.
const forget = {
  name: 'watchdog_forget_workers',
  text: `
    delete from retoma.worker w
    where dead_at < coalesce($1::timestamptz, now()) - interval '1 day'
      and not exists (select from retoma.job j where j.worker_id = w.id and j.state = 'running')`,
}

export async function forgetWorkers(db: Db, now: Date | null): Promise<void> {
  await db.run(forget, [now], tickMs)
}
