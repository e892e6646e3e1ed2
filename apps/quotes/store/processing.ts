/**
 * Reads the quotes that workers process, for /api/system, the schedules and the metrics. Running and stalled jobs are few and have
 * indexes of their own, so no statement reads finished quotes one by one.
 *
 * Invariant: the numbers of one answer come from one statement, so by_checkpoint adds up to total_processing in every answer.
 */
import type { Engine } from 'retoma'
import { clockOf } from 'retoma/http'
import { type ListedQuote, listed } from './quotes.ts'

/** The seed's limit: a quote without a sign of life for longer is stuck. */
const stuckAfter = `interval '10 minutes'`

const beatAt = 'greatest(j.progress_at, j.started_at)'
/** The start of the first attempt. */
const startedAt = `coalesce((j.checkpoint_data ->> 'started_at')::timestamptz, j.started_at)`
/** The instant from which the 24 hours count: the first start, or the last retry by a person. */
const triedSince = `greatest(${startedAt}, j.retried_at)`

/** The jobs that are PROCESSING: `running`, and `stalled` until recover_stuck_quotes. One branch for each partial index. */
const processing = (columns: string) => `
    select ${columns} from retoma.job j where j.state = 'running' and j.kind = 'quote'
    union all
    select ${columns} from retoma.job j where j.state = 'stalled' and j.kind = 'quote'`

export interface ProcessingStats {
  total_processing: number
  stuck_count: number
  by_checkpoint: Record<string, number>
  avg_processing_time_seconds: number | null
}

const stats = `
  with processing as materialized (${processing(`coalesce(j.checkpoint_data ->> 'checkpoint', 'INIT') as checkpoint, ${beatAt} as beat_at`)}
  )
  select (select count(*)::int from processing) as total_processing,
    (select count(*)::int from processing where beat_at < coalesce($1::timestamptz, now()) - ${stuckAfter}) as stuck_count,
    (select coalesce(jsonb_object_agg(p.checkpoint, p.n), '{}')
     from (select checkpoint, count(*) as n from processing group by checkpoint) p) as by_checkpoint,
    (select round(avg(q.processing_seconds), 2)::float8 from quotes.quote q
     where q.finalised_at > coalesce($1::timestamptz, now()) - interval '1 hour') as avg_processing_time_seconds`

export async function readStats(home: Engine): Promise<ProcessingStats> {
  return (await home.query<ProcessingStats>(stats, [clockOf(home).instant()])).rows[0]!
}

const stuckJobs = `
  with processing as materialized (${processing(`j.id, j.ref, j.state, j.batch_id, ${beatAt} as beat_at`)}
  )
  select p.id::text as job, p.ref as quote, p.state
  from processing p
  where p.beat_at < coalesce($1::timestamptz, now()) - ${stuckAfter} and ($2::bigint is null or p.batch_id = $2)
  order by p.id limit 1000`

export interface StuckJob {
  job: string
  quote: string
  /** `running`: the watchdog ends the attempt with its next check. */
  state: 'running' | 'stalled'
}

/** At most 1,000. `batch`: only of this batch of the engine. */
export async function readStuckJobs(home: Engine, batch: string | null = null): Promise<StuckJob[]> {
  return (await home.query<StuckJob>(stuckJobs, [clockOf(home).instant(), batch])).rows
}

export type StuckQuote = ListedQuote & { seconds_since_heartbeat: number }

const stuck = `
  with processing as materialized (${processing(`j.ref, ${beatAt} as beat_at`)}
  )
  select ${listed},
    floor(extract(epoch from coalesce($1::timestamptz, now()) - p.beat_at))::int as seconds_since_heartbeat
  from processing p join quotes.quote_requests v on v.id = any (array[p.ref::bigint])
  where p.beat_at < coalesce($1::timestamptz, now()) - ${stuckAfter} and v.id > $2
  order by v.id limit $3`

/** The oldest first. */
export async function listStuck(
  home: Engine,
  { after, limit }: { after: string; limit: number },
): Promise<StuckQuote[]> {
  return (await home.query<StuckQuote>(stuck, [clockOf(home).instant(), after, limit])).rows
}

/** Waiting jobs that have started before: they have an even rank. One form for each partial index. */
const comeBack = (which: string) => `(
        select j.id, j.kind, j.batch_id, j.attempt, j.uncounted_attempts, j.checkpoint_data, j.started_at, j.retried_at, j.deferred_by from retoma.job j
        where j.queue = 'quotes' and j.claim_rank = r.rank and j.state = 'waiting' and ${which}
        order by j.run_at, j.id
        limit 10000
      )`

// A quote that fails again and again waits most of the time, and a stuck quote waits after its recovery: their 24 hours count, too. The
// hours of a quote that waits for a provider, or whose batch is paused, end nothing. The provider is that of the quote's own last attempt: a
// stopped FIPE says nothing about products.
const old = `
  with open as materialized (${processing(`j.id, ${triedSince} as tried_since`)}
    union all
    select j.id, ${triedSince}
    from generate_series(0, 18, 2) as r (rank)
      cross join lateral (${comeBack('not j.limited')} union all ${comeBack(`j.limited and j.limit_key = ''`)}) j
    where j.kind = 'quote' and j.attempt > j.uncounted_attempts
      and not exists (select from retoma.batch b where b.id = any (array[j.batch_id]) and b.claims_blocked)
      and not exists (
        select from retoma.provider p
        where p.name = j.deferred_by and (p.stopped_at is not null or p.wait_until > coalesce($1::timestamptz, now()))
      )
  )
  select o.id::text as job
  from open o
  where o.tried_since < coalesce($1::timestamptz, now()) - interval '24 hours' and o.id > $2
  order by o.id limit 500`

/** At most 500, with an id above `after`: the open quotes whose first start, or last retry, is more than 24 hours ago. */
export async function readOld(home: Engine, after: string): Promise<{ job: string }[]> {
  return (await home.query<{ job: string }>(old, [clockOf(home).instant(), after])).rows
}
