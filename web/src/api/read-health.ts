/**
 * Knows whether reads of the API succeed. The event stream may be live while reads fail, for example while the database is away; then the
 * numbers on the page are old, and the top bar says so.
 */
import { useSyncExternalStore } from 'react'
import { language } from '../i18n/language.ts'
import { ApiError } from './client.ts'
import { queryClient } from './query.ts'

export interface ReadHealth {
  isFailing: boolean
  /** When the last read succeeded, in milliseconds since 1970; null before the first. */
  lastAt: number | null
}

let health: ReadHealth = { isFailing: false, lastAt: null }
const listeners = new Set<() => void>()

function set(next: ReadHealth): void {
  health = next
  for (const listener of listeners) listener()
}

/** A 4xx is an answer; no answer and a 5xx are none. */
const isOutage = (error: unknown) => error instanceof ApiError && (error.status === 0 || error.status >= 500)

queryClient.getQueryCache().subscribe(event => {
  if (event.type !== 'updated') return
  const { action } = event
  if (action.type === 'success') set({ isFailing: false, lastAt: Date.now() })
  else if ((action.type === 'failed' || action.type === 'error') && isOutage(action.error) && !health.isFailing)
    set({ ...health, isFailing: true })
})

// Sentences of the server come in the language of the request.
language.subscribe(() => void queryClient.invalidateQueries())

export const useReadHealth = (): ReadHealth =>
  useSyncExternalStore(
    listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => health,
  )
