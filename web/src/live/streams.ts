/**
 * The event streams of this tab. Streams live in a shared worker, so that all tabs have one connection for each address; where the
 * browser has no shared workers, in the tab itself.
 */
import { withBase } from '../lib/base-path.ts'
import { Connection, type Listener, type LiveStatus } from './connection.ts'
import { type FromWorker, stayEveryMs, type ToWorker } from './worker-protocol.ts'

interface Streams {
  follow(url: string, listener: Listener): () => void
}

function ownStreams(): Streams {
  const connections = new Map<string, Connection>()
  return {
    follow(url, listener) {
      const connection = connections.get(url) ?? new Connection(url)
      connections.set(url, connection)
      connection.add(listener)
      return () => {
        connection.remove(listener)
        if (connection.isUnused) connections.delete(url)
      }
    },
  }
}

function sharedStreams(worker: SharedWorker): Streams {
  const listeners = new Map<string, Set<Listener>>()
  const statuses = new Map<string, LiveStatus>()
  const send = (message: ToWorker) => worker.port.postMessage(message)
  worker.port.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    if ('status' in data) statuses.set(data.url, data.status)
    for (const listener of listeners.get(data.url) ?? []) {
      if ('status' in data) listener.onStatus(data.status)
      else listener.onEvent(data.event)
    }
  }
  setInterval(() => send({ do: 'stay' }), stayEveryMs)
  addEventListener('pagehide', () => send({ do: 'close' }))
  // Back from the cache of pages: the worker has forgotten this tab.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) for (const url of listeners.keys()) send({ do: 'follow', url })
  })
  return {
    follow(url, listener) {
      const all = listeners.get(url) ?? new Set()
      if (all.size === 0) send({ do: 'follow', url })
      listeners.set(url, all.add(listener))
      const status = statuses.get(url)
      if (status !== undefined) listener.onStatus(status)
      return () => {
        all.delete(listener)
        if (all.size > 0) return
        listeners.delete(url)
        statuses.delete(url)
        send({ do: 'leave', url })
      }
    },
  }
}

function createStreams(): Streams {
  try {
    const name = `retoma ${withBase('')}`
    return sharedStreams(new SharedWorker(new URL('./shared-worker.ts', import.meta.url), { type: 'module', name }))
  } catch {
    return ownStreams()
  }
}

let streams: Streams | undefined

/** Follows a stream of the API, such as /api/v1/batches/42/events. Returns the function that leaves the stream. */
export function follow(path: string, listener: Listener): () => void {
  streams ??= createStreams()
  return streams.follow(new URL(withBase(path), location.origin).href, listener)
}
