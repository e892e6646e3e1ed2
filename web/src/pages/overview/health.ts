/**
 * Derives the health of the whole system from the numbers of the overview: the problems, the worst first. Pure, so that a test can hold
 * each rule.
 */
import type { Answer } from '../../api/client.ts'

type Items<
  Name extends 'GET /api/v1/queues' | 'GET /api/v1/workers' | 'GET /api/v1/batches' | 'GET /api/v1/providers',
> = Answer<Name>['items']

export interface Facts {
  stats: Answer<'GET /api/v1/stats'>
  queues: Items<'GET /api/v1/queues'>
  workers: Items<'GET /api/v1/workers'>
  /** Batches that are stalled or paused. */
  batches: Items<'GET /api/v1/batches'>
  providers: Items<'GET /api/v1/providers'>
}

export type Problem = { severity: 'bad' | 'warn'; since: string | null } & (
  | { is: 'watchdog_late' }
  | { is: 'no_worker'; ready: number }
  | { is: 'jobs_stalled'; count: number }
  | { is: 'batch_stalled' | 'batch_paused'; id: string; name: string }
  | { is: 'queue_starved' | 'queue_paused'; queue: string; ready: number }
  | { is: 'worker_blocked'; id: string; host: string }
  | { is: 'provider_stopped' | 'provider_waits'; name: string; words: string | null }
)

/** The watchdog passes every few seconds. */
const lateSeconds = 60

const rank: Record<Problem['is'], number> = {
  watchdog_late: 0,
  no_worker: 1,
  batch_stalled: 2,
  jobs_stalled: 3,
  worker_blocked: 4,
  provider_stopped: 5,
  queue_starved: 6,
  batch_paused: 7,
  queue_paused: 8,
  provider_waits: 9,
}

export function problemsOf({ stats, queues, workers, batches, providers }: Facts): Problem[] {
  const alive = workers.filter(each => !each.dead)
  const ready = queues.reduce((sum, each) => sum + (each.paused ? 0 : each.ready), 0)
  const found: Problem[] = []
  const lag = stats.watchdog_lag_seconds
  if (lag === null || lag > lateSeconds) found.push({ is: 'watchdog_late', severity: 'bad', since: null })
  if (alive.length === 0 && ready > 0) found.push({ is: 'no_worker', severity: 'bad', since: null, ready })
  const stalled = queues.reduce((sum, each) => sum + each.stalled, 0)
  if (stalled > 0) found.push({ is: 'jobs_stalled', severity: 'bad', since: null, count: stalled })
  for (const { queue, paused, ready } of queues) {
    if (ready === 0) continue
    const isServed = alive.some(worker => (worker.queues[queue] ?? 0) > 0)
    if (paused) found.push({ is: 'queue_paused', severity: 'warn', since: null, queue, ready })
    else if (!isServed && alive.length > 0)
      found.push({ is: 'queue_starved', severity: 'warn', since: null, queue, ready })
  }
  for (const { id, name, state, progress_at } of batches) {
    if (state === 'stalled') found.push({ is: 'batch_stalled', severity: 'bad', since: progress_at, id, name })
    else if (state === 'paused') found.push({ is: 'batch_paused', severity: 'warn', since: progress_at, id, name })
  }
  for (const { id, host, blocked } of alive)
    if (blocked !== null) found.push({ is: 'worker_blocked', severity: 'bad', since: null, id, host })
  for (const { name, state, stopped_at, waits_since, message } of providers) {
    if (state === 'stopped')
      found.push({ is: 'provider_stopped', severity: 'bad', since: stopped_at, name, words: message })
    else if (state === 'waiting')
      found.push({ is: 'provider_waits', severity: 'warn', since: waits_since, name, words: message })
  }
  return found.sort((a, b) => rank[a.is] - rank[b.is])
}
