/**
 * Claims ready jobs for a worker: one statement over the lanes (queue, rank). Each lane is an equality on the index, so the cost does not
 * grow with jobs for later, jobs of other queues, or finished jobs.
 *
 * Invariant: a claimed row has a new attempt number and the id of this worker. The job id, the attempt number and the worker id are the
 * fence; every later write of the attempt names the fence.
 */

import { claimShardOf, countStarted } from '../../batches/sql/batch-counters.ts'
import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import type { CrashSuspicion } from '../../jobs/model/crash-suspicion.ts'
import type { ClaimableKinds } from '../../jobs/model/kind-version.ts'
import type { JobPolicy } from '../../jobs/model/policy.ts'
import { countMoves, releaseLimits } from '../../jobs/sql/transition.ts'
import { isMarked } from '../../lib/values/value-codec.ts'

export interface ClaimedJob {
  id: string
  attempt: number
  queue: string
  kind: string
  /** As JSON.parse reads the text; if `input_marked`, `decodeValue` must decode the input. */
  input: unknown
  input_marked: boolean
  failures: number
  crashes: number
  ref: string | null
  batch_id: string | null
  group_key: string | null
  /** If the queue has a limit per group: the key of the claim; otherwise ''. */
  limit_key: string
  /** Size of the input as JSON text. The table may store the input compressed a hundredfold. */
  input_bytes: number
  /** Version of the kind's code at the enqueue; null: 1. */
  version: number | null
  /** Crash suspicion of a job that may crash the process (jobs/model/crash-suspicion.ts). */
  crash_suspicion: Partial<CrashSuspicion> | null
  /** Policy override of the job, or of its batch (claiming/batch-overrides.ts). */
  override: Partial<JobPolicy> | null
  /** Trace context of the enqueue (lib/trace.ts). */
  trace: string | null
  /** The data the handler stored with its last checkpoint. */
  checkpoint_data: unknown
  /**
   * Set on the probe item of a paused batch (batches/sql/batch-streak.ts): the name of the stopped provider row of the batch. null for every other
   * job.
   */
  tries_for: string | null
  /** The database's clock at this claim, in milliseconds. */
  started_ms: number
  claim_rank: number
  /** `run_at` in UTC as PostgreSQL prints the value. With `claim_rank` and `id` the position of the job in the lane. */
  run_at: string
}

/** A claim cursor: the claim takes rows after this position of a lane. `runAt` is text, because a Date would lose microseconds. */
export interface ClaimCursor {
  runAt: string
  id: string
}

export interface ClaimRequest {
  queue: string
  want: number
  /** Returns the start position in the lane of a rank; default: the beginning of the lane. */
  from?: (rank: number) => ClaimCursor
}

/** The input comes as text, which the server produces anyway, so its size is known at no cost. See `unpack`. */
export const claimedColumns = `
  j.id, j.attempt, j.queue, j.kind, j.input::text as input, j.failures, j.crashes, j.ref, j.batch_id, j.group_key, j.limit_key, j.claim_rank, j.checkpoint_data, j.version, j.crash_suspicion, j.trace, j.policy_override as override,
  case when j.id = any (array(select probe_job from retoma.provider where probe_job is not null and starts_with(name, 'batch ')))
    then 'batch ' || j.batch_id end as tries_for,
  extract(epoch from j.started_at)::float8 * 1000 as started_ms, (j.run_at at time zone 'UTC')::text as run_at`

/**
 * Excludes the jobs of a batch whose claims are blocked (paused, stalled or finished), from the commit of the block on. No batch has the
 * id 0. The `coalesce` hides the selectivity from the planner. The planner would estimate from the batches of the waiting jobs, and if
 * all belong to a single batch, take a lane for empty and sort the whole lane (docs/adr/0005-plans.md).
 */
export const claimsNotBlocked = `coalesce(batch_id, 0) <> all (array(select id from retoma.batch where claims_blocked))`

/** Also includes the probe job of a batch that is paused because of a stopped provider (batches/sql/provider-pauses.ts). */
export const isClaimable = `(${claimsNotBlocked} or id = any (array(select probe_job from retoma.provider where probe_job is not null)))`

/** True for a job row that this worker's code can run. Most jobs have no version, and PostgreSQL does not evaluate the second half. */
export const isTaken = (kinds: string, versions: string) => `(
  version is null and kind = any (${kinds}::text[])
  or version between (${versions}::jsonb -> kind -> 0)::int and (${versions}::jsonb -> kind -> 1)::int
)`

/** Claim rank: priority * 2, plus 1 for a new job. See `job.claim_rank`. */
const ranks = Array.from({ length: 20 }, (_, rank) => rank)
const start: ClaimCursor = { runAt: '-infinity', id: '0' }

