/**
 * The event streams of this tab. Streams live in a shared worker, so that all tabs have the same connections; where the browser has no
 * shared workers, in the tab itself.
 */
import { withBase } from '../lib/base-path.ts'
import type { Listener } from './connection.ts'
import { SharedStreams, type Streams } from './shared-streams.ts'
import { mostStreams, StreamPool } from './stream-pool.ts'
import { isStreamOfEverything } from './tab-hub.ts'

/** Without a worker a hidden tab has no stream, so that many tabs leave connections for the tab in front. */
function ownStreams(): Streams {
  const pool = new StreamPool(isStreamOfEverything, document.hidden ? 0 : mostStreams)
  document.addEventListener('visibilitychange', () => {
    pool.most = document.hidden ? 0 : mostStreams
  })
  return pool
}

function sharedStreams(onFailure: () => void): Streams {
  const streams = new SharedStreams(() => {
    const name = `retoma ${withBase('')}`
    const worker = new SharedWorker(new URL('./shared-worker.ts', import.meta.url), { type: 'module', name })
    // The script of the worker was not loaded.
    worker.onerror = onFailure
    return worker.port as never
  })
  addEventListener('pagehide', () => streams.close())
  // Back from the cache of pages: the worker has closed this tab.
  addEventListener('pageshow', ({ persisted }) => persisted && streams.toFront())
  document.addEventListener('visibilitychange', () => !document.hidden && streams.toFront())
  return streams
}

interface Followed {
  url: string
  listener: Listener
  leave(): void
}

let streams: Streams | undefined
const followed = new Set<Followed>()

/** After a failure of the worker the tab follows the same addresses by itself. */
function replaceWorker(): void {
  const own = ownStreams()
  streams = own
  for (const each of followed) {
    each.leave()
    each.leave = own.follow(each.url, each.listener)
  }
}

function createStreams(): Streams {
  try {
    return sharedStreams(replaceWorker)
  } catch {
    return ownStreams()
  }
}

/** Follows a stream of the API, such as /api/v1/batches/42/events. Returns the function that leaves the stream. */
export function follow(path: string, listener: Listener): () => void {
  streams ??= createStreams()
  const url = new URL(withBase(path), location.origin).href
  const entry: Followed = { url, listener, leave: streams.follow(url, listener) }
  followed.add(entry)
  return () => {
    followed.delete(entry)
    entry.leave()
  }
}
