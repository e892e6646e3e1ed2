/**
 * Reads the state of the whole system from small tables in a single statement: sampled counts, workers, findings and
 * metrics.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import type { Series } from './metric-counters.ts'

const now = nowParameter(1)
/** Seconds since the instant; null: no instant. */
const since = (at: string) =>
  `case when ${at} is not null then greatest(0, extract(epoch from ${now} - ${at}))::float8 end`

// If no job was live at the last check of the watchdog, nothing was counted, and the empty sample is as old as the check.
const read = {
  name: 'stats_read',
  text: `
    with sampled as (
      select case
          when w.at > s.since and not exists (select from retoma.job_count_sample) then w.at
          when isfinite(s.at) then s.at
        end as at
      from retoma.periodic_lease s cross join retoma.periodic_lease w
      where s.name = 'job_count_sample' and w.name = 'watchdog'
    )
    select
      coalesce((
        select jsonb_agg(jsonb_build_object('queue', queue, 'kind', kind, 'state', state, 'jobs', jobs,
          'oldestSeconds', ${since('oldest_at')}) order by queue, kind, state)
        from retoma.job_count_sample
        where kind <> all ($2::text[])
      ), '[]') as counts,
      coalesce((
        select jsonb_agg(jsonb_build_object('queue', name, 'paused', paused) order by name) from retoma.queue
      ), '[]') as queues,
      coalesce((
        select jsonb_agg(jsonb_build_object('id', id, 'host', host, 'heartbeatAgeSeconds', ${since('heartbeat_at')},
          'loopLagMs', loop_lag_ms, 'blockedSeconds', ${since('blocked_since')}, 'memoryBytes', memory_bytes,
          'inFlight', in_flight, 'abandoned', abandoned, 'writeLagMs', write_lag_ms) order by started_at, id)
        from (select * from retoma.worker where dead_at is null order by started_at, id limit 1000) w
      ), '[]') as workers,
      coalesce((
        select jsonb_object_agg(verdict, n)
        from (
          select verdict, count(*) as n from retoma.finding
          where coalesce(facts ->> 'kind', '') <> all ($2::text[])
          group by 1
        ) f
      ), '{}') as findings,
      coalesce((
        select jsonb_object_agg(state, n)
        from (
          select state, count(*) as n from retoma.batch
          where (finished_at is null or cascade is not null) and finished_at is null and kind <> all ($2::text[])
          group by 1
        ) b
      ), '{}') as batches,
      (select case when isfinite(at) then ${since('at')} end from retoma.periodic_lease where name = 'watchdog') as "watchdogLagSeconds",
      (select max(version) from retoma.migration) as "schemaVersion",
      (select at from sampled) as "sampledAt",
      (select ${since('at')} from sampled) as "sampleAgeSeconds"`,
}

interface Count {
  queue: string
  kind: string
  state: 'ready' | 'scheduled' | 'running' | 'stalled'
  jobs: number
  /** For `ready`: the wait of the oldest job that may start; null: none may. */
  oldestSeconds: number | null
}

export interface SystemCounts {
  id: string
  host: string
  heartbeatAgeSeconds: number
  loopLagMs: number | null
  /** null: the event loop turns. */
  blockedSeconds: number | null
  memoryBytes: number | null
  /** Attempts with a running handler. */
  inFlight: number
  abandoned: number
  writeLagMs: number
}

export interface Readings {
  counts: Count[]
  queues: { queue: string; paused: boolean }[]
  /** Living workers; the first 1000. */
  workers: SystemCounts[]
  /** By verdict: hung, slow, starved. */
  findings: Record<string, number>
  /** Unfinished batches by state. */
  batches: Record<string, number>
  watchdogLagSeconds: number | null
  schemaVersion: number
  /** null: no sample yet. */
  sampledAt: Date | null
  sampleAgeSeconds: number | null
}

/** `except`: counts no jobs, batches and findings of these kinds. */
export async function readStats(
  db: Db,
  { except, now }: { except: readonly string[]; now: Date | null },
  deadlineMs?: number,
): Promise<Readings> {
  const [row] = await db.run<Readings>(read, [now, except], deadlineMs)
  return row!
}

const metrics = { name: 'stats_metrics', text: `select name, labels, value from retoma.metric` }

/** Returns the series of all workers, unsummed. */
export const readMetrics = (db: Db, deadlineMs?: number): Promise<Series[]> => db.run<Series>(metrics, [], deadlineMs)
