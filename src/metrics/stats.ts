/**
 * Reports the state of the whole system for people and for Prometheus with a few small reads, independent of the number of jobs.
 */

import type { Db } from '../database/db.ts'
import type { Clock } from '../lib/clock.ts'
import { viewProviders } from '../providers/sql/provider-state.ts'
import { createHistory, type EngineHistory } from './history.ts'
import type { HistoryOptions } from './model/history-span.ts'
import type { MetricFamily } from './model/metric-table.ts'
import { type Readings, readMetrics, readStats } from './sql/read-stats.ts'
import { familiesOf } from './system-metrics.ts'

interface LiveJobs {
  ready: number
  scheduled: number
  running: number
  stalled: number
}

/** The counts of a queue. */
export interface QueueStats extends LiveJobs {
  queue: string
  paused: boolean
  /** Wait of the first ready job in seconds; null: no job is ready, or the ready jobs belong to a paused batch. */
  oldestReadySeconds: number | null
}

/** The counts of a kind. */
export interface KindStats extends LiveJobs {
  queue: string
  kind: string
}

/** Job counts as of the last sample, some seconds ago; everything else is current. */
export interface EngineStats {
  queues: QueueStats[]
  /** Kinds with jobs in a state that is not final. */
  kinds: KindStats[]
  oldestReadySeconds: number | null
  /** Live workers. */
  workers: number
  /** Attempts with a running handler, from the heartbeats. */
  inFlight: number
  /** Unfinished batches by state. */
  batches: Record<string, number>
  /** Findings of the watchdog by verdict. */
  findings: Record<string, number>
  /** Null: no watchdog has ever run a check. */
  watchdogLagSeconds: number | null
  /** Number of the newest migration of the schema `retoma` in the database. */
  schemaVersion: number
  /** Time of the last sample; null: none yet. */
  sampledAt: Date | null
}

/** Options of `engine.metrics.stats` and `engine.metrics.read`. */
export interface StatsOptions {
  /** Counts no jobs, batches and findings of these kinds. Default: none. */
  except?: readonly string[] | undefined
}

/** The namespace `engine.metrics`, without the methods of other files. */
export interface MetricReads {
  /** The state of the system. A tick counts jobs about every ten seconds, in any process that works or watches. */
  stats(options?: StatsOptions): Promise<EngineStats>
  /** The same and more, as metrics: see docs/metrics.md. */
  read(options?: StatsOptions): Promise<MetricFamily[]>
  /**
   * Started and ended attempts, durations and waiting times by queue over time, for charts: by minute for 48 hours, by hour for 90 days.
   * Workers write the counts with their heartbeats, so the newest are about five seconds old.
   *
   * @example
   * const { total } = await engine.metrics.history({ queue: 'mail', step: 600 })
   */
  history(options?: HistoryOptions): Promise<EngineHistory>
}

/** A scraper waits ten seconds, a person less. */
const deadlineMs = 3000

export function createStats({ db, clock }: { db: Db; clock: Clock }): MetricReads {
  return {
    ...createHistory({ db, clock }),
    stats: async ({ except = [] } = {}) => statsOf(await readStats(db, { except, now: clock.instant() })),
    async read({ except = [] } = {}) {
      const now = clock.instant()
      const [readings, counted, providers] = await Promise.all([
        readStats(db, { except, now }, deadlineMs),
        readMetrics(db, deadlineMs),
        viewProviders(db, now, deadlineMs),
      ])
      return familiesOf(statsOf(readings), readings, counted, providers)
    },
  }
}

function statsOf({ counts, queues, workers, sampleAgeSeconds: _, ...rest }: Readings): EngineStats {
  const byQueue = new Map<string, QueueStats>()
  const ofQueue = (queue: string, paused = false) => {
    const found = byQueue.get(queue) ?? { queue, paused, ...nothing, oldestReadySeconds: null }
    byQueue.set(queue, found)
    return found
  }
  for (const { queue, paused } of queues) ofQueue(queue, paused)
  const byKind = new Map<string, KindStats>()
  for (const { queue, kind, state, jobs, oldestSeconds } of counts) {
    const place = ofQueue(queue)
    place[state] += jobs
    place.oldestReadySeconds = later(place.oldestReadySeconds, oldestSeconds)
    const name = JSON.stringify([queue, kind])
    const found = byKind.get(name) ?? { queue, kind, ...nothing }
    found[state] += jobs
    byKind.set(name, found)
  }
  const all = [...byQueue.values()]
  return {
    queues: all,
    kinds: [...byKind.values()],
    oldestReadySeconds: all.reduce<number | null>((oldest, each) => later(oldest, each.oldestReadySeconds), null),
    workers: workers.length,
    inFlight: workers.reduce((sum, each) => sum + each.inFlight, 0),
    ...rest,
  }
}

const nothing: LiveJobs = { ready: 0, scheduled: 0, running: 0, stalled: 0 }

const later = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : Math.max(a, b))
