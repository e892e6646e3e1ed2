/** Follows everything for the whole dashboard: shared state of the connection, and reads again what an event concerns. */
import { useQueryClient } from '@tanstack/react-query'
import { type ComponentChildren, createContext } from 'preact'
import { useContext, useMemo } from 'react'
import type { LiveStatus } from './connection.ts'
import { createInvalidator } from './invalidate.ts'
import { useLive } from './use-live.ts'

const LiveContext = createContext<LiveStatus>({ state: 'connecting', lastAt: null })

export function LiveProvider({ children }: { children: ComponentChildren }) {
  const client = useQueryClient()
  const invalidate = useMemo(() => createInvalidator(client), [client])
  const status = useLive('everything', invalidate)
  return <LiveContext.Provider value={status}>{children}</LiveContext.Provider>
}

/** The state of the connection of the whole dashboard. */
export const useLiveStatus = (): LiveStatus => useContext(LiveContext)
