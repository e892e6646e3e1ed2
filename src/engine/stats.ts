/** How the whole system is, for people and for Prometheus. */
import type { Clock } from '../lib/clock.ts'
import type { Db } from '../store/db.ts'
import { readTick } from '../store/facts.ts'
import { viewQueues, viewWorkers } from '../store/view.ts'

interface LiveJobs {
  ready: number
  scheduled: number
  running: number
  stalled: number
}

export interface QueueStats extends LiveJobs {
  queue: string
  paused: boolean
  oldestReadySeconds: number | null
}

export interface KindStats extends LiveJobs {
  queue: string
  kind: string
}

export interface Stats {
  queues: QueueStats[]
  kinds: KindStats[]
  oldestReadySeconds: number | null
  workers: number
  watchdogLagSeconds: number | null
  sampledAt: Date | null
}

export interface StatsDesk {
  stats(): Promise<Stats>
}

export function createStats({ db, clock }: { db: Db; clock: Clock }): StatsDesk {
  return {
    async stats() {
      const now = clock.instant()
      const [queues, workers, lag] = await Promise.all([viewQueues(db, now), viewWorkers(db, now), readTick(db, now)])
      return {
        queues: queues.map(({ limits: _, ...queue }) => ({ ...queue, oldestReadySeconds: null })),
        kinds: [],
        oldestReadySeconds: null,
        workers: workers.filter(each => !each.dead).length,
        watchdogLagSeconds: lag,
        sampledAt: clock.now(),
      }
    },
  }
}
