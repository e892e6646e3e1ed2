/**
 * A list that may be long, read page by page while the user scrolls. The first pages stay live; once further pages were read, the rows
 * stand still under the eyes of the reader, because reading every page again for each event would cost as many requests as pages. The page
 * then shows `stillSince` with a button (components/still-mark.tsx).
 */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import type { ApiError, Call } from './client.ts'
import { call } from './client.ts'
import { type ReadPage, rereadMs, stillSinceOf } from './list-pace.ts'
import { type ItemOf, keyOf, type ListOperation } from './query.ts'

interface LongList<Item> {
  items: readonly Item[] | undefined
  error: ApiError | null
  /** More rows exist. */
  hasMore: boolean
  isReading: boolean
  /** The rows stand still since then, in milliseconds since 1970; undefined: the rows are live. */
  stillSince: number | undefined
  /** Reads the next page; does nothing while a page is read. */
  more(): void
  refetch(): void
}

interface Options {
  enabled?: boolean
  /** How often the first page is read again. */
  every?: number | false
  /** The list stands still with more pages. */
  livePages?: number
}

export function useLongList<Name extends ListOperation>(
  operation: Name,
  given: Call<Name>,
  { enabled = true, every = false, livePages = 1 }: Options = {},
): LongList<ItemOf<Name>> {
  const read = useInfiniteQuery<ReadPage<ItemOf<Name>>, ApiError, ReadPage<ItemOf<Name>>[], readonly unknown[], string>(
    {
      queryKey: ['list', ...keyOf(operation as never, given as never)],
      queryFn: async ({ signal, pageParam }) => {
        const query = { ...(given.query as object | undefined), ...(pageParam === '' ? {} : { after: pageParam }) }
        const page = await call(operation, { ...given, query } as Call<Name>, { signal })
        return { ...(page as unknown as Omit<ReadPage<ItemOf<Name>>, 'readAt'>), readAt: Date.now() }
      },
      initialPageParam: '',
      getNextPageParam: last => last.next,
      select: ({ pages }) => pages,
      enabled,
      staleTime: 1000,
      refetchInterval: query => rereadMs(every, query.state.data?.pages.length ?? 0, livePages),
      refetchOnWindowFocus: false,
    },
  )
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = read
  const items = useMemo(() => data?.flatMap(page => page.items), [data])
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage])
  return {
    items,
    error: read.error,
    hasMore: hasNextPage,
    isReading: read.isFetching,
    stillSince: stillSinceOf(data ?? [], livePages),
    more,
    refetch: () => void refetch(),
  }
}
