/** All numbers of the overview in one value, so that the page shows one moment. */
import { useApi } from '../../api/query.ts'
import { type Facts, type Problem, problemsOf } from './health.ts'

/** What changes with a decision of a person is read less often. */
const slower = 3

export interface Overview extends Facts {
  problems: readonly Problem[]
  running: Facts['batches']
}

export function useOverview(everyMs = 5000) {
  const slowMs = everyMs * slower
  const stats = useApi('GET /api/v1/stats', {}, { every: everyMs })
  const queues = useApi('GET /api/v1/queues', { query: { limit: 500 } }, { every: everyMs })
  const workers = useApi('GET /api/v1/workers', { query: { limit: 500 } }, { every: everyMs })
  const providers = useApi('GET /api/v1/providers', { query: { limit: 100 } }, { every: slowMs })
  const stalled = useApi('GET /api/v1/batches', { query: { state: 'stalled', limit: 20 } }, { every: slowMs })
  const paused = useApi('GET /api/v1/batches', { query: { state: 'paused', limit: 20 } }, { every: slowMs })
  const running = useApi('GET /api/v1/batches', { query: { state: 'running', limit: 5 } }, { every: everyMs })
  const all = [stats, queues, workers, providers, stalled, paused, running]
  const error = all.find(each => each.data === undefined && each.error !== null)?.error ?? null
  const refetch = () => Promise.all(all.map(each => each.refetch()))
  if (all.some(each => each.data === undefined)) return { data: undefined, error, refetch }
  const facts: Facts = {
    stats: stats.data!,
    queues: queues.data!.items,
    workers: workers.data!.items,
    batches: [...stalled.data!.items, ...paused.data!.items],
    providers: providers.data!.items,
  }
  const data: Overview = { ...facts, problems: problemsOf(facts), running: running.data!.items }
  return { data, error, refetch }
}
