/**
 * The items of a batch for the table. Without a filter, items are read by their position, so that the scroll bar reaches the millionth
 * item at once; with a filter, page after page. Only pages on the screen are read, and only those are read again while the batch is open.
 *
 * Invariants: an answer is kept only if its page is still wanted by the same batch and filter; at most `keptPages` pages are in memory. A
 * page that was read before the end of the batch or before an action is read again as soon as the page is on the screen. A read that
 * fails is repeated while its page is on the screen.
 */
import { useCallback, useEffect, useRef, useState } from 'react'
import { ApiError, call } from '../../api/client.ts'
import { useLongList } from '../../api/long-list.ts'
import type { ItemOf } from '../../api/query.ts'
import { forgetRead, noteRead } from '../../api/read-health.ts'
import type { ItemState } from './batch-model.ts'

export type Item = ItemOf<'GET /api/v1/batches/{id}/items'>

export interface ItemFilter {
  state?: ItemState | undefined
  cause?: string | undefined
  ref?: string | undefined
}

interface ItemRows {
  count: number
  isReading: boolean
  /** Why the last read of the rows on the screen failed. */
  error: Error | null
  rowAt(index: number): Item | undefined
  onRange(first: number, last: number): void
  /** The rows stand still since then, in milliseconds since 1970; undefined: the rows are live, or the batch has ended. */
  stillSince: number | undefined
  /** Reads the rows on the screen again. */
  refresh(): void
}

const pageSize = 100
const keptPages = 60
const settleMs = 60
const readEveryMs = 2000

export const hasFilter = ({ state, cause, ref }: ItemFilter): boolean =>
  state !== undefined || cause !== undefined || ref !== undefined

export function useItemRows(batch: string, total: number, open: boolean, filter: ItemFilter): ItemRows {
  const filtered = hasFilter(filter)
  const byPosition = useRowsByPosition(batch, total, open, !filtered)
  const byFilter = useRowsByFilter(batch, open, filter, filtered)
  return filtered ? byFilter : byPosition
}

function useRowsByFilter(batch: string, open: boolean, filter: ItemFilter, enabled: boolean): ItemRows {
  const { state, cause, ref } = filter
  const list = useLongList(
    'GET /api/v1/batches/{id}/items',
    {
      params: { id: batch },
      query: {
        limit: pageSize,
        ...(state === undefined ? {} : { state }),
        ...(cause === undefined ? {} : { cause }),
        ...(ref === undefined ? {} : { ref }),
      },
    },
    { enabled, every: open ? readEveryMs : false },
  )
  const items = list.items ?? []
  const { hasMore, more, isReading, refetch } = list
  const refresh = useLatest(refetch)
  const wasOpen = useRef(open)
  // The last look after the end.
  useEffect(() => {
    if (enabled && wasOpen.current && !open) refresh()
    wasOpen.current = open
  }, [enabled, open, refresh])
  // A page may be empty though there is a next one.
  useEffect(() => {
    if (enabled && hasMore && items.length === 0 && !isReading) more()
  }, [enabled, hasMore, items.length, isReading, more])
  return {
    count: items.length,
    isReading,
    error: list.error,
    stillSince: open ? list.stillSince : undefined,
    rowAt: index => items[index],
    onRange: useCallback(
      (_first: number, last: number) => {
        if (last >= items.length - 20) more()
      },
      [items.length, more],
    ),
    refresh,
  }
}

/** A function that stays the same, and calls the latest `action`. */
function useLatest(action: () => void): () => void {
  const latest = useRef(action)
  latest.current = action
  return useCallback(() => latest.current(), [])
}

/** The network and the server may be back soon; another request would not be answered differently. */
const mayRepeat = (error: unknown) =>
  error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500)

interface KeptPage {
  items: readonly Item[]
  readAt: number
}

function useRowsByPosition(batch: string, total: number, open: boolean, enabled: boolean): ItemRows {
  const pages = useRef(new Map<number, KeptPage>())
  const reading = useRef(new Map<number, AbortController>())
  const range = useRef<[number, number]>([0, 0])
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const repeat = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const [, redraw] = useState(0)
  const [error, setError] = useState<Error | null>(null)
  const readName = `items of ${batch}`

  const readAgain = useRef(() => {})

  const read = useCallback(
    async (page: number) => {
      const stop = new AbortController()
      reading.current.set(page, stop)
      try {
        const { items } = await call(
          'GET /api/v1/batches/{id}/items',
          { params: { id: batch }, query: { offset: page * pageSize, limit: pageSize } },
          { signal: stop.signal },
        )
        if (reading.current.get(page) !== stop) return
        pages.current.delete(page)
        pages.current.set(page, { items, readAt: Date.now() })
        for (const oldest of pages.current.keys()) {
          if (pages.current.size <= keptPages) break
          pages.current.delete(oldest)
        }
        noteRead(readName)
        setError(null)
        redraw(n => n + 1)
      } catch (failure) {
        if (reading.current.get(page) !== stop) return
        noteRead(readName, failure)
        setError(failure instanceof Error ? failure : new Error(String(failure)))
        if (!mayRepeat(failure)) return
        clearTimeout(repeat.current)
        repeat.current = setTimeout(() => readAgain.current(), readEveryMs)
      } finally {
        if (reading.current.get(page) === stop) reading.current.delete(page)
      }
    },
    [batch, readName],
  )

  const readRange = useCallback(
    (olderThan: number) => {
      const [first, last] = range.current.map(index => Math.floor(index / pageSize)) as [number, number]
      for (const [page, stop] of reading.current) {
        if (page >= first && page <= last) continue
        stop.abort()
        reading.current.delete(page)
      }
      for (let page = first; page <= last; page++) {
        if (reading.current.has(page) || (pages.current.get(page)?.readAt ?? 0) > olderThan) continue
        void read(page)
      }
    },
    [read],
  )
  readAgain.current = () => readRange(0)

  // A short pause: rows that are only scrolled past are not read.
  const onRange = useCallback(
    (first: number, last: number) => {
      range.current = [first, last]
      clearTimeout(timer.current)
      timer.current = setTimeout(() => readRange(0), settleMs)
    },
    [readRange],
  )
  const refresh = useCallback(() => {
    // An answer that is under way may be from before the change.
    for (const stop of reading.current.values()) stop.abort()
    reading.current.clear()
    for (const page of pages.current.values()) page.readAt = 0
    readRange(0)
  }, [readRange])

  useEffect(() => {
    if (!enabled || !open) return undefined
    const again = setInterval(
      () => document.visibilityState === 'visible' && readRange(Date.now() - readEveryMs),
      readEveryMs,
    )
    return () => clearInterval(again)
  }, [enabled, open, readRange])
  // The last look after the end, and a new batch.
  useEffect(() => {
    if (enabled && !open) refresh()
  }, [enabled, open, refresh])
  useEffect(
    () => () => {
      clearTimeout(timer.current)
      clearTimeout(repeat.current)
      for (const stop of reading.current.values()) stop.abort()
      reading.current.clear()
      pages.current.clear()
      forgetRead(readName)
      setError(null)
    },
    [batch, readName],
  )
  return {
    count: total,
    isReading: reading.current.size > 0,
    error,
    stillSince: undefined,
    rowAt: index => pages.current.get(Math.floor(index / pageSize))?.items[index % pageSize],
    onRange,
    refresh,
  }
}
