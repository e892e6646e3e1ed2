/**
 * Fails jobs past a time limit of their batch or else their kind.
 *
 * `maxAge` bounds the whole life of a job, in any unfinished state: ready jobs without a worker, `stalled` jobs without a
 * person, jobs retried again and again. The age of a job counts from `run_at` until its first attempt, so a job scheduled
 * for next week is not too old today; from the first attempt on, the age counts from the enqueue.
 *
 * `maxWait` bounds a wait for a worker: only `waiting` jobs, from the instant at which the job became ready. A pause of the
 * queue or batch does not count: the wait begins anew at the resume.
 *
 * Invariant: bounded chunks with SKIP LOCKED; a late write of the ended attempt finds no row; `maxWait` never ends an attempt,
 * because the statement checks the state and the limit again on the locked row.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { fingerprintOf } from '../../jobs/model/error-fingerprint.ts'
import type { JobPolicy } from '../../jobs/model/policy.ts'
import { queuesOf } from '../../jobs/sql/kind-queues.ts'
import { isOpen, overriding } from '../../jobs/sql/policy-override.ts'
import { countMoves, noteJobStates, releaseLimits } from '../../jobs/sql/transition.ts'

const tickMs = 8000
const now = nowParameter(1)

const own = overriding('maxAge', 'maxWait', 'messages')

// Kinds, and batches with a policy override for their items. No item is older than its batch, so `created_at` filters
// batches.
const aged = {
  name: 'overdue_kinds',
  text: `
    select name, ${queuesOf('kind.name', 'kind.queue')} as queues, null as batch, policy from retoma.kind
    where policy ->> 'maxAge' is not null or policy ->> 'maxWait' is not null
    union all
    select b.kind, array[b.queue], b.id::text, p.policy
    from (select id, kind, queue, policy, created_at from retoma.batch where ${own}) b
      left join retoma.kind k on k.name = any (array[b.kind])
      cross join lateral (select coalesce(k.policy, '{}') || (b.policy -> 'items') as policy) p
    where b.created_at <= ${now} - make_interval(secs => least((p.policy ->> 'maxAge')::float8, (p.policy ->> 'maxWait')::float8) / 1000)
    order by name, batch`,
}

interface Aged {
  name: string
  queues: string[]
  /** null: all jobs of the kind without a batch override. */
  batch: string | null
  policy: JobPolicy
}

/** Rows read per lane of jobs that returned to `waiting`; the oldest `run_at` first. */
const depth = 10_000
/** Matches jobs past the limit of the row of `k`. `job`: the alias of the job. */
const tooOld = (job: string) => `case
  when k.bounds_wait then ${job}.state = 'waiting' and ${job}.run_at <= k.before
    and (${job}.batch_id is null or (k.n, ${job}.batch_id) not in (select n, id from paused_batch))
  else case when ${job}.attempt = 0 then ${job}.run_at else ${job}.created_at end <= k.before
end`
/** Matches jobs of the batch, or jobs of the kind outside of batches with an override. */
const isOfIt = `kind = k.name and case when k.batch is null then batch_id is null or batch_id not in (select id from own) else batch_id = k.batch end`

/** True if the queue was not paused since `k.before`. */
const isUnpaused = (queue: string) =>
  `(not k.bounds_wait or not exists (select from retoma.queue r where r.name = ${queue} and (r.paused or r.resumed_at > k.before)))`
/** The queues of a row of `k`. */
const eachQueue = `lateral (
          select e.name from (select jsonb_array_elements_text(k.queues) collate "C" as name) e where ${isUnpaused('e.name')}
        ) q`

