/** Reads of the API with a cache (TanStack Query). The key of a query is its operation, its parameters and its query. */
import {
  keepPreviousData,
  QueryClient,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { language } from '../i18n/language.ts'
import { type Answer, ApiError, type Call, call, type GetOperation, type Operation } from './client.ts'
import { mostLivePages, type ReadPage, rereadMs, stillSinceOf } from './list-pace.ts'

/** A 4xx stays a 4xx; the network and a 5xx may be back soon. */
const mayRetry = (count: number, error: Error) =>
  count < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 500)

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { staleTime: 1000, gcTime: 5 * 60_000, retry: mayRetry, networkMode: 'always' },
    mutations: { networkMode: 'always' },
  },
})

// Sentences and errors of the server are in the language of the request.
language.subscribe(() => void queryClient.invalidateQueries())

interface ReadOptions {
  enabled?: boolean
  /** Reads again after so many milliseconds; live events make most pages read again sooner. */
  every?: number | false
  /** While other parameters load, the answer before stays on the page. */
  keepPrevious?: boolean
  /** Reads again also while the tab is hidden. */
  inBackground?: boolean
}

export const keyOf = <Name extends GetOperation>(operation: Name, given: Call<Name>) =>
  [operation, given.params ?? null, given.query ?? null] as const

/** Reads `operation`, and again when a live event concerns it (live/invalidate.ts). */
export function useApi<Name extends GetOperation>(
  operation: Name,
  given: Call<Name> = {} as Call<Name>,
  { enabled = true, every = false, keepPrevious = false, inBackground = false }: ReadOptions = {},
): UseQueryResult<Answer<Name>, ApiError> {
  return useQuery<Answer<Name>, ApiError>({
    queryKey: keyOf(operation, given),
    queryFn: ({ signal }) => call(operation, given, { signal }),
    enabled,
    refetchInterval: every,
    refetchIntervalInBackground: inBackground,
    ...(keepPrevious ? { placeholderData: keepPreviousData as never } : {}),
  })
}

type Page<T> = { items: T[]; next: string | null }
export type ListOperation = {
  [Name in GetOperation]: Answer<Name> extends Page<unknown> ? Name : never
}[GetOperation]
export type ItemOf<Name extends ListOperation> = Answer<Name> extends Page<infer Item> ? Item : never

interface ListData<Item> {
  items: Item[]
  pages: number
  /** The rows stand still since then, in milliseconds since 1970; undefined: the rows are live. */
  stillSince: number | undefined
}

/** Reads a list page by page: `data.items` are all items read so far; `fetchNextPage` reads more while `hasNextPage`. */
export function useApiList<Name extends ListOperation>(
  operation: Name,
  given: Call<Name> = {} as Call<Name>,
  { enabled = true, every = false }: ReadOptions = {},
): UseInfiniteQueryResult<ListData<ItemOf<Name>>, ApiError> {
  return useInfiniteQuery({
    queryKey: [...keyOf(operation, given), 'pages'],
    queryFn: async ({ signal, pageParam }: { signal: AbortSignal; pageParam: string }) => {
      const query = { ...(given.query as object | undefined), ...(pageParam === '' ? {} : { after: pageParam }) }
      const page = (await call(operation, { ...given, query } as Call<Name>, { signal })) as unknown as Page<
        ItemOf<Name>
      >
      return { ...page, readAt: Date.now() }
    },
    initialPageParam: '',
    getNextPageParam: (last: Page<ItemOf<Name>>) => last.next,
    select: ({ pages }: { pages: ReadPage<ItemOf<Name>>[] }) => ({
      items: pages.flatMap(page => page.items),
      pages: pages.length,
      stillSince: every === false ? undefined : stillSinceOf(pages, mostLivePages),
    }),
    enabled,
    refetchInterval: (query: { state: { data?: { pages: unknown[] } } }) =>
      rereadMs(every, query.state.data?.pages.length ?? 0, mostLivePages),
  } as never) as unknown as UseInfiniteQueryResult<ListData<ItemOf<Name>>, ApiError>
}

interface ActionOptions<Name extends Operation> {
  onSuccess?: (answer: Answer<Name>, given: Call<Name>) => void
  onError?: (error: ApiError) => void
}

/**
 * Runs an operation that changes something; afterwards every shown query is read again. Report the effect in `onSuccess` here, not in
 * `mutate`: the component may be gone when the answer comes, and the callbacks of `mutate` with it.
 */
export function useAction<Name extends Operation>(operation: Name, { onSuccess, onError }: ActionOptions<Name> = {}) {
  const client = useQueryClient()
  return useMutation<Answer<Name>, ApiError, Call<Name> & { idempotencyKey?: string }>({
    mutationFn: ({ idempotencyKey, ...given }) =>
      call(operation, given as unknown as Call<Name>, idempotencyKey === undefined ? {} : { idempotencyKey }),
    onSuccess: (answer, given) => onSuccess?.(answer, given),
    onError: error => onError?.(error),
    onSettled: (_, error, given) =>
      void client.invalidateQueries({
        predicate: ({ queryKey }) => error !== null || !isErased(operation, given, queryKey),
      }),
  })
}

/** True if the query reads the thing that the operation has erased: the read would be a 404 on a page that is about to go. */
function isErased(operation: Operation, given: { params?: unknown }, [read, params]: readonly unknown[]): boolean {
  const [method, path] = operation.split(' ') as [string, string]
  const isBelow = method === 'DELETE' && typeof read === 'string' && read.startsWith(`GET ${path}`)
  return isBelow && JSON.stringify(params) === JSON.stringify(given.params)
}
