/**
 * A worker takes jobs: one statement over (queue, rank) lanes, each an equality on the index, so that its cost does not
 * grow with jobs that are for later, of other queues, or long finished.
 *
 * Invariant: a claimed row carries a new attempt and this worker's id; those two and the job's id are the fence that
 * every later write of the attempt names.
 */
import type { Care } from '../core/care.ts'
import type { Policy } from '../core/policy.ts'
import { isMarked } from '../core/value.ts'
import type { Takes } from '../core/version.ts'
import { claimShardOf, countBegun, countMoves } from './batch-count.ts'
import type { Db } from './db.ts'
import { freeGates } from './gate.ts'

export interface Claimed {
  id: string
  attempt: number
  queue: string
  kind: string
  /** As JSON.parse reads it; `decodeValue` of it where it is marked. */
  input: unknown
  input_marked: boolean
  failures: number
  crashes: number
  ref: string | null
  batch_id: string | null
  group_key: string | null
  /** Where its queue limits each group: the key it was claimed by; '' otherwise. */
  gate_key: string
  /** What it weighs here, as JSON text; what the table stores of it may be compressed a hundredfold. */
  input_bytes: number
  /** Of its kind's code, when it was enqueued; null: 1. */
  version: number | null
  /** How it must be run, when it may be dangerous: see core/care.ts. */
  care: Partial<Care> | null
  /** What its batch asks for in place of what its kind says: see worker/overrides.ts. */
  override: Partial<Policy> | null
  /** Of whoever enqueued it (lib/trace.ts). */
  trace: string | null
  /** What its code noted of its own place. */
  resume: unknown
  /** Of the item that tries for its paused batch (batch-streak.ts): the name under which that batch is stopped; null for every other job. */
  tries_for: string | null
  /** The database's clock at this claim, in milliseconds. */
  started_ms: number
  rank: number
  /** Its run_at in UTC as PostgreSQL prints it: with rank and id its place in its lane. */
  run_at: string
}

/** A place in a lane: rows after it are claimed. run_at is text, because a Date would lose microseconds. */
export interface Mark {
  runAt: string
  id: string
}

export interface Want {
  queue: string
  want: number
  /** Where to begin in the lane of a rank; default: at the start. */
  from?: (rank: number) => Mark
}

/** The input comes as text, which the server makes of it anyway: so its weight is known at no cost. See `unpack`. */
export const claimedColumns = `
  j.id, j.attempt, j.queue, j.kind, j.input::text as input, j.failures, j.crashes, j.ref, j.batch_id, j.group_key, j.gate_key, j.rank, j.resume, j.version, j.care, j.trace,
  case when j.id = any (array(select probe_job from retoma.provider where probe_job is not null and starts_with(name, 'batch ')))
    then 'batch ' || j.batch_id end as tries_for,
  extract(epoch from j.started_at)::float8 * 1000 as started_ms, (j.run_at at time zone 'UTC')::text as run_at`

/**
 * Of a batch that is paused, stalled or over nothing is claimed, from the commit that says so. No batch has the id 0. Coalesced,
 * so that the planner cannot tell how many it leaves: it would read it off the batches of those that wait, and where all are
 * of one it takes a lane for empty and sorts it whole (docs/adr/0005-plans.md).
 */
export const notHeld = `coalesce(batch_id, 0) <> all (array(select id from retoma.batch where held))`

/** Or it is the one that asks whether the provider that its batch stands still for answers again (provider-turn.ts). */
export const isClaimable = `(${notHeld} or id = any (array(select probe_job from retoma.provider where probe_job is not null)))`

/** Of a row of job: this worker's code runs it. Most have no version, and the second half is not looked at. */
export const isTaken = (kinds: string, versions: string) => `(
  version is null and kind = any (${kinds}::text[])
  or version between (${versions}::jsonb -> kind -> 0)::int and (${versions}::jsonb -> kind -> 1)::int
)`

/** Priority * 2, + 1 when new: see job.rank. */
const ranks = Array.from({ length: 20 }, (_, rank) => rank)
const start: Mark = { runAt: '-infinity', id: '0' }

