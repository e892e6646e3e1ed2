/**
 * Failures of one cause in a row, of different items of a batch: after as many as its `stopAfter.sameCause` says the batch is
 * paused, one item a minute runs, and the first that does not fail has the batch go on.
 *
 * A stop of a provider does the same (provider-turn.ts), so the batch has a row there of its own, under a name that no provider can have.
 *
 * Invariant: in a row means that no item succeeded or was skipped between the first and the last of these failures, by the batch's own
 * counters. An item that fails because it was the one let through pays no try for it: its attempt is handed
 * back (core/outcome.ts), so the last try of an item is not lost to an outage. All of it may be done twice.
 */
import { probeEvery } from '../core/hand-back.ts'
import { sumsOf } from './batch-count.ts'
import type { Db } from './db.ts'
import { noteBatchStates } from './event.ts'
import { cleared } from './provider.ts'

const now = `coalesce($2::timestamptz, now())`
const ownName = `'batch ' || b.id`

export interface Streak {
  batch: string
  cause: string
  code: string | null
  message: string
  /** The items that failed so, in the order of their ends; one may have failed more than once. */
  items: readonly { id: string }[]
  /** Nothing else of this batch has failed meanwhile, as far as is known here. */
  isAll: boolean
}

const note = {
  name: 'batch_streak',
  text: `
    with home as materialized (
      select b.id, b.queue, b.state, b.streak, b.reason, (b.policy #>> '{stopAfter,sameCause}')::int as most, s.succeeded + s.skipped as answered
      from (
        select * from retoma.batch where id = $1 and policy #>> '{stopAfter,sameCause}' is not null for update
      ) b cross join lateral (${sumsOf('b.id')}) s
    ), used as (
      update retoma.provider p set probe_job = null
      from home h
      where h.reason ->> 'code' = 'same_cause' and p.name = h.reason ->> 'provider' and p.probe_job = any ($4::bigint[])
    ), next as materialized (
      select j.*, cardinality(j.jobs) >= j.most as is_full
      from (
        select h.id, h.state as was, h.answered, h.most,
          case when $5 and h.streak ->> 'cause' = $3 and (h.streak ->> 'answered')::int = h.answered
            then array(select distinct x from unnest(array(select jsonb_array_elements_text(h.streak -> 'jobs'))::bigint[] || $4::bigint[]) as x)
            else array(select distinct x from unnest($4::bigint[]) as x)
          end as jobs
        from home h
        where h.state in ('submitting', 'running')
      ) j
    ), stopped as (
      insert into retoma.provider as p (name, kinds, stopped_at, probe_at, code, message, at)
      select ${ownName}, '{}', ${now}, ${now} + make_interval(secs => ${probeEvery / 1000}), $6, $7, ${now} from next b where b.is_full
      on conflict (name) do update
      set stopped_at = excluded.stopped_at, probe_at = excluded.probe_at, probe_job = null, code = excluded.code, message = excluded.message, at = excluded.at
    ), pressed as (
      update retoma.batch b
      set streak = case when not n.is_full then jsonb_build_object('cause', $3::text, 'answered', n.answered, 'jobs', to_jsonb(n.jobs)) end,
        state = case when not n.is_full then b.state else 'paused' end,
        held = b.held or n.is_full,
        stall_from = case when not n.is_full then b.stall_from else 'infinity' end,
        reason = case when not n.is_full then b.reason else jsonb_build_object('code', 'same_cause', 'provider', ${ownName}, 'cause', $3::text,
          'message', $7::text, 'items', cardinality(n.jobs), 'answered', n.answered, 'job', ($4::bigint[])[1]::text) end
      from next n
      where b.id = any (array[n.id])
      returning b.id, n.was, b.state, b.reason
    ), ${noteBatchStates('pressed', now)}
    select h.queue, exists (select from next where is_full) as paused from home h`,
}

/** undefined: this batch never stops for failures of one cause. One that has ended does again when its items run again. */
export async function noteStreak(
  db: Db,
  { batch, cause, code, message, items, isAll }: Streak,
  at: Date | null,
): Promise<{ queue: string; paused: boolean } | undefined> {
  const ids = items.map(each => each.id)
  const [row] = await db.run<{ queue: string; paused: boolean }>(note, [batch, at, cause, ids, isAll, code, message])
  return row
}

const answered = {
  name: 'batch_streak_answered',
  text: `
    with home as materialized (
      select b.reason ->> 'provider' as provider
      from (select id, reason from retoma.batch where id = any ($1::bigint[]) and state = 'paused' and reason ->> 'code' = 'same_cause') b
        cross join lateral (${sumsOf('b.id')}) s
      where s.succeeded + s.skipped > (b.reason ->> 'answered')::int
    )
    update retoma.provider set ${cleared(now)}
    where name = any (array(select provider from home)) and stopped_at is not null
    returning name`,
}

/** Of these batches some may have been answered since they were stopped; whether any was. */
export const answerStreaks = async (db: Db, batches: readonly string[], at: Date | null): Promise<boolean> =>
  (await db.run(answered, [batches, at])).length > 0
