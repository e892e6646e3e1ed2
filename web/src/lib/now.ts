/**
 * The time of the server, and a clock that ticks once a second for every component that shows an age. The clock of a browser may be
 * minutes off, so ages are counted against the server's time.
 */
import { useSyncExternalStore } from 'react'

let offsetMs = 0
let tick = Date.now()
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

/** Call with an instant that the server has just sent. */
export function learnServerTime(instant: string): void {
  const server = Date.parse(instant)
  if (Number.isFinite(server)) offsetMs = server - Date.now()
}

/** Milliseconds since 1970 by the clock of the server. */
export const serverNow = (): number => Date.now() + offsetMs

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    tick = Date.now()
    for (const each of listeners) each()
  }, 1000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** The server's time, renewed once a second while the component is shown. */
export const useNow = (): number => {
  useSyncExternalStore(subscribe, () => tick)
  return serverNow()
}
