/**
 * How the watchdog finds that a worker is gone. Two steps, both in the database, so that an outage or a watchdog that
 * has just been born makes no false orphan: first suspect, and only two beats later declare dead. What becomes of its jobs
 * is in orphan.ts.
 *
 * Invariant: nobody is declared dead who could not beat. Two beats must have passed in which somebody looked: when nobody
 * has for that long (the database was away, nothing ran) suspicion begins anew. A database that comes and goes never
 * lets anybody look for two beats; there a suspect is dead who was silent at six looks in a row.
 */
import { silentLooks } from '../core/verdict.ts'
import type { Db } from './db.ts'
import { heldByWorker, someWaitOpen } from './floor.ts'
import { isToBeSampled } from './sample.ts'
import { isLate, kindClocks } from './watch.ts'

/** A watchdog that gets no answer looks again at its next tick; a process that ends does not wait for it for long. */
const tickMs = 8000

export interface OrphanRule {
  /** Of a worker all of whose kinds allow more. */
  orphanAfterMs: number
  beatMs: number
  /** Looks are at least so far apart; who comes sooner finds that it was done. */
  apartMs: number
}

interface JudgedWorker {
  id: string
  host: string
  pid: number
  dead: boolean
}

export interface Look {
  /** This look was ours: nobody has looked within the last seconds. */
  won: boolean
  /** How long nobody had looked, when it was ours; null: never before, or it was not ours. */
  unseenMs: number | null
  /** Workers that have become suspect or dead, or still are suspect. */
  judged: JudgedWorker[]
  /** Jobs run that belong to nobody. */
  orphans: boolean
  /** There are batches that are not over, or whose rows still follow. */
  batches: boolean
  /** Some of them stand still for a provider, or something waits for one that does not ask for it any more. */
  stopped: boolean
  /** Workers that were silent at the last look, or would be at this one, and are not dead. */
  suspects: boolean
  /** Attempts run for longer than something of their policy allows without a look at them. */
  late: boolean
  /** A worker's main loop stands still. */
  hung: boolean
  /** Jobs wait; null: that was not looked at. */
  waiting: boolean | null
  /** Something was reported, and may be over. */
  findings: boolean
  /** It is time to count what is live, and there is something to count. */
  sample: boolean
}

// One statement, so that an idle watchdog costs one. The look is won by the row of retoma.tick: whoever finds it locked or
// young writes nothing. A beat in the future (after a failover to a clock that runs behind) would never age: it is taken
// as one of now; so is the last look. Workers dead for a day are forgotten, once their orphans are recovered. Orphans are
// looked for among all that runs, or only among what the lately dead have left; so are attempts that run for long. A worker is
// dead by the least orphanAfter of its kinds. Since when looks have followed each other is kept with the look.
const look = {
  name: 'watchdog_look',
  text: `
    with won as materialized (
      select at, at > coalesce($1::timestamptz, now()) + interval '1 second'
        or at <= coalesce($1::timestamptz, now()) - make_interval(secs => 2 * $3 / 1000.0) as unwatched
      from retoma.tick
      where name = 'watchdog'
        and (
          at <= coalesce($1::timestamptz, now()) - make_interval(secs => $4 / 1000.0)
          or at > coalesce($1::timestamptz, now()) + interval '1 second'
        )
      for update skip locked
    ), noted as (
      update retoma.tick t
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
      set beat_at = least(beat_at, coalesce($1::timestamptz, now())),
        suspected_at = case
          when beat_at > coalesce($1::timestamptz, now()) then null
          when suspected_at is null or won.unwatched then coalesce($1::timestamptz, now())
          else suspected_at
        end,
        suspected_looks = case when suspected_at is null then 1 else suspected_looks + 1 end,
        dead_at = case
          when beat_at < coalesce($1::timestamptz, now()) - make_interval(secs => rule.ms / 1000)
            and (
              not won.unwatched and suspected_at <= coalesce($1::timestamptz, now()) - make_interval(secs => 2 * $3 / 1000.0)
              or suspected_at is not null and suspected_looks + 1 >= $5
            )
          then coalesce($1::timestamptz, now())
        end
      from won, rule
      where w.id = any (array[rule.id]) and w.dead_at is null
        and (
          beat_at < coalesce($1::timestamptz, now()) - make_interval(secs => rule.ms / 2000)
          or beat_at > coalesce($1::timestamptz, now()) + interval '1 second'
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
      exists (select from retoma.batch where finished_at is null or todo is not null) as batches,
      exists (select from retoma.batch where held and state = 'paused' and reason ->> 'code' in ('provider', 'same_cause'))
        or exists (select from retoma.provider where waited_until is not null) as stopped,
      exists (
        select from rule join retoma.worker w on w.id = any (array[rule.id])
        where w.suspected_at is not null
          or w.beat_at < coalesce($1::timestamptz, now()) - make_interval(secs => rule.ms / 2000)
      ) as suspects,
      $6 and exists (
        with ${kindClocks('coalesce($1::timestamptz, now())')}
        select from retoma.worker w
          cross join lateral (select * from retoma.job where ${heldByWorker('w.id')} offset 0) j
          join clock k on k.name = j.kind
        where ${isLate('coalesce($1::timestamptz, now())')}
      ) as late,
      exists (select from retoma.worker where dead_at is null and blocked_since is not null) as hung,
      case when $6 then ${someWaitOpen}
        or exists (select from retoma.job where state = 'waiting' and gated) end as waiting,
      exists (select from retoma.finding) as findings,
      ${isToBeSampled} as sample`,
}

export async function lookAfterWorkers(
  db: Db,
  rule: OrphanRule,
  among: 'all' | 'the lately dead',
  now: Date | null,
): Promise<Look> {
  const values = [now, rule.orphanAfterMs, rule.beatMs, rule.apartMs, silentLooks, among === 'all']
  const [found] = await db.run<Look>(look, values, tickMs)
  // The statement saw the workers as they were before it: who has just died may have left some, too.
  return { ...found!, orphans: found!.orphans || found!.judged.some(each => each.dead) }
}
