/**
 * All results of an execution, at most 2,000. While the execution runs, a page whose documents have all ended well is not read again, so
 * that a long execution costs one or two pages a read.
 */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ApiError } from '../../api/client.ts'
import { call } from '../../api/client.ts'
import { isOver, type Result, type Status } from './api-types.ts'

type ResultPage = { items: Result[]; next: string | null }

const pageSize = 500
const operation = 'GET /execucoes/{id}/resultados'

const isSettled = ({ items, next }: ResultPage) =>
  next !== null && items.every(({ status }) => status === 'CONCLUIDO' || status === 'PULADO')

const resultsKey = (id: string) => [operation, { id }, 'all'] as const

export function useResults(id: string, status: Status | undefined, total: number) {
  const client = useQueryClient()
  const over = status !== undefined && isOver(status)
  return useQuery<readonly ResultPage[], ApiError, readonly Result[]>({
    queryKey: resultsKey(id),
    enabled: status !== undefined,
    // More documents make a read dearer, so larger executions are read less often.
    refetchInterval: over ? false : 1500 + total * 2,
    select: pages => pages.flatMap(({ items }) => items),
    async queryFn({ signal }) {
      const before = client.getQueryData<readonly ResultPage[]>(resultsKey(id)) ?? []
      const pages: ResultPage[] = []
      for (let after: string | null = ''; after !== null; ) {
        const known: ResultPage | undefined = before[pages.length]
        const page: ResultPage = !over && known !== undefined && isSettled(known) ? known : await read(after, signal)
        pages.push(page)
        after = page.next
      }
      return pages
    },
  })

  function read(after: string, signal: AbortSignal): Promise<ResultPage> {
    const query = { limit: pageSize, ...(after === '' ? {} : { after }) }
    return call(operation, { params: { id }, query }, { signal })
  }
}
