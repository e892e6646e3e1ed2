/**
 * One execution, live. Events of its stream change the numbers at once; the status in detail is read again at most once a second, because
 * the sentence and the idle time come from the server only.
 */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { keyOf, useApi } from '../../api/query.ts'
import { useNow } from '../../lib/now.ts'
import type { LiveEvent, LiveStatus } from '../../live/connection.ts'
import { useLive } from '../../live/use-live.ts'
import { type Detail, isOver, type Status } from './api-types.ts'
import { idleSecondsOf, pollMs } from './idle-seconds.ts'

const detailOf = 'GET /execucoes/{id}/status-detalhado'
const readAgainMs = 1000

export interface Pace {
  /** Documents in a second; null: unknown. */
  rate: number | null
  etaSeconds: number | null
}

const counted = ['total', 'pendentes', 'processando', 'concluidos', 'erros', 'pulados', 'cancelados', 'percentual']

export function useExecution(id: string) {
  const client = useQueryClient()
  const detail = useApi(detailOf, { params: { id } }, { every: pollMs })
  const status = detail.data?.status
  const [pace, setPace] = useState<Pace>({ rate: null, etaSeconds: null })

  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const readAgain = () => {
    if (timer.current !== undefined) return
    timer.current = setTimeout(() => {
      timer.current = undefined
      void client.invalidateQueries({ queryKey: [detailOf, { id }] })
    }, readAgainMs)
  }

  const take = ({ type, data }: LiveEvent) => {
    const change = (part: Partial<Detail>) =>
      client.setQueryData<Detail>(keyOf(detailOf, { params: { id } }), before => before && { ...before, ...part })
    if (type === 'progress') {
      change(Object.fromEntries(counted.flatMap(name => (name in data ? [[name, data[name]]] : []))))
      setPace({ rate: numberOf(data.rate), etaSeconds: numberOf(data.eta_seconds) })
    }
    if (type === 'state' && typeof data.to === 'string') change({ status: data.to as Status })
    readAgain()
  }
  const isFollowed = status !== undefined && !isOver(status)
  const live = useLive(isFollowed ? { path: `/execucoes/${encodeURIComponent(id)}/eventos` } : undefined, take)

  useEffect(() => {
    // What other queries show depends on the status: names, times, results.
    void client.invalidateQueries({
      predicate: ({ queryKey: [operation, params] }) =>
        operation !== detailOf && String(operation).startsWith('GET /execucoes/{id}') && isAbout(params, id),
    })
  }, [client, id, status])

  return { detail, pace, live: isFollowed ? live : ({ state: 'live', lastAt: null } satisfies LiveStatus) }
}

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)
const isAbout = (params: unknown, id: string) =>
  typeof params === 'object' && params !== null && (params as { id?: unknown }).id === id

/** Seconds without progress, ticking once a second. */
export function useIdleSeconds(detail: Detail, readAt: number): number {
  useNow()
  return idleSecondsOf(detail, readAt, Date.now())
}
