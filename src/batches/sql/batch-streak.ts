/**
 * Pauses a batch after a streak of failures with the same fingerprint, of different items. The length is `stopAfter.sameCause`. While the
 * batch is paused, one item runs per minute, and the first item without a failure resumes the batch.
 *
 * A provider stop works in the same way (provider-pauses.ts). The batch therefore has a row of its own in `provider`, under a name no
 * provider can have.
 *
 * Invariant: a streak means no item succeeded or was skipped between the first and the last of the failures, by the counters of the
 * batch. An item that fails as the probe of the paused batch uses no attempt: the attempt is released (jobs/model/outcome.ts), so the last
 * attempt of an item is not lost to an outage. Every statement here may run twice.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { probeEvery } from '../../jobs/model/deferral.ts'
import { noteBatchStates } from '../../jobs/sql/transition.ts'
import { clearedProvider } from '../../providers/sql/provider-state.ts'
import { batchSums } from './batch-counters.ts'

const now = nowParameter(2)
const ownName = `'batch ' || b.id`

export interface Streak {
  batch: string
  cause: string
  code: string | null
  message: string
  /** The failed items in the order of the failures. An item may occur more than once. */
  items: readonly { id: string }[]
  /** No other failure of the batch happened in between, as far as this process knows. */
  isAll: boolean
}

const note = {
  name: 'batch_streak',
  text: `
    with home as materialized (
      select b.id, b.queue, b.state, b.streak, b.reason, (b.policy #>> '{stopAfter,sameCause}')::int as most, s.succeeded + s.skipped as answered
      from (
        select * from retoma.batch where id = $1 and policy #>> '{stopAfter,sameCause}' is not null for update
      ) b cross join lateral (${batchSums('b.id')}) s
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
    ), updated as (
      update retoma.batch b
      set streak = case when not n.is_full then jsonb_build_object('cause', $3::text, 'answered', n.answered, 'jobs', to_jsonb(n.jobs)) end,
        state = case when not n.is_full then b.state else 'paused' end,
        claims_blocked = b.claims_blocked or n.is_full,
        stopped_at = case when n.is_full then ${now} else b.stopped_at end,
        stall_clock_started_at = case when not n.is_full then b.stall_clock_started_at else 'infinity' end,
        reason = case when not n.is_full then b.reason else jsonb_build_object('code', 'same_cause', 'provider', ${ownName}, 'cause', $3::text,
          'message', $7::text, 'items', cardinality(n.jobs), 'answered', n.answered, 'job', ($4::bigint[])[1]::text) end
      from next n
      where b.id = any (array[n.id])
      returning b.id, n.was, b.state, b.reason
    ), ${noteBatchStates('updated', now)}
    select h.queue, exists (select from next where is_full) as paused from home h`,
}

/**
 * Notes failures for the streak of the batch. Returns undefined if the batch has no `sameCause`. A finished batch can be paused again
 * once items run again.
 */
export async function recordStreak(
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
        cross join lateral (${batchSums('b.id')}) s
      where s.succeeded + s.skipped > (b.reason ->> 'answered')::int
    )
    update retoma.provider set ${clearedProvider(now)}
    where name = any (array(select provider from home)) and stopped_at is not null
    returning name`,
}

/**
 * Clears the stop of each paused batch in `batches` with an item that succeeded or was skipped since the pause. Returns true if any stop
 * was cleared.
 */
export const answerStreaks = async (db: Db, batches: readonly string[], at: Date | null): Promise<boolean> =>
  (await db.run(answered, [batches, at])).length > 0