// `limit` stands inside and outside of the lanes: later lanes are not touched once the earlier lanes gave enough rows, and no row is
// locked in vain. With SKIP LOCKED workers never wait for each other. A worker that was declared dead and does not know so yet gets no
// jobs, because its jobs would be orphans at once. claim-limited.ts claims the queues with limits. The ids are gathered into an array
// first: for a join the planner reads the whole table while the table is small (docs/adr/0005-plans.md).
const claim = {
  name: 'claim',
  text: `
    with taken as (
      update retoma.job j
      set state = 'running', attempt = attempt + 1, worker_id = $7, started_at = coalesce($9::timestamptz, now())
      where j.id = any (array(
        select c.id
        from unnest($1::text[], $2::int[]) with ordinality as q (queue, want, place)
          cross join lateral (
            select found.id
            from (
              select claim_rank, run_at, id
              from unnest($3::int[], $4::smallint[], $5::timestamp[], $6::bigint[]) with ordinality as l (place, claim_rank, run_at, id, ord)
              where l.place = q.place
              order by ord
            ) lane
              cross join lateral (
                select id from retoma.job
                where queue = q.queue and claim_rank = lane.claim_rank and state = 'waiting' and not limited
                  and run_at <= coalesce($9::timestamptz, now())
                  and (run_at, id) > (lane.run_at at time zone 'UTC', lane.id)
                  and ${isTaken('$8', '$10')}
                  and ${isClaimable}
                order by run_at, id
                limit q.want
                for update skip locked
              ) found
            limit q.want
          ) c
        where q.queue <> all (array(select name from retoma.queue where paused or limited))
          and exists (select from retoma.worker where id = $7 and dead_at is null)
      ))
      returning ${claimedColumns}
    ), ${countStarted('taken', '$11::smallint')}
    select * from taken`,
}

/** Converts a row of `claimedColumns` in place, because a worker may claim tens of thousands of rows per second. */
export function unpackClaimed(row: ClaimedJob): ClaimedJob {
  const text = row.input as string
  row.input = JSON.parse(text)
  row.input_marked = isMarked(text)
  row.input_bytes = text.length
  return row
}

export async function claimJobs(
  db: Db,
  given: { wants: readonly ClaimRequest[]; worker: string } & ClaimableKinds,
  now: Date | null,
): Promise<ClaimedJob[]> {
  const { wants, kinds, versions = '{}', worker } = given
  const lanes = wants.flatMap(({ from }, index) =>
    ranks.map(rank => ({ place: index + 1, rank, mark: from?.(rank) ?? start })),
  )
  const rows = await db.run<ClaimedJob>(claim, [
    wants.map(each => each.queue),
    wants.map(each => each.want),
    lanes.map(lane => lane.place),
    lanes.map(lane => lane.rank),
    lanes.map(lane => lane.mark.runAt),
    lanes.map(lane => lane.mark.id),
    worker,
    kinds,
    now,
    versions,
    claimShardOf(worker),
  ])
  return rows.map(unpackClaimed)
}

/** Claims start this far before the claim cursor, so a commit that takes no longer is never missed. */
export const lookBackMs = 250

// Reads the first future job of each lane, so the worker knows the next instant without a notification. Also reads which of the queues
// have limits, because limited jobs are claimed by another statement.
const ahead = {
  name: 'claim_lookahead',
  text: `
    select extract(epoch from min(j.run_at) - coalesce($2::timestamptz, now()))::float8 * 1000 as "dueMs",
      array(select name from retoma.queue where limited and name = any ($1::text[])) as limited,
      array(
        select name from retoma.queue
        where limited and name = any ($1::text[]) and (limits - 'weights')::text ~ '"(concurrency|rate)"'
      ) as counted,
      array(
        select name from retoma.queue
        where limited and name = any ($1::text[]) and (limit_key_from is not null or keys_changed_at is not null)
      ) as keyed,
      ((coalesce($2::timestamptz, now()) - interval '${lookBackMs} milliseconds') at time zone 'UTC')::text as seen,
      coalesce((select jsonb_object_agg(name, unblock_seq) from retoma.queue where name = any ($1::text[])), '{}') as "unblockSeq"
    from unnest($1::text[]) as q (name), generate_series(0, 19) as r (claim_rank)
      cross join lateral (
        select run_at from retoma.job
        where queue = q.name and job.claim_rank = r.claim_rank::smallint and state = 'waiting' and not limited
          and run_at > coalesce($2::timestamptz, now())
        order by run_at
        limit 1
      ) j`,
}

export interface LookaheadResult {
  /** Milliseconds until the next job of the queues is due; null if no job waits for an instant. */
  dueMs: number | null
  /** The queues with limits or fair turns: claim-limited.ts claims their jobs. */
  limited: string[]
  /** The queues among them with a concurrency or a rate. */
  counted: string[]
  /** The queues among them whose jobs may have limit keys. */
  keyed: string[]
  /**
   * An instant `lookBackMs` before now, as text. Once a later claim returns fewer jobs than wanted, no job before this instant waits for
   * the worker.
   */
  seen: string
  /** Per queue: a counter that changes when skipped jobs become claimable. */
  unblockSeq: Record<string, number>
}

