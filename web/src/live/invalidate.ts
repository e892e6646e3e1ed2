/**
 * Reads shown queries again when an event of the stream of everything concerns them. Events come in bursts, so queries are read again at
 * most once a second.
 */
import type { QueryClient } from '@tanstack/react-query'
import type { LiveEvent } from './connection.ts'

const atMostEveryMs = 1000

/** The resources whose reads an event makes stale, by the beginning of their operations. */
function concerned({ type, data }: LiveEvent): readonly string[] {
  if (type === 'reset') return ['GET ']
  const own = data.batch_id !== null && data.batch_id !== undefined ? ['GET /api/v1/batches'] : []
  return [
    ...own,
    'GET /api/v1/jobs',
    'GET /api/v1/queues',
    'GET /api/v1/stats',
    'GET /api/v1/incidents',
    'GET /api/v1/providers',
  ]
}

const pagesOf = (data: unknown): number => (data as { pages?: unknown[] } | undefined)?.pages?.length ?? 0

export function createInvalidator(client: QueryClient): (event: LiveEvent) => void {
  const waiting = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const flush = () => {
    timer = undefined
    const prefixes = [...waiting]
    waiting.clear()
    void client.invalidateQueries({
      predicate: ({ queryKey, state }) => {
        // A long list stands still once its reader has scrolled further (api/long-list.ts).
        const isList = queryKey[0] === 'list'
        if (isList && pagesOf(state.data) > 1) return false
        const operation = queryKey[isList ? 1 : 0]
        return typeof operation === 'string' && prefixes.some(prefix => operation.startsWith(prefix))
      },
    })
  }
  return event => {
    for (const prefix of concerned(event)) waiting.add(prefix)
    if (timer === undefined) timer = setTimeout(flush, atMostEveryMs)
  }
}
