/** The history of the queues for charts. The server leaves out a step without any count; here every step has a place. */
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { serverNow } from '../lib/now.ts'
import { type Answer, call } from './client.ts'
import type { HistoryPoint } from './schema.ts'

export type { HistoryPoint } from './schema.ts'

export const ranges = ['hour', 'day', 'week'] as const
export type Range = (typeof ranges)[number]

const spans: Record<Range, { seconds: number; step: number }> = {
  hour: { seconds: 3600, step: 60 },
  day: { seconds: 86_400, step: 900 },
  week: { seconds: 7 * 86_400, step: 3600 },
}

type HistoryAnswer = Answer<'GET /api/v1/stats/history'>

type Points = readonly (HistoryPoint | undefined)[]

export interface History {
  /** Seconds since 1970, one for each step. */
  times: readonly number[]
  stepSeconds: number
  total: Points
  queues: ReadonlyMap<string, Points>
}

export function historyOf({ from, to, step_seconds: step, queues, total }: HistoryAnswer): History {
  const first = Math.floor(Date.parse(from) / 1000 / step) * step
  const count = Math.max(1, Math.ceil((Date.parse(to) / 1000 - first) / step))
  const placed = (points: readonly HistoryPoint[]): Points => {
    const all: (HistoryPoint | undefined)[] = new Array(count).fill(undefined)
    for (const point of points) all[Math.round((Date.parse(point.at) / 1000 - first) / step)] = point
    return all.slice(0, count)
  }
  return {
    times: Array.from({ length: count }, (_, index) => first + index * step),
    stepSeconds: step,
    total: placed(total),
    queues: new Map(queues.map(({ queue, points }) => [queue, placed(points)])),
  }
}

interface HistoryRead {
  history: History | undefined
  error: Error | null
  refetch(): unknown
}

/** The history of a range that ends now; read again every half minute. */
export function useHistory(range: Range): HistoryRead {
  const { seconds, step } = spans[range]
  const { data, error, refetch } = useQuery({
    queryKey: ['history', range],
    queryFn: ({ signal }) => {
      const from = new Date(serverNow() - seconds * 1000).toISOString()
      return call('GET /api/v1/stats/history', { query: { from, step } }, { signal })
    },
    refetchInterval: 30_000,
    placeholderData: before => before,
  })
  const history = useMemo(() => (data === undefined ? undefined : historyOf(data)), [data])
  return { history, error, refetch }
}
