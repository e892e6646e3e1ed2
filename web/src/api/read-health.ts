/**
 * Knows whether the reads behind the page succeed. The event stream may be live while reads fail, for example while the database is away;
 * then some numbers on the page are old, and the top bar says so.
 *
 * Invariant: the mark is on as long as the last try of any shown read failed. The success of another read does not clear the mark. A failed
 * read is repeated until the read succeeds, also a read of something final that nothing else reads again.
 */
import type { Query } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { ApiError } from './client.ts'
import { queryClient } from './query.ts'

export interface ReadHealth {
  isFailing: boolean
  /** When the oldest number of a failing read was read, in milliseconds since 1970; null if no failing read has a number. */
  lastAt: number | null
}

/** The state of a read outside of the cache of queries. */
interface OtherRead {
  isFailing: boolean
  lastAt: number
}

let health: ReadHealth = { isFailing: false, lastAt: null }
const listeners = new Set<() => void>()
const otherReads = new Map<string, OtherRead>()
const cache = queryClient.getQueryCache()

/** A 4xx is an answer; no answer and a 5xx are none. */
const isOutage = (error: unknown) => error instanceof ApiError && (error.status === 0 || error.status >= 500)

const repeatAfterMs = 5000
let isRepeatDue = false

const hasFailed = (query: Query) =>
  query.isActive() && (isOutage(query.state.fetchFailureReason) || isOutage(query.state.error))

function repeatSoon(): void {
  if (isRepeatDue) return
  isRepeatDue = true
  setTimeout(() => {
    isRepeatDue = false
    void queryClient.refetchQueries({ predicate: hasFailed }, { cancelRefetch: false })
  }, repeatAfterMs)
}

function update(): void {
  const queries = cache.getAll().filter(hasFailed)
  if (queries.length > 0) repeatSoon()
  const failing = [
    ...queries.map(query => query.state.dataUpdatedAt),
    ...[...otherReads.values()].filter(read => read.isFailing).map(read => read.lastAt),
  ]
  const read = failing.filter(at => at > 0)
  const next = { isFailing: failing.length > 0, lastAt: read.length === 0 ? null : Math.min(...read) }
  if (next.isFailing === health.isFailing && next.lastAt === health.lastAt) return
  health = next
  for (const listener of listeners) listener()
}

cache.subscribe(event => {
  if (event.type !== 'observerResultsUpdated') update()
})

/** Notes the end of a read outside of the cache of queries; `error`: why the read failed. */
export function noteRead(name: string, error?: unknown): void {
  const isFailing = isOutage(error)
  otherReads.set(name, { isFailing, lastAt: isFailing ? (otherReads.get(name)?.lastAt ?? 0) : Date.now() })
  update()
}

/** The page no longer shows the read. */
export function forgetRead(name: string): void {
  otherReads.delete(name)
  update()
}

export const useReadHealth = (): ReadHealth =>
  useSyncExternalStore(
    listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => health,
  )
