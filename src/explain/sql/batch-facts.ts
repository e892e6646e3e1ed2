/** Reads the facts for the explanation of a batch that its view lacks. No statement counts all items. */

import { batchSums } from '../../batches/sql/batch-counters.ts'
import { viewBatch } from '../../batches/sql/batch-view.ts'
import type { Db } from '../../database/db.ts'
import { inLaneOfKey, waitingJobs } from '../../jobs/sql/job-floor.ts'
import { type BatchFacts, most, type TurnFacts } from '../model/explain-facts.ts'
import { eligibleWorkersOf, limitsOf, now, providerOf, revive, watch, workerOf } from './fact-fragments.ts'

type Around = Pick<
  BatchFacts,
  | 'now'
  | 'version'
  | 'takenAt'
  | 'stallAfterMs'
  | 'stallClockAt'
  | 'queuePaused'
  | 'ready'
  | 'later'
  | 'dueAt'
  | 'seenAll'
  | 'runners'
  | 'provider'
  | 'limits'
  | 'eligibleWorkers'
  | 'watch'
> & { now: Date; turn: (Omit<TurnFacts, 'seconds'> & { rate: number | null }) | null }

const version = `coalesce((
      select f.version from retoma.job f
      where f.id = (select first_id from retoma.batch_chunk where batch_id = b.id order by n limit 1)
    ), 1)`

/** Batches that take turns, at most. */
const mostTurns = 1000

const weightOf = (b: string): string =>
  `coalesce((${b}.policy ->> 'weight')::int, (q.limits #>> array['weights', ${b}.name])::int, 1)`

// TurnFacts, with the rate of the queue. Of a batch with the same priority as many items start first as its weight gives, of a better priority all items; jobs without
// a batch count as one batch. The rate counts from the first sample of the last minute.
const turn = `
      select jsonb_build_object('batches', count(*) filter (where o.batch and o.waiting > 0 and o.priority <= b.priority and o.id <> b.id),
        'jobs', coalesce(sum(case when o.id = b.id or o.priority > b.priority then 0 when o.priority < b.priority then o.waiting
          else least(o.waiting, ceil(mine.waiting * o.weight::numeric / ${weightOf('b')})) end), 0),
        'rate', sum(o.rate))
      from (select b.total - s.ended - s.stalled - s.running as waiting from (${batchSums('b.id')}) s) mine
        cross join lateral (
          select true as batch, x.id, x.priority, ${weightOf('x')} as weight, x.total - s.ended - s.stalled - s.running as waiting, r.rate
          from (
            select id, name, policy, priority, total, throughput_at, throughput_done from retoma.batch
            where finished_at is null and not claims_blocked and queue = b.queue
            order by id
            limit ${mostTurns}
          ) x
            cross join lateral (${batchSums('x.id')}) s
            left join lateral (
              select (s.ended - t.done) / extract(epoch from ${now} - t.at)::float8 as rate
              from unnest(x.throughput_at, x.throughput_done) as t (at, done)
              where t.at between ${now} - interval '1 minute' and ${now} - interval '1 second' and t.done < s.ended
              order by t.at
              limit 1
            ) r on true
          union all
          select false, 0, (r.claim_rank / 2)::int, 1, count(*)::int, null
          from generate_series(0, b.priority * 2 + 1) as r (claim_rank)
            cross join lateral (
              select from retoma.job
              where ${inLaneOfKey('b.queue', 'r.claim_rank::smallint', `''`)} and run_at <= ${now}
              limit ${most}
            ) j
          group by 3
        ) o`

// The waiting items of a batch have no index of their own; the statement searches the first waiting jobs of the queue.
const around = {
  name: 'explain_batch',
  text: `
    select ${now} as now, ${version} as version, (
        select t.created_at from retoma.job t
        where t.id = (select last_id from retoma.batch_chunk where batch_id = b.id order by n desc limit 1)
      ) as "takenAt",
      (b.policy ->> 'stallAfter')::float8 as "stallAfterMs",
      case when isfinite(b.stall_clock_started_at) then b.stall_clock_started_at end as "stallClockAt", coalesce(q.paused, false) as "queuePaused",
      coalesce(s.ready, 0) as ready, coalesce(s.later, 0) as later, s."dueAt", coalesce(s.whole, false) as "seenAll",
      case when q.limit_key_from = 'batch' and b.state in ('submitting', 'running') then (${turn}) end as turn,
      (
        select coalesce(jsonb_agg(jsonb_build_object('id', r.worker_id, 'items', r.items,
          'worker', case when w.id is not null then ${workerOf('w', 'case when r.place <= 3 then w.blocked_stack end')} end) order by r.place), '[]')
        from (
          select l.worker_id, l.items, row_number() over (
              order by o.id is null or o.dead_at is not null or o.blocked_since is not null desc, l.items desc, l.worker_id) as place
          from (
            select worker_id, count(*)::int as items
            from (select worker_id, batch_id from retoma.job where state = 'running' limit ${most}) x
            where batch_id = b.id
            group by 1
          ) l
            left join retoma.worker o on o.id = l.worker_id
        ) r
          left join retoma.worker w on w.id = r.worker_id
      ) as runners,
      ${providerOf(`p.name in (b.deferred_by, b.reason ->> 'provider')`, `b.reason ->> 'provider'`)} as provider,
      case when q.limited then ${limitsOf('q')} else '[]' end as limits,
      ${eligibleWorkersOf('b.queue', 'b.kind', version)} as "eligibleWorkers",
      ${watch} as watch
    from retoma.batch b
      left join retoma.queue q on q.name = b.queue
      left join lateral (
        select count(*) filter (where x.batch_id = b.id and x.run_at <= ${now})::int as ready,
          count(*) filter (where x.batch_id = b.id and x.run_at > ${now})::int as later,
          min(x.run_at) filter (where x.batch_id = b.id and x.run_at > ${now}) as "dueAt",
          count(*) < ${most} as whole
        from (
          select o.batch_id, o.run_at from generate_series(0, 19) as r (claim_rank)
            cross join lateral (${waitingJobs('b.queue', 'batch_id, run_at', `limit ${most}`)}) o
          limit ${most}
        ) x
      ) s on b.state in ('submitting', 'running')
    where b.id = $2`,
}

const answerMs = 10_000

/** Returns undefined if there is no such batch. */
export async function explainBatchFacts(db: Db, id: string, at: Date | null): Promise<BatchFacts | undefined> {
  const view = await viewBatch(db, id, at)
  if (view === undefined) return undefined
  const [row] = await db.run<Around>(around, [at, id], answerMs)
  if (row === undefined) return undefined
  const { priority, percent, lastRef, itemsReceived, completeJob, ...batch } = view
  const { turn, ...facts } = row
  return { ...batch, ...revive(facts), turn: turn && turnFacts(turn, view.waiting) }
}

function turnFacts({ rate, ...turn }: NonNullable<Around['turn']>, waiting: number): TurnFacts {
  return { ...turn, seconds: rate === null || rate <= 0 ? null : Math.ceil((turn.jobs + waiting) / rate) }
}
