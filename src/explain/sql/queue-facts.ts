/**
 * Reads the facts for the explanation of a queue in one statement: the depth up to the cap, lane by lane, and the workers of the queue.
 */

import type { Db } from '../../database/db.ts'
import { takesVersion } from '../../jobs/sql/claimable-kinds.ts'
import { inLimitedLane, inOpenLane, leasedByWorker } from '../../jobs/sql/job-floor.ts'
import { most, type QueueFacts } from '../model/explain-facts.ts'
import {
  countOf,
  eligibleWorkersOf,
  isLive,
  limitsOf,
  now,
  providerOf,
  revive,
  watch,
  workerOf,
} from './fact-fragments.ts'

// Probes each lane once: the first ready job, or the first job for later.
const head = (due: '<=' | '>') => `
  select min(h.run_at)
  from generate_series(0, 19) as r (claim_rank)
    cross join lateral (
      select run_at from retoma.job
      where ${inOpenLane('$2', 'r.claim_rank::smallint')} and run_at ${due} ${now}
      order by run_at
      limit 1
    ) h`

/** The lanes are read one after the other: the oldest limited job is known only if none was left out. */
const seenAll = `(select count(*) from limited) < ${most}`

const notTaken = `not exists (
  select from retoma.worker w
  where ${isLive('w')} and w.queues ? $2
    and ${takesVersion('w', 's.kind', 's.version')}
)`

const queue = {
  name: 'explain_queue',
  text: `
    with open as materialized (
      select o.kind, coalesce(o.version, 1) as version, o.batch_id, o.run_at
      from generate_series(0, 19) as r (claim_rank)
        cross join lateral (
          select kind, version, batch_id, run_at from retoma.job
          where ${inOpenLane('$2', 'r.claim_rank::smallint')} and run_at <= ${now}
          order by run_at, id
          limit ${most}
        ) o
      limit ${most}
    ), limited as materialized (
      select o.kind, coalesce(o.version, 1) as version, o.batch_id, o.run_at
      from generate_series(0, 19) as r (claim_rank)
        cross join lateral (
          select kind, version, batch_id, run_at from retoma.job
          where ${inLimitedLane('$2', 'r.claim_rank::smallint')}
          order by run_at
          limit ${most}
        ) o
      limit ${most}
    ), ready as materialized (
      select * from open union all select * from limited where run_at <= ${now}
    )
    select ${now} as now, $2 as queue, coalesce(q.paused, false) as paused,
      (
        q.name is not null or exists (select from ready) or exists (select from limited)
        or exists (
          select from generate_series(0, 19) as r (claim_rank)
            cross join lateral (select from retoma.job where ${inOpenLane('$2', 'r.claim_rank::smallint')} limit 1) o
        )
        or exists (select from retoma.worker w where ${isLive('w')} and w.queues ? $2)
      ) as known,
      (
        select jsonb_build_object('jobs', least(count(*), ${most}),
          'more', count(*) >= ${most} or (select count(*) from limited) >= ${most}) from ready
      ) as ready,
      (
        select count(*)::int from ready
        where batch_id is not null and batch_id = any (array(select id from retoma.batch where claims_blocked))
      ) as "claimsBlocked",
      least((${head('<=')}), (select min(run_at) from limited where run_at <= ${now} and ${seenAll})) as "oldestAt",
      least((${head('>')}), (select min(run_at) from limited where run_at > ${now} and ${seenAll})) as "dueAt",
      ${countOf(`
        select 1 from retoma.worker w
          cross join lateral (select queue from retoma.job where ${leasedByWorker('w.id')} offset 0) j
        where j.queue = $2`)} as running,
      (
        select coalesce(jsonb_agg(jsonb_build_object('kind', s.kind, 'version', s.version, 'jobs', s.jobs) order by s.jobs desc, s.kind), '[]')
        from (select kind, version, count(*)::int as jobs from ready group by 1, 2) s
        where ${notTaken}
      ) as starved,
      (
        select coalesce(jsonb_agg(${workerOf('h')} order by h.blocked_since), '[]')
        from (
          select * from retoma.worker w
          where ${isLive('w')} and w.queues ? $2 and w.blocked_since is not null
          order by w.blocked_since
          limit 3
        ) h
      ) as hung,
      ${providerOf('p.kinds && array(select k.name from retoma.kind k where k.queue = $2 union select s.kind from retoma.job_count_sample s where s.queue = $2)')} as provider,
      case when q.limited then ${limitsOf('q')} else '[]' end as limits,
      ${eligibleWorkersOf('$2')} as "eligibleWorkers",
      ${watch} as watch
    from (select $2::text as name) n left join retoma.queue q on q.name = n.name`,
}

const answerMs = 10_000

/** Returns undefined if no row, no job and no worker has this queue. */
export async function explainQueueFacts(db: Db, name: string, at: Date | null): Promise<QueueFacts | undefined> {
  const [row] = await db.run<QueueFacts & { known: boolean }>(queue, [at, name], answerMs)
  const { known, ...facts } = row!
  return known ? revive(facts) : undefined
}

const names = { name: 'explain_queue_names', text: `select name from retoma.queue order by name limit 1000` }

export async function queueNames(db: Db): Promise<string[]> {
  const rows = await db.run<{ name: string }>(names, [])
  return rows.map(row => row.name)
}
