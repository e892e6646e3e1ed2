/**
 * A value that every component reads, that this browser keeps, and that other tabs take over. Storage may be off or full; then the value
 * lasts as long as the page.
 */
import { useSyncExternalStore } from 'react'

export interface Stored<T> {
  get(): T
  set(value: T): void
  subscribe(listener: () => void): () => void
}

export function createStored<T extends string>(
  name: string,
  isValid: (text: string) => text is T,
  initial: T,
): Stored<T> {
  const key = `retoma.${name}`
  const listeners = new Set<() => void>()
  let value = read() ?? initial

  function read(): T | undefined {
    try {
      const text = localStorage.getItem(key)
      return text !== null && isValid(text) ? text : undefined
    } catch {
      return undefined
    }
  }

  function change(next: T): void {
    if (next === value) return
    value = next
    for (const listener of listeners) listener()
  }

  addEventListener('storage', event => {
    if (event.key === key) change(read() ?? initial)
  })

  return {
    get: () => value,
    set(next) {
      try {
        localStorage.setItem(key, next)
      } catch {
        // The value still counts for this page.
      }
      change(next)
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

export const useStored = <T>(stored: Stored<T>): T => useSyncExternalStore(stored.subscribe, stored.get)