// "limit" stands inside and outside of the lanes: later lanes are not touched once the earlier ones gave enough, and no
// row is locked in vain. SKIP LOCKED, so workers never wait for each other. A worker that was declared dead and does not
// know it yet gets nothing: what it claimed would be an orphan from its first moment. Queues with limits are claimed by
// claim-gated.ts. The ids are gathered into an array
// first: joined, the planner reads the whole table for them as long as it is small (docs/adr/0005-plans.md).
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
              select rank, run_at, id
              from unnest($3::int[], $4::smallint[], $5::timestamp[], $6::bigint[]) with ordinality as l (place, rank, run_at, id, ord)
              where l.place = q.place
              order by ord
            ) lane
              cross join lateral (
                select id from retoma.job
                where queue = q.queue and rank = lane.rank and state = 'waiting' and not gated
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
        where q.queue <> all (array(select name from retoma.queue where paused or gated))
          and exists (select from retoma.worker where id = $7 and dead_at is null)
      ))
      returning ${claimedColumns}
    ), ${countBegun('taken', '$11::smallint')}
    select * from taken`,
}

/** A row of `claimedColumns`, made ready in place: there may be tens of thousands a second. */
export function unpack(row: Claimed): Claimed {
  const text = row.input as string
  row.input = JSON.parse(text)
  row.input_marked = isMarked(text)
  row.input_bytes = text.length
  row.override = null
  return row
}

export async function claimJobs(
  db: Db,
  given: { wants: readonly Want[]; worker: string } & Takes,
  now: Date | null,
): Promise<Claimed[]> {
  const { wants, kinds, versions = '{}', worker } = given
  const lanes = wants.flatMap(({ from }, index) =>
    ranks.map(rank => ({ place: index + 1, rank, mark: from?.(rank) ?? start })),
  )
  const rows = await db.run<Claimed>(claim, [
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
  return rows.map(unpack)
}

/** A commit that takes no longer than this is never passed by. */
export const lookBackMs = 250

// The head of each lane that lies in the future: when to look again without being told. And which of these queues have
// limits, so that they are claimed the other way.
const ahead = {
  name: 'claim_look_ahead',
  text: `
    select extract(epoch from min(j.run_at) - coalesce($2::timestamptz, now()))::float8 * 1000 as "dueMs",
      array(select name from retoma.queue where gated and name = any ($1::text[])) as gated,
      ((coalesce($2::timestamptz, now()) - interval '${lookBackMs} milliseconds') at time zone 'UTC')::text as seen,
      coalesce((select jsonb_object_agg(name, unheld) from retoma.queue where name = any ($1::text[])), '{}') as unheld
    from unnest($1::text[]) as q (name), generate_series(0, 19) as rank
      cross join lateral (
        select run_at from retoma.job
        where queue = q.name and job.rank = rank.rank::smallint and state = 'waiting' and not gated
          and run_at > coalesce($2::timestamptz, now())
        order by run_at
        limit 1
      ) j`,
}

export interface Ahead {
  /** Milliseconds until the next job of these queues is due; null when none waits for a time. */
  dueMs: number | null
  /** Those of the queues that have limits. */
  gated: string[]
  /** A little before now, as text: once a later claim brings less than it wants, nothing from before waits for it. */
  seen: string
  /** By queue: moves when what claims passed by may be claimed after all. */
  unheld: Record<string, number>
}

export async function lookAhead(db: Db, queues: readonly string[], now: Date | null): Promise<Ahead> {
  const [row] = await db.run<Ahead>(ahead, [queues, now])
  return row!
}

// By the fence, and only ours. Nothing of these attempts has started, so nothing is counted, and they are no starts. In the order of the ids: a
// cancel of their batch locks the same rows at the same time.
const giveBack = {
  name: 'claim_give_back',
  text: `
    with moved as (
      update retoma.job j
      set state = 'waiting', worker_id = null, last_worker = $3, rank = rank & ~1, unspent = unspent + 1,
        run_at = coalesce($4::timestamptz, now()) + make_interval(secs => $5 / 1000.0)
      from unnest($1::bigint[], $2::int[]) as g (id, attempt)
      where j.id = any (array[g.id]) and j.attempt = g.attempt and j.worker_id = $3
      returning j.queue, j.gated, j.gate_key, j.batch_id, 'running' as was, j.state
    ), ${freeGates('moved', 'coalesce($4::timestamptz, now())')},
    ${countMoves('moved')}
    select queue from moved`,
}

const renew = {
  name: 'claim_renew',
  text: `
    update retoma.job j
    set started_at = coalesce($4::timestamptz, now())
    from unnest($1::bigint[], $2::int[]) as g (id, attempt)
    where j.id = any (array[g.id]) and j.attempt = g.attempt and j.worker_id = $3`,
}

/** These have not begun, and wait for their turn: whoever watches counts their time from now on. */
export async function renewClaims(db: Db, worker: string, claims: readonly Claimed[], now: Date | null): Promise<void> {
  const sorted = claims.toSorted(byId)
  await db.run(renew, [sorted.map(each => each.id), sorted.map(each => each.attempt), worker, now])
}

const extend = {
  name: 'claim_extend',
  text: `
    update retoma.job j
    set started_at = j.started_at + make_interval(secs => g.ms / 1000)
    from unnest($1::bigint[], $2::int[], $3::float8[]) as g (id, attempt, ms)
    where j.id = any (array[g.id]) and j.attempt = g.attempt and j.worker_id = $4`,
}

/** So much of their time was not theirs: whoever watches does not count it. */
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
  name: 'claim_recall',
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

/** What was handed back after these attempts, and waits, is ready now; answers the queues. */
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

/** Hands back attempts that were claimed and never begun, for later; answers the queues that have something again. */
export async function giveBackClaims(
  db: Db,
  worker: string,
  claims: readonly { id: string; attempt: number }[],
  now: Date | null,
  delayMs = 0,
): Promise<Set<string>> {
  const sorted = claims.toSorted(byId)
  const values = [sorted.map(each => each.id), sorted.map(each => each.attempt), worker, now, delayMs]
  const rows = await db.run<{ queue: string }>(giveBack, values)
  return new Set(rows.map(row => row.queue))
}
