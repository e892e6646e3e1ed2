/** For each queue the wait of its oldest ready job, and the slots of the living workers. */
import { useApi } from '../../api/query.ts'

interface QueueFacts {
  /** null: no job may start. */
  oldestSeconds(queue: string): number | null
  slots(queue: string): number
}

export function useQueueFacts(everyMs: number): QueueFacts {
  const stats = useApi('GET /api/v1/stats', {}, { every: everyMs })
  const workers = useApi('GET /api/v1/workers', { query: { limit: 500 } }, { every: everyMs })
  return {
    oldestSeconds: queue => stats.data?.queues.find(each => each.queue === queue)?.oldest_ready_seconds ?? null,
    slots: queue =>
      (workers.data?.items ?? []).reduce((sum, worker) => sum + (worker.dead ? 0 : (worker.queues[queue] ?? 0)), 0),
  }
}