// Reads each state by its own index. Jobs that never started and are too old lie at the front of their lane.
const fail = {
  name: 'overdue_jobs_fail',
  text: `
    with k as materialized (
      select row_number() over () as n, name, queues, batch, message, cause, bounds_wait, ${now} - make_interval(secs => longest_ms / 1000) as before
      from unnest((select $3::text[]), (select $4::jsonb[]), (select $5::bigint[]), (select $6::float8[]), (select $7::text[]), (select $8::text[]), (select $9::boolean[]))
        as g (name, queues, batch, longest_ms, message, cause, bounds_wait)
    ), own as materialized (
      select id from retoma.batch where ${own}
    ), paused_batch as materialized (
      select k.n, b.id from k join retoma.batch b on b.kind = k.name
      where k.bounds_wait and ${isOpen} and (b.claims_blocked or b.resumed_at > k.before)
    ), found as materialized (
      (
        select j.id
        from k cross join ${eachQueue} cross join generate_series(1, 19, 2) as r (claim_rank)
          cross join lateral (
            select id from retoma.job w
            where queue = q.name and claim_rank = r.claim_rank and state = 'waiting' and not limited and run_at <= k.before and ${isOfIt} and ${tooOld('w')}
            order by run_at, id
            limit $2
          ) j
        limit $2
      )
      union all
      (
        select j.id
        from k cross join ${eachQueue} cross join generate_series(0, 18, 2) as r (claim_rank)
          cross join lateral (
            select id, queue, state, kind, batch_id, attempt, run_at, created_at from retoma.job
            where queue = q.name and claim_rank = r.claim_rank and state = 'waiting' and not limited
            order by run_at, id
            limit ${depth}
          ) j
        where ${isOfIt} and ${tooOld('j')}
        limit $2
      )
      union all
      (
        select j.id
        from k cross join ${eachQueue}
          cross join lateral (
            select id from retoma.job w
            where queue = q.name and state = 'waiting' and limited and ${isOfIt} and ${tooOld('w')}
            limit $2
          ) j
        limit $2
      )
      union all
      (
        select j.id from retoma.job j join k on ${isOfIt} where j.state = 'running' and not k.bounds_wait and ${tooOld('j')} limit $2
      )
      union all
      (
        select j.id from retoma.job j join k on ${isOfIt} where j.state = 'stalled' and not k.bounds_wait and ${tooOld('j')} limit $2
      )
      limit $2
    ), before as materialized (
      select j.id, j.state, k.message, k.cause, k.bounds_wait
      from retoma.job j join k on ${isOfIt}
      where j.id = any (array(select id from found)) and j.state in ('waiting', 'running', 'stalled') and ${tooOld('j')} and ${isUnpaused('j.queue')}
      order by j.id
      for update of j skip locked
    ), ended as (
      update retoma.job j
      set state = 'failed', last_worker = coalesce(j.worker_id, j.last_worker), worker_id = null, finished_at = ${now},
        unique_until = nullif(j.unique_until, 'final'),
        error = jsonb_build_object('type', 'overdue', 'message', b.message, 'code', null, 'stack', null, 'cause', b.cause)
      from (select distinct on (id) * from before order by id, bounds_wait) b
      where j.id = any (array[b.id])
      returning j.id, j.queue, j.kind, j.attempt, j.state, b.state as was, j.last_worker, j.limited, j.limit_key, j.batch_id, j.ref, j.failures, j.started_at, j.error
    ), ran as (
      select * from ended where was = 'running'
    ), noted as (
      insert into retoma.failure (job_id, attempt, failure_type, message, worker, started_at, at)
      select id, attempt, 'overdue', error ->> 'message', last_worker, started_at, ${now} from ran
      on conflict do nothing
    ), ${noteJobStates('ended', now, { from: 'm.was' })},
    ${releaseLimits('ran', now)},
    ${countMoves('ended')}
    select id, queue, kind, batch_id as batch from ended`,
}

export interface Overdue {
  id: string
  queue: string
  kind: string
  batch: string | null
}

interface TimeLimit {
  kind: string
  queues: string
  batch: string | null
  longestMs: number
  message: string
  /** true: `maxWait`; false: `maxAge`. */
  boundsWait: boolean
}

function limitsOf({ name, queues, batch, policy }: Aged): TimeLimit[] {
  const { maxAge, maxWait, messages } = policy
  const of = { kind: name, queues: JSON.stringify(queues), batch }
  const limits: TimeLimit[] = []
  if (maxAge != null) {
    const message = messages?.overdue ?? `overdue: not done within ${maxAge / 1000} s`
    limits.push({ ...of, longestMs: maxAge, message, boundsWait: false })
  }
  if (maxWait != null) {
    const message = messages?.overdue ?? `overdue: no worker took the job within ${maxWait / 1000} s`
    limits.push({ ...of, longestMs: maxWait, message, boundsWait: true })
  }
  return limits
}

/** Fails at most `limit` jobs and returns the failed jobs. */
export async function failOverdue(db: Db, limit: number, now: Date | null): Promise<Overdue[]> {
  const those = await db.run<Aged>(aged, [now], tickMs)
  if (those.length === 0) return []
  const limits = those.flatMap(limitsOf)
  const column = <K extends keyof TimeLimit>(name: K) => limits.map(each => each[name])
  return db.run<Overdue>(fail, [
    now, limit, column('kind'), column('queues'), column('batch'), column('longestMs'), column('message'),
    limits.map(({ message }) => fingerprintOf({ type: 'overdue', code: null, message })), column('boundsWait'),
  ], tickMs) // biome-ignore format: the columns in their order
}
