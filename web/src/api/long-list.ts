/**
 * A list that may be long, read page by page while the user scrolls. The first page stays live; once further pages were read, the rows
 * stand still under the eyes of the reader, because reading every page again for each event would cost as many requests as pages.
 */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import type { ApiError, Call } from './client.ts'
import { call } from './client.ts'
import { type ItemOf, keyOf, type ListOperation } from './query.ts'

interface Page<T> {
  items: T[]
  next: string | null
}

interface LongList<Item> {
  items: readonly Item[] | undefined
  error: ApiError | null
  /** More rows exist. */
  hasMore: boolean
  isReading: boolean
  /** Reads the next page; does nothing while a page is read. */
  more(): void
  refetch(): void
}

interface Options {
  enabled?: boolean
  /** How often the first page is read again. */
  every?: number | false
}

export function useLongList<Name extends ListOperation>(
  operation: Name,
  given: Call<Name>,
  { enabled = true, every = false }: Options = {},
): LongList<ItemOf<Name>> {
  const read = useInfiniteQuery<Page<ItemOf<Name>>, ApiError, Page<ItemOf<Name>>[], readonly unknown[], string>({
    queryKey: ['list', ...keyOf(operation as never, given as never)],
    queryFn: ({ signal, pageParam }) => {
      const query = { ...(given.query as object | undefined), ...(pageParam === '' ? {} : { after: pageParam }) }
      return call(operation, { ...given, query } as Call<Name>, { signal }) as unknown as Promise<Page<ItemOf<Name>>>
    },
    initialPageParam: '',
    getNextPageParam: last => last.next,
    select: ({ pages }) => pages,
    enabled,
    staleTime: 1000,
    refetchInterval: query => ((query.state.data?.pages.length ?? 0) > 1 ? false : every),
    refetchOnWindowFocus: false,
  })
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
    more,
    refetch: () => void refetch(),
  }
}
