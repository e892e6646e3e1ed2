/**
 * Reads the facts for the explanation of a job, in one statement and one snapshot. Facts that do not matter in the state of the job are
 * not read.
 */

import type { Db } from '../../database/db.ts'
import { crashSuspicionOf } from '../../jobs/model/crash-suspicion.ts'
import { defaultPolicy } from '../../jobs/model/policy.ts'
import { inLaneOfKey, inOpenLane } from '../../jobs/sql/job-floor.ts'
import { policyInForce } from '../../jobs/sql/policy-override.ts'
import { type JobFacts, most } from '../model/explain-facts.ts'
import { eligibleWorkersOf, limitsOf, now, providerOf, revive, watch, workerOf } from './fact-fragments.ts'

const maxId = '9223372036854775807'
const blockedBatches = `array(select id from retoma.batch where claims_blocked)`

// Counts lane by lane, by index, from the start of the lane to the position of this job, and no further than the cap. Rows after the job
// are not read. This needs a single upper bound; with a second bound the scan would not stop at this position. Jobs of a batch with
// blocked claims lie before the job too, but are not claimed, and so are not counted.
const before = (lane: string) => `
  select batch_id from retoma.job
  where ${lane}
    and (run_at, id) <= (case when r.claim_rank < j.claim_rank then ${now} else j.run_at end, case when r.claim_rank < j.claim_rank then ${maxId} else j.id - 1 end)
  order by run_at, id
  limit ${most}`
const ahead = `(
    select jsonb_build_object('jobs', count(*) filter (where batch_id is null or batch_id <> all (${blockedBatches})), 'more', count(*) >= ${most})
    from (
      select o.batch_id
      from generate_series(0, j.claim_rank) as r (claim_rank)
        cross join lateral (
          (${before(`${inOpenLane('j.queue', 'r.claim_rank::smallint')} and not j.limited`)})
          union all
          (${before(`${inLaneOfKey('j.queue', 'r.claim_rank::smallint', 'j.limit_key')} and j.limited`)})
        ) o
      limit ${most}
    ) s
  )`

const oneOf = (error: string) => `
  'type', ${error} ->> 'type', 'message', left(${error} ->> 'message', 2000), 'code', ${error} ->> 'code'`

// The provider of the job's own last deferral, of the last deferral of its batch, or of the pause of its batch.
const itsBatch = (value: string) => `(select ${value} from retoma.batch b where b.id = j.batch_id)`
const pausedBy = itsBatch(`b.reason ->> 'provider'`)
const deferredBy = `p.name in (j.deferred_by, ${itsBatch('b.deferred_by')}, ${pausedBy})`

const job = {
  name: 'explain_job',
  text: `
    select ${now} as now, j.id::text as id, j.queue, j.kind, coalesce(j.version, 1) as version, j.state, j.attempt, j.failures,
      j.crashes, j.restarts, j.crash_suspicion as "crashSuspicion", j.created_at as "createdAt", j.run_at as "runAt",
      greatest(j.run_at, q.resumed_at, (select b.resumed_at from retoma.batch b where b.id = j.batch_id)) as "readySince", j.started_at as "startedAt",
      j.progress_at as "progressAt", j.finished_at as "finishedAt", left(j.checkpoint, 300) as checkpoint,
      left(j.group_key, 300) as "groupKey", ${policyInForce('k', 'j')} as policy, coalesce(q.paused, false) as "queuePaused", j.worker_id as "workerId",
      case when jsonb_typeof(j.progress) = 'object' then jsonb_build_object(
        'done', j.progress -> 'done', 'total', j.progress -> 'total', 'note', left(j.progress ->> 'note', 300)) end as progress,
      case when j.error is not null then jsonb_build_object(${oneOf('j.error')}) end as error,
      (
        select jsonb_build_object('id', b.id::text, 'state', b.state, 'claimsBlocked', b.claims_blocked, 'following', b.cascade is not null, 'reason', b.reason)
        from retoma.batch b where b.id = j.batch_id
      ) as batch,
      (select ${workerOf('w')} from retoma.worker w where w.id = j.worker_id) as worker,
      (
        select jsonb_build_object('attempt', f.attempt, 'type', f.failure_type, 'message', left(f.message, 2000), 'code', f.code, 'at', f.at,
          'worker', f.worker, 'evidence', f.evidence)
        from retoma.failure f where f.job_id = j.id order by f.attempt desc limit 1
      ) as "lastFailure",
      case when j.state = 'waiting' and j.run_at > ${now} then (
        select left(c.name, 300)
        from (select name, value, at from retoma.checkpoint where job_id = j.id and pg_column_size(value) < 100 limit 1000) c
        where c.value ->> '$retoma' = 'sleep'
        order by c.at desc
        limit 1
      ) end as sleep,
      case when j.state = 'waiting' then ${ahead} else '{"jobs":0,"more":false}' end as ahead,
      case when j.limited then q.limit_key_from end as turns, j.deferred_by as "deferredBy", ${providerOf(deferredBy, pausedBy)} as provider,
      case when j.state = 'waiting' and j.deferred_by is null and ${itsBatch('b.deferred_by')} is null then ${providerOf('j.kind = any (p.kinds)')} end as "providerOfKind",
      case when j.state = 'waiting' and j.limited then ${limitsOf('q', 'j.limit_key')} else '[]' end as limits,
      ${eligibleWorkersOf('j.queue', 'j.kind', 'coalesce(j.version, 1)')} as "eligibleWorkers",
      ${watch} as watch
    from retoma.job j
      left join retoma.kind k on k.name = j.kind
      left join retoma.queue q on q.name = j.queue
    where j.id = $2`,
}

const answerMs = 10_000

/** Returns undefined if there is no such job. */
export async function explainJobFacts(db: Db, id: string, at: Date | null): Promise<JobFacts | undefined> {
  const [row] = await db.run<JobFacts>(job, [at, id], answerMs)
  if (row === undefined) return undefined
  const { crashSuspicion, policy, lastFailure, ...facts } = row
  return {
    ...revive(facts),
    crashSuspicion: crashSuspicionOf(crashSuspicion),
    policy: { ...defaultPolicy, ...policy },
    lastFailure: lastFailure && { ...lastFailure, at: new Date(lastFailure.at) },
  }
}
