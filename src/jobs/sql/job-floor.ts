/**
 * Notes where the live entries of the hot indexes begin: the job floors. A queue has one floor for each claim rank, for jobs with and without limits. A long transaction of any client keeps every entry of a
 * finished job in the index, and a count from the start reads all entries: a million entries take a second. So workers note from time to
 * time where the first live entry is, and counts begin there.
 *
 * Invariant: no waiting or running job lies before its job floor for longer than 1 minute. Every job enters a lane, or starts to run, at
 * the present instant or later; only an open transaction can commit an earlier job, so a floor never passes the start of an open
 * transaction that has written jobs. A transaction that writes its first job after the floor was raised can commit a job before the
 * floor. A floor is therefore valid for 1 minute after the last search from the start of the index, and such a search may lower the
 * floor. Claims do not use job floors.
 */
import type { Db } from '../../database/db.ts'

/** Seconds a floor is valid after a search from the start. The next such search comes earlier, so a floor in use does not expire. */
const countsFor = 60
const searchAnewAfter = 45

// A floor in the future comes from another clock, before a failover, and is ignored.
const floorOf = (what: 'waiting' | 'running', name: string, rank: string, seconds = countsFor) => `
  coalesce((
    select f.at from retoma.job_floor f
    where f.state = '${what}' and f.name = ${name} and f.claim_rank = ${rank} and f.at <= now()
      and f.searched_at > now() - interval '${seconds} seconds' and f.searched_at <= now()
  ), '-infinity')`

const openLane = (queue: string, rank: string, floor: string) =>
  `queue = ${queue} and claim_rank = ${rank} and state = 'waiting' and not limited and run_at >= ${floor}`

const limitedLane = (queue: string, rank: string, floor: string) =>
  `queue = ${queue} and claim_rank = ${rank} and state = 'waiting' and limited and id > 0 and run_at >= ${floor}`

const leased = (worker: string, floor: string) =>
  `worker_id = ${worker} and state = 'running' and started_at >= ${floor}`

/**
 * True for a job row that waits in this lane without a limit. Use only in a `lateral` with a `limit` or an `offset 0`: otherwise the
 * planner may swap the join and compare rows with the floor only after the read.
 */
export const inOpenLane = (queue: string, rank: string): string =>
  openLane(queue, rank, floorOf('waiting', queue, rank))

/** True for a limited job row that waits with this claim rank, under any limit key. The same rule for `lateral` applies. */
export const inLimitedLane = (queue: string, rank: string): string =>
  limitedLane(queue, rank, floorOf('waiting', queue, rank))

/** True for a job row that waits in this lane of a limited queue. The same rule for `lateral` applies. */
export const inLaneOfKey = (queue: string, rank: string, key: string): string =>
  `queue = ${queue} and claim_rank = ${rank} and limit_key = ${key} and state = 'waiting' and limited and run_at >= ${floorOf('waiting', queue, rank)}`

/** The waiting jobs of a queue, with and without limits: a `lateral` for each claim rank `r`. `rest`: further conditions, an order and a limit. */
export const waitingJobs = (queue: string, columns: string, rest = 'offset 0'): string => `
  (select ${columns} from retoma.job where ${inOpenLane(queue, 'r.claim_rank::smallint')} ${rest})
  union all
  (select ${columns} from retoma.job where ${inLimitedLane(queue, 'r.claim_rank::smallint')} ${rest})`

/** True for a job row whose lease this worker has. The same rule for `lateral` applies. */
export const leasedByWorker = (worker: string): string => leased(worker, floorOf('running', worker, '0'))

/** True if a job waits. */
export const someWait = `exists (
  select from retoma.queue q cross join generate_series(0, 19) as r (claim_rank)
    cross join lateral (${waitingJobs('q.name', '', 'limit 1')}) j
)`

/** True if a job runs. */
export const someRun = `exists (
  select from retoma.worker w cross join lateral (select from retoma.job where ${leasedByWorker('w.id')} limit 1) j
)`

// Runs in one process at a time, once per second. The search for the first live entry begins at the last floor, or at the start if the
// last search from the start is some time ago: so a dead entry is read once in that time. An open transaction whose start is not visible
// (of another role, or prepared) stops all floors.
const raise = {
  name: 'job_floor_raise',
  text: `
    with turn as materialized (
      update retoma.periodic_lease set at = now()
      where name = 'job_floor' and (at <= now() - interval '1 second' or at > now())
      returning name
    ), bound as materialized (
      select case when coalesce(bool_or(a.xact_start is null), false) then '-infinity'
        else least(now() - interval '1 second', min(a.xact_start)) end as at
      from pg_locks l left join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'relation' and l.relation = 'retoma.job'::regclass and l.mode = 'RowExclusiveLock'
        and l.database = (select oid from pg_database where datname = current_database())
        and l.pid is distinct from pg_backend_pid()
    ), lane as materialized (
      select q.name, r.claim_rank::smallint as claim_rank, ${floorOf('waiting', 'q.name', 'r.claim_rank::smallint', searchAnewAfter)} as floor
      from turn cross join unnest($1::text[]) as q (name) cross join generate_series(0, 19) as r (claim_rank)
    ), holder as materialized (
      select w.id, ${floorOf('running', 'w.id', '0', searchAnewAfter)} as floor from turn cross join retoma.worker w
    ), found as materialized (
      select 'waiting' as state, l.name, l.claim_rank, l.floor, least(bound.at, head.run_at) as at
      from bound cross join lane l
        left join lateral (
          select min(run_at) as run_at
          from (
            (select run_at from retoma.job where ${openLane('l.name', 'l.claim_rank', 'l.floor')} order by run_at, id limit 1)
            union all
            (select run_at from retoma.job where ${limitedLane('l.name', 'l.claim_rank', 'l.floor')} order by run_at limit 1)
          ) first
        ) head on true
      union all
      select 'running', h.id, 0, h.floor, least(bound.at, head.started_at)
      from bound cross join holder h
        left join lateral (
          select started_at from retoma.job where ${leased('h.id', 'h.floor')} order by started_at limit 1
        ) head on true
    ), gone as (
      delete from retoma.job_floor f
      where (select true from turn) and f.state = 'running'
        and not exists (select from retoma.worker w where w.id = f.name)
    )
    insert into retoma.job_floor as f (state, name, claim_rank, at, searched_at)
    select state, name, claim_rank, at, case when floor = '-infinity' then now() else '-infinity' end
    from found where at > '-infinity' order by state, name, claim_rank
    on conflict (state, name, claim_rank) do update set at = excluded.at, searched_at = case when isfinite(excluded.searched_at) then excluded.searched_at else f.searched_at end
      where isfinite(excluded.searched_at) or excluded.at > f.at`,
}

/** Raises the job floors of these queues and of the running jobs. Does nothing if another process has done so within the last second. */
export async function raiseFloors(db: Db, queues: readonly string[]): Promise<void> {
  await db.run(raise, [queues])
}
