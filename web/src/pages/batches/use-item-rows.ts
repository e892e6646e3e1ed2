/**
 * The items of a batch for the table. Without a filter, items are read by their position, so that the scroll bar reaches the millionth
 * item at once; with a filter, page after page. Only pages on the screen are read, and only those are read again while the batch is open.
 *
 * Invariant: an answer is kept only if its page is still wanted by the same batch and filter; at most `keptPages` pages are in memory.
 */
import { useCallback, useEffect, useRef, useState } from 'react'
import { call } from '../../api/client.ts'
import { useLongList } from '../../api/long-list.ts'
import type { ItemOf } from '../../api/query.ts'
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
  rowAt(index: number): Item | undefined
  onRange(first: number, last: number): void
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
  const { hasMore, more, isReading } = list
  // A page may be empty though there is a next one.
  useEffect(() => {
    if (enabled && hasMore && items.length === 0 && !isReading) more()
  }, [enabled, hasMore, items.length, isReading, more])
  return {
    count: items.length,
    isReading,
    rowAt: index => items[index],
    onRange: useCallback(
      (_first: number, last: number) => {
        if (last >= items.length - 20) more()
      },
      [items.length, more],
    ),
    refresh: list.refetch,
  }
}

interface KeptPage {
  items: readonly Item[]
  readAt: number
}

function useRowsByPosition(batch: string, total: number, open: boolean, enabled: boolean): ItemRows {
  const pages = useRef(new Map<number, KeptPage>())
  const reading = useRef(new Map<number, AbortController>())
  const range = useRef<[number, number]>([0, 0])
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const [, redraw] = useState(0)

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
        redraw(n => n + 1)
      } catch {
        // The next look at the same rows reads the page again.
      } finally {
        if (reading.current.get(page) === stop) reading.current.delete(page)
      }
    },
    [batch],
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

  // A short pause: rows that are only scrolled past are not read.
  const onRange = useCallback(
    (first: number, last: number) => {
      range.current = [first, last]
      clearTimeout(timer.current)
      timer.current = setTimeout(() => readRange(0), settleMs)
    },
    [readRange],
  )
  const refresh = useCallback(() => readRange(Number.POSITIVE_INFINITY), [readRange])

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
    if (enabled && !open) readRange(Number.POSITIVE_INFINITY)
  }, [enabled, open, readRange])
  useEffect(
    () => () => {
      clearTimeout(timer.current)
      for (const stop of reading.current.values()) stop.abort()
      reading.current.clear()
      pages.current.clear()
    },
    [batch],
  )
  return {
    count: total,
    isReading: reading.current.size > 0,
    rowAt: index => pages.current.get(Math.floor(index / pageSize))?.items[index % pageSize],
    onRange,
    refresh,
  }
}
