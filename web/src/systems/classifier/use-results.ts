/**
 * All results of an execution, at most 2,000. While the execution runs, a page whose documents have all ended well is read again only
 * after an action and twice a minute, so that a long execution costs one or two pages a read and a correction is still seen.
 */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ApiError } from '../../api/client.ts'
import { call } from '../../api/client.ts'
import { isOver, type Result, type Status } from './api-types.ts'

type ResultPage = { items: Result[]; next: string | null }
type KeptPage = ResultPage & { readAt: number }

const pageSize = 500
const operation = 'GET /execucoes/{id}/resultados'
const settledForMs = 30_000

/** A page that need not be read again now. */
const isSettled = ({ items, next, readAt }: KeptPage) =>
  next !== null &&
  Date.now() - readAt < settledForMs &&
  items.every(({ status }) => status === 'CONCLUIDO' || status === 'PULADO')

const resultsKey = (id: string) => [operation, { id }, 'all'] as const

export function useResults(id: string, status: Status | undefined, total: number) {
  const client = useQueryClient()
  const over = status !== undefined && isOver(status)
  return useQuery<readonly KeptPage[], ApiError, readonly Result[]>({
    queryKey: resultsKey(id),
    enabled: status !== undefined,
    // More documents make a read dearer, so larger executions are read less often.
    refetchInterval: over ? false : 1500 + total * 2,
    select: pages => pages.flatMap(({ items }) => items),
    async queryFn({ signal }) {
      // An action invalidates the query; the interval does not.
      const isEachAnew = over || client.getQueryState(resultsKey(id))?.isInvalidated === true
      const before = client.getQueryData<readonly KeptPage[]>(resultsKey(id)) ?? []
      const pages: KeptPage[] = []
      for (let after: string | null = ''; after !== null; ) {
        const known: KeptPage | undefined = before[pages.length]
        const page: KeptPage =
          !isEachAnew && known !== undefined && isSettled(known) ? known : await read(after, signal)
        pages.push(page)
        after = page.next
      }
      return pages
    },
  })

  async function read(after: string, signal: AbortSignal): Promise<KeptPage> {
    const readAt = Date.now()
    const query = { limit: pageSize, ...(after === '' ? {} : { after }) }
    return { ...(await call(operation, { params: { id }, query }, { signal })), readAt }
  }
}
