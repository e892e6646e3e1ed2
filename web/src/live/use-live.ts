/** Hooks on the event streams: what happens to a batch, a job or everything, and whether the connection is live. */
import { useEffect, useRef, useState } from 'react'
import type { LiveEvent, LiveStatus } from './connection.ts'
import { follow } from './streams.ts'

export type Topic = { batch: string } | { job: string } | 'everything' | { path: string }

const pathOf = (topic: Topic): string => {
  if (topic === 'everything') return '/api/v1/events'
  if ('batch' in topic) return `/api/v1/batches/${encodeURIComponent(topic.batch)}/events`
  return 'job' in topic ? `/api/v1/jobs/${encodeURIComponent(topic.job)}/events` : topic.path
}

/**
 * Calls `onEvent` with each event of a stream while the component is shown, and returns the state of the stream. `undefined` follows
 * nothing: a stream of something final ends, so pass undefined then.
 */
export function useLive(topic: Topic | undefined, onEvent: (event: LiveEvent) => void): LiveStatus {
  const [status, setStatus] = useState<LiveStatus>({ state: 'connecting', lastAt: null })
  const latest = useRef(onEvent)
  latest.current = onEvent
  const path = topic === undefined ? undefined : pathOf(topic)
  useEffect(() => {
    if (path === undefined) return undefined
    return follow(path, { onEvent: event => latest.current(event), onStatus: setStatus })
  }, [path])
  return status
}
