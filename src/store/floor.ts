/**
 * Where the live entries of the two hot indexes begin. Somebody's long transaction keeps every entry of a job that has ended in
 * the index, and a count that begins at the start reads all of them: a million entries take a second. So workers note from time
 * to time where the first live entry is, and whoever counts begins there.
 *
 * Invariant: nothing that waits or runs lies before its floor for longer than a minute. Whatever enters a lane, or starts to run,
 * does so at the present or later; only a transaction that is still open can commit something earlier, so a floor never passes the
 * start of one that has written jobs. A transaction that writes its first job after the floor was raised can commit a job before
 * the floor: so a floor counts for a minute after the last search that began at the start of the index, and such a search may
 * lower it. Claims do not rely on floors.
 */
import type { Db } from './db.ts'

/** Seconds after a search from the start. The next such search comes earlier, so that a floor in use does not lapse. */
const countsFor = 60
const searchAnewAfter = 45

// A floor in the future is of another clock, before a failover: it says nothing.
const floorOf = (what: 'waiting' | 'running', name: string, rank: string, seconds = countsFor) => `
  coalesce((
    select f.at from retoma.floor f
    where f.what = '${what}' and f.name = ${name} and f.rank = ${rank} and f.at <= now()
      and f.searched_at > now() - interval '${seconds} seconds' and f.searched_at <= now()
  ), '-infinity')`

const openLane = (queue: string, rank: string, floor: string) =>
  `queue = ${queue} and rank = ${rank} and state = 'waiting' and not gated and run_at >= ${floor}`

const held = (worker: string, floor: string) => `worker_id = ${worker} and state = 'running' and started_at >= ${floor}`

/**
 * Of a row of job: it waits in that lane, and no limit holds it. In a `lateral` that has a `limit` or says `offset 0`: otherwise the
 * planner may join the other way round, and compare with the floor what it has read already.
 */
export const inOpenLane = (queue: string, rank: string): string =>
  openLane(queue, rank, floorOf('waiting', queue, rank))

/** Of a row of job: that worker holds it. Likewise. */
export const heldByWorker = (worker: string): string => held(worker, floorOf('running', worker, '0'))

/** Whether anything waits in an open lane. */
export const someWaitOpen = `exists (
  select from retoma.queue q cross join generate_series(0, 19) as r (rank)
    cross join lateral (select from retoma.job where ${inOpenLane('q.name', 'r.rank::smallint')} limit 1) j
)`

/** Whether anything runs. */
export const someRun = `exists (
  select from retoma.worker w cross join lateral (select from retoma.job where ${heldByWorker('w.id')} limit 1) j
)`

// One process at a time, once a second. The first live entry is looked for from the last floor on, and from the start where
// that was last done some time ago: so a dead entry is passed once in that time. An open transaction whose start cannot be seen
// (of another role, or prepared) stops all floors.
const raise = {
  name: 'floor_raise',
  text: `
    with turn as materialized (
      update retoma.tick set at = now()
      where name = 'floor' and (at <= now() - interval '1 second' or at > now())
      returning name
    ), bound as materialized (
      select case when coalesce(bool_or(a.xact_start is null), false) then '-infinity'
        else least(now() - interval '1 second', min(a.xact_start)) end as at
      from pg_locks l left join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'relation' and l.relation = 'retoma.job'::regclass and l.mode = 'RowExclusiveLock'
        and l.database = (select oid from pg_database where datname = current_database())
        and l.pid is distinct from pg_backend_pid()
    ), lane as materialized (
      select q.name, r.rank::smallint as rank, ${floorOf('waiting', 'q.name', 'r.rank::smallint', searchAnewAfter)} as floor
      from turn cross join unnest($1::text[]) as q (name) cross join generate_series(0, 19) as r (rank)
    ), holder as materialized (
      select w.id, ${floorOf('running', 'w.id', '0', searchAnewAfter)} as floor from turn cross join retoma.worker w
    ), found as materialized (
      select 'waiting' as what, l.name, l.rank, l.floor, least(bound.at, head.run_at) as at
      from bound cross join lane l
        left join lateral (
          select run_at from retoma.job where ${openLane('l.name', 'l.rank', 'l.floor')} order by run_at, id limit 1
        ) head on true
      union all
      select 'running', h.id, 0, h.floor, least(bound.at, head.started_at)
      from bound cross join holder h
        left join lateral (
          select started_at from retoma.job where ${held('h.id', 'h.floor')} order by started_at limit 1
        ) head on true
    ), gone as (
      delete from retoma.floor f
      where (select true from turn) and f.what = 'running'
        and not exists (select from retoma.worker w where w.id = f.name)
    )
    insert into retoma.floor as f (what, name, rank, at, searched_at)
    select what, name, rank, at, case when floor = '-infinity' then now() else '-infinity' end
    from found where at > '-infinity' order by what, name, rank
    on conflict (what, name, rank) do update set at = excluded.at, searched_at = case when isfinite(excluded.searched_at) then excluded.searched_at else f.searched_at end
      where isfinite(excluded.searched_at) or excluded.at > f.at`,
}

/** Notes where what waits in these queues, and what runs, begins; nothing when another process has done so within a second. */
export async function raiseFloors(db: Db, queues: readonly string[]): Promise<void> {
  await db.run(raise, [queues])
}
