/** All numbers of the overview in one value, so that the page shows one moment. */
import type { Answer } from '../../api/client.ts'
import { useApi } from '../../api/query.ts'

type Batches = Answer<'GET /api/v1/batches'>['items']

export interface Overview {
  health: Answer<'GET /api/v1/stats/health'>
  stats: Answer<'GET /api/v1/stats'>
  queues: Answer<'GET /api/v1/queues'>['items']
  workers: Answer<'GET /api/v1/workers'>['items']
  /** Batches that are stalled or paused. */
  batches: Batches
  running: Batches
}

const everyMs = 5000
/** What changes with a decision of a person is read less often. */
const slowMs = 15_000

export function useOverview() {
  const health = useApi('GET /api/v1/stats/health', {}, { every: everyMs })
  const stats = useApi('GET /api/v1/stats', {}, { every: everyMs })
  const queues = useApi('GET /api/v1/queues', { query: { limit: 500 } }, { every: everyMs })
  const workers = useApi('GET /api/v1/workers', { query: { limit: 500 } }, { every: everyMs })
  const stalled = useApi('GET /api/v1/batches', { query: { state: 'stalled', limit: 20 } }, { every: slowMs })
  const paused = useApi('GET /api/v1/batches', { query: { state: 'paused', limit: 20 } }, { every: slowMs })
  const running = useApi('GET /api/v1/batches', { query: { state: 'running', limit: 5 } }, { every: everyMs })
  const all = [health, stats, queues, workers, stalled, paused, running]
  const error = all.find(each => each.data === undefined && each.error !== null)?.error ?? null
  const refetch = () => Promise.all(all.map(each => each.refetch()))
  if (all.some(each => each.data === undefined)) return { data: undefined, error, refetch }
  const data: Overview = {
    health: health.data!,
    stats: stats.data!,
    queues: queues.data!.items,
    workers: workers.data!.items,
    batches: [...stalled.data!.items, ...paused.data!.items],
    running: running.data!.items,
  }
  return { data, error, refetch }
}
