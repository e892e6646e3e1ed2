/**
 * What is live, counted by a tick for everybody: /metrics, stats and whoever else wants to know read retoma.sample and count
 * nothing. Only rows that wait, run or stand still are looked at, each through its own partial index; what is finished is not.
 *
 * Invariant: one process counts at a time, and counting takes at most a twentieth of the time over all of them: the row of
 * retoma.tick says from when on it may be done again, by what it cost. One statement, so that a crash leaves the count before.
 */
import type { Db } from './db.ts'
import { heldByWorker, inOpenLane, someRun, someWaitOpen } from './floor.ts'

/** A million that wait take half a second; what takes longer than this is tried again when as much has passed twenty times. */
const sampleDeadlineMs = 30_000
/** Of the time, one part in so many. */
export const sampleShare = 20

const now = 'coalesce($1::timestamptz, now())'
// Of a batch that is paused, stalled or over nothing may start: it makes nothing late.
const ripe = `case when run_at <= ${now} and (batch_id is null or batch_id <> all (array(select id from retoma.batch where held))) then run_at end`
const waiting = `queue, kind, case when run_at <= ${now} then 'ready' else 'scheduled' end as state, ${ripe} as ripe_at`

const leftByTheDead = `exists (
  select from retoma.metric m
  where process <> '' and not exists (select from retoma.worker w where w.id = m.process and w.dead_at is null)
)`

/**
 * Asked with each look of the watchdog (recover.ts, whose $6 says whether to look at all that is live): an idle system counts
 * nothing, and need not ask for it.
 */
export const isToBeSampled = `(
        exists (select from retoma.tick where name = 'sample' and (since <= ${now} or at > ${now} + interval '1 second'))
        and (
          exists (select from retoma.sample)
          or ${leftByTheDead}
          or $6 and (
            ${someWaitOpen}
            or exists (select from retoma.job where state = 'waiting' and gated)
            or ${someRun}
            or exists (select from retoma.job where state = 'stalled')
          )
        )
      )`

// Rows that are as they were are not written: an idle system writes its tick alone. A last count that lies in the future
// (after a failover to a clock that runs behind) counts as none.
const take = {
  name: 'sample_take',
  text: `
    with won as materialized (
      select from retoma.tick
      where name = 'sample' and (since <= ${now} or at > ${now} + interval '1 second')
      for update skip locked
    ), counted as materialized (
      select queue, kind, state, count(*) as jobs, min(ripe_at) as oldest_at
      from (
      select j.*
      from retoma.queue q cross join generate_series(0, 19) as r (rank)
        cross join lateral (select ${waiting} from retoma.job where ${inOpenLane('q.name', 'r.rank::smallint')} offset 0) j
      where (select true from won)
      union all
      select ${waiting} from retoma.job where state = 'waiting' and gated and (select true from won)
      union all
      select j.queue, j.kind, 'running', null
      from retoma.worker w cross join lateral (select queue, kind from retoma.job where ${heldByWorker('w.id')} offset 0) j
      where (select true from won)
      union all
      select queue, kind, 'stalled', null from retoma.job where state = 'stalled' and (select true from won)
      ) live
      group by 1, 2, 3
    ), gone as (
      delete from retoma.sample s
      where (select true from won)
        and not exists (select from counted c where c.queue = s.queue and c.kind = s.kind and c.state = s.state)
    ), kept as (
      insert into retoma.sample as s (queue, kind, state, jobs, oldest_at)
      select queue, kind, state, jobs, oldest_at from counted
      on conflict (queue, kind, state) do update
        set jobs = excluded.jobs, oldest_at = excluded.oldest_at
        where s.jobs <> excluded.jobs or s.oldest_at is distinct from excluded.oldest_at
    ), noted as (
      update retoma.tick
      set at = ${now},
        since = ${now} + greatest(make_interval(secs => $2 / 1000.0), (clock_timestamp() - statement_timestamp()) * ${sampleShare})
      from won, (select count(*) as series from counted) c
      where name = 'sample' and c.series >= 0
    )
    select exists (select from won) as won, ${leftByTheDead} as left`,
}

export interface Taken {
  /** It was ours to count. */
  won: boolean
  /** Workers that are gone have left counters that nobody has added up (metric.ts). */
  left: boolean
}

export async function takeSample(db: Db, apartMs: number, now: Date | null): Promise<Taken> {
  const [row] = await db.run<Taken>(take, [now, apartMs], sampleDeadlineMs)
  return row!
}
