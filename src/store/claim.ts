/**
 * A worker takes jobs: one statement over (queue, rank) lanes, each an equality on the index, so that its cost does not
 * grow with jobs that are for later, of other queues, or long finished.
 *
 * Invariant: a claimed row carries a new attempt and this worker's id; those two and the job's id are the fence that
 * every later write of the attempt names.
 */
import type { Db } from './db.ts'

export interface Claimed {
  id: string
  attempt: number
  queue: string
  kind: string
  input: unknown
  failures: number
  crashes: number
  ref: string | null
  group_key: string | null
}

// "limit" stands inside and outside of the lateral: later lanes are not touched once the earlier ones gave enough, and no
// row is locked in vain. SKIP LOCKED, so workers never wait for each other. A worker that was declared dead and does not
// know it yet gets nothing: what it claimed would be an orphan from its first moment.
const claim = {
  name: 'claim',
  text: `
    with lane as materialized (
      select name as queue, rank::smallint as rank, want
      from unnest($1::text[], $2::int[]) as q (name, want), generate_series(0, 19) as rank
      where name <> all (array(select name from retoma.queue where paused))
        and exists (select from retoma.worker where id = $4 and dead_at is null)
      order by rank
    ), next as materialized (
      select j.id
      from lane l cross join lateral (
        select id from retoma.job
        where queue = l.queue and rank = l.rank and state = 'waiting' and not gated
          and run_at <= coalesce($6::timestamptz, now())
          and kind = any ($5::text[])
        order by run_at, id
        limit l.want
        for update skip locked
      ) j
      limit $3
    )
    update retoma.job j
    set state = 'running', attempt = attempt + 1, worker_id = $4, started_at = coalesce($6::timestamptz, now())
    from next
    where j.id = next.id
    returning j.id, j.attempt, j.queue, j.kind, j.input, j.failures, j.crashes, j.ref, j.group_key`,
}

export function claimJobs(
  db: Db,
  given: { queue: string; want: number; kinds: readonly string[]; worker: string },
  now: Date | null,
): Promise<Claimed[]> {
  return db.run<Claimed>(claim, [[given.queue], [given.want], given.want, given.worker, given.kinds, now])
}

// The head of each lane that lies in the future: when to look again without being told.
const nextRunAt = {
  name: 'next_run_at',
  text: `
    select extract(epoch from min(j.run_at) - coalesce($2::timestamptz, now())) * 1000 as ms
    from unnest($1::text[]) as q (name), generate_series(0, 19) as rank
      cross join lateral (
        select run_at from retoma.job
        where queue = q.name and job.rank = rank.rank::smallint and state = 'waiting' and not gated
          and run_at > coalesce($2::timestamptz, now())
        order by run_at
        limit 1
      ) j`,
}

/** Milliseconds until the next job of these queues is due; undefined when none waits for a time. */
export async function untilNext(db: Db, queues: readonly string[], now: Date | null): Promise<number | undefined> {
  const [row] = await db.run<{ ms: string | null }>(nextRunAt, [queues, now])
  return row?.ms == null ? undefined : Number(row.ms)
}

// By the fence, and only ours. Nothing of these attempts has started, so nothing is counted.
const giveBack = {
  name: 'claim_give_back',
  text: `
    update retoma.job j
    set state = 'waiting', worker_id = null, last_worker = $3, rank = rank & ~1, run_at = coalesce($4::timestamptz, now())
    from unnest($1::bigint[], $2::int[]) as g (id, attempt)
    where j.id = g.id and j.attempt = g.attempt and j.worker_id = $3`,
}

/** Hands back attempts that were claimed and never begun. */
export async function giveBackClaims(
  db: Db,
  worker: string,
  claims: readonly { id: string; attempt: number }[],
  now: Date | null,
): Promise<void> {
  await db.run(giveBack, [claims.map(each => each.id), claims.map(each => each.attempt), worker, now])
}
