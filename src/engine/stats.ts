/** How the whole system is, for people and for Prometheus: a few small reads, whatever waits and whatever is finished. */
import type { MetricFamily } from '../core/metric.ts'
import type { Clock } from '../lib/clock.ts'
import type { Db } from '../store/db.ts'
import { viewProviders } from '../store/provider.ts'
import { type Readings, readMetrics, readStats } from '../store/stats.ts'
import { familiesOf } from './metrics.ts'

interface LiveJobs {
  ready: number
  scheduled: number
  running: number
  stalled: number
}

export interface QueueStats extends LiveJobs {
  queue: string
  paused: boolean
  /** How long its first ready job has waited; null: none is ready, or what is belongs to a paused batch. */
  oldestReadySeconds: number | null
}

export interface KindStats extends LiveJobs {
  queue: string
  kind: string
}

/** Jobs as a tick last counted them, some seconds ago; the rest as it is. */
export interface Stats {
  queues: QueueStats[]
  /** Those that have jobs which are not final. */
  kinds: KindStats[]
  oldestReadySeconds: number | null
  /** That live. */
  workers: number
  /** Attempts whose handler runs, by their heartbeats. */
  inFlight: number
  /** Those that are not over, by state. */
  batches: Record<string, number>
  /** What the watchdog has found and only reports, by verdict. */
  findings: Record<string, number>
  /** Null: no watchdog ever looked. */
  watchdogLagSeconds: number | null
  /** Of the schema `retoma` in the database: the number of its newest migration. */
  schemaVersion: number
  /** When jobs were counted; null: not yet. */
  sampledAt: Date | null
}

export interface StatsDesk {
  /** How the system is. Jobs are counted by a tick, every ten seconds or so, wherever somebody works or watches. */
  stats(): Promise<Stats>
  /** The same and more, as metrics: see docs/metrics.md. */
  metrics(): Promise<MetricFamily[]>
}

/** A scraper waits ten seconds, and a person less. */
const deadlineMs = 3000

export function createStats({ db, clock }: { db: Db; clock: Clock }): StatsDesk {
  return {
    stats: async () => statsOf(await readStats(db, clock.instant())),
    async metrics() {
      const now = clock.instant()
      const [readings, counted, providers] = await Promise.all([
        readStats(db, now, deadlineMs),
        readMetrics(db, deadlineMs),
        viewProviders(db, now, deadlineMs),
      ])
      return familiesOf(statsOf(readings), readings, counted, providers)
    },
  }
}

function statsOf({ counts, queues, workers, sampleAgeSeconds: _, ...rest }: Readings): Stats {
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
