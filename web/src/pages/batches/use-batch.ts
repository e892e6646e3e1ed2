/**
 * A batch as it goes on. Counts come from the stream of the batch, merged to one change of the page for each frame, and never as rows;
 * the rest (last item, heartbeat) is read again every two seconds while the batch is open.
 */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { keyOf, useApi } from '../../api/query.ts'
import type { LiveEvent } from '../../live/connection.ts'
import { useLive } from '../../live/use-live.ts'
import { type BatchView, isOpen } from './batch-model.ts'

const readEveryMs = 2000

const counts = [
  'total',
  'waiting',
  'running',
  'stalled',
  'succeeded',
  'failed',
  'skipped',
  'cancelled',
  'percent',
] as const

/** The fields of a progress event that the batch has too. */
function changed(data: LiveEvent['data']): Partial<BatchView> {
  const found = counts.flatMap(name => (typeof data[name] === 'number' ? [[name, data[name]]] : []))
  const at = typeof data.at === 'string' ? { progress_at: data.at } : {}
  const numbers = ['rate', 'eta_seconds'].flatMap(name => (name in data ? [[name, data[name]]] : []))
  return { ...Object.fromEntries([...found, ...numbers]), ...at } as Partial<BatchView>
}

export function useBatch(id: string): ReturnType<typeof useApi<'GET /api/v1/batches/{id}'>> {
  const client = useQueryClient()
  const read = useApi('GET /api/v1/batches/{id}', { params: { id } })
  const open = read.data !== undefined && isOpen(read.data)
  // The same query, read again and again while the batch is open.
  useApi('GET /api/v1/batches/{id}', { params: { id } }, { enabled: open, every: readEveryMs })
  const waiting = useRef<Partial<BatchView>>({})
  const frame = useRef(0)
  useEffect(() => () => cancelAnimationFrame(frame.current), [])
  useLive(open ? { batch: id } : undefined, event => {
    if (event.type !== 'progress') {
      if (event.type !== 'item') void client.invalidateQueries({ predicate: ({ queryKey }) => concerns(queryKey, id) })
      return
    }
    waiting.current = { ...waiting.current, ...changed(event.data) }
    if (frame.current !== 0) return
    frame.current = requestAnimationFrame(() => {
      frame.current = 0
      client.setQueryData<BatchView>(keyOf('GET /api/v1/batches/{id}', { params: { id } }), before =>
        before === undefined ? before : { ...before, ...waiting.current },
      )
      waiting.current = {}
    })
  })
  return read
}

const concerns = ([operation, params]: readonly unknown[], id: string): boolean =>
  typeof operation === 'string' &&
  operation.startsWith('GET /api/v1/batches/{id}') &&
  (params as { id?: string } | null)?.id === id