export async function lookAhead(db: Db, queues: readonly string[], now: Date | null): Promise<LookaheadResult> {
  const [row] = await db.run<LookaheadResult>(ahead, [queues, now])
  return row!
}

// The fence selects only attempts of this worker. None of the attempts has started, so no attempt and no start is counted. Rows are
// locked in the order of the ids, because a cancel of the batch locks the same rows at the same time.
const releaseUnstarted = {
  name: 'claim_release',
  text: `
    with moved as (
      update retoma.job j
      set state = 'waiting', worker_id = null, last_worker = $3, claim_rank = claim_rank & ~1, uncounted_attempts = uncounted_attempts + 1,
        run_at = coalesce($4::timestamptz, now()) + make_interval(secs => $5 / 1000.0)
      from unnest($1::bigint[], $2::int[]) as g (id, attempt)
      where j.id = any (array[g.id]) and j.attempt = g.attempt and j.worker_id = $3
      returning j.queue, j.limited, j.limit_key, j.batch_id, 'running' as was, j.state
    ), ${releaseLimits('moved', nowParameter(4))},
    ${countMoves('moved')}
    select queue from moved`,
}

const restartAges = {
  name: 'claim_restart_ages',
  text: `
    update retoma.job j
    set started_at = coalesce($4::timestamptz, now())
    from unnest($1::bigint[], $2::int[]) as g (id, attempt)
    where j.id = any (array[g.id]) and j.attempt = g.attempt and j.worker_id = $3`,
}

/** Restarts the clock of claimed attempts that wait for a slot: the watchdog counts the time of these attempts from now on. */
export async function restartClaimAges(
  db: Db,
  worker: string,
  claims: readonly ClaimedJob[],
  now: Date | null,
): Promise<void> {
  const sorted = claims.toSorted(byId)
  await db.run(restartAges, [sorted.map(each => each.id), sorted.map(each => each.attempt), worker, now])
}

const extend = {
  name: 'claim_extend',
  text: `
    update retoma.job j
    set started_at = j.started_at + make_interval(secs => g.ms / 1000)
    from unnest($1::bigint[], $2::int[], $3::float8[]) as g (id, attempt, ms)
    where j.id = any (array[g.id]) and j.attempt = g.attempt and j.worker_id = $4`,
}

/** Moves the start of attempts by `ms`, the time the attempts could not use. The watchdog does not count this time. */
export async function extendAttempts(
  db: Db,
  worker: string,
  attempts: readonly { id: string; attempt: number; ms: number }[],
): Promise<void> {
  const sorted = attempts.toSorted(byId)
  const column = <K extends keyof (typeof sorted)[number]>(name: K) => sorted.map(each => each[name])
  await db.run(extend, [column('id'), column('attempt'), column('ms'), worker])
}

const recall = {
  name: 'claim_recall_deferred',
  text: `
    with given as materialized (
      select g.id, g.attempt from unnest((select $1::bigint[]), (select $2::int[])) as g (id, attempt) order by g.id
    ), free as materialized (
      select f.id
      from given g
        cross join lateral (
          select j.id from retoma.job j
          where j.id = g.id and j.attempt = g.attempt and j.worker_id is null and j.finished_at is null
            and j.run_at > coalesce($3::timestamptz, now())
          for update skip locked
        ) f
    )
    update retoma.job j set run_at = coalesce($3::timestamptz, now()) where j.id = any (array(select id from free))
    returning j.queue`,
}

/** Makes jobs ready that were deferred after these attempts and still wait. Returns the queues. */
export async function recallJobs(
  db: Db,
  attempts: readonly { id: string; attempt: number }[],
  now: Date | null,
): Promise<string[]> {
  const values = [attempts.map(each => each.id), attempts.map(each => each.attempt), now]
  const rows = await db.run<{ queue: string }>(recall, values)
  return [...new Set(rows.map(row => row.queue))]
}

const byId = (a: { id: string }, b: { id: string }) => a.id.length - b.id.length || (a.id < b.id ? -1 : 1)

/** Releases attempts that were claimed and never started, to run after `delayMs`. Returns the queues with released jobs. */
export async function releaseClaims(
  db: Db,
  worker: string,
  claims: readonly { id: string; attempt: number }[],
  now: Date | null,
  delayMs = 0,
): Promise<Set<string>> {
  const sorted = claims.toSorted(byId)
  const values = [sorted.map(each => each.id), sorted.map(each => each.attempt), worker, now, delayMs]
  const rows = await db.run<{ queue: string }>(releaseUnstarted, values)
  return new Set(rows.map(row => row.queue))
}
