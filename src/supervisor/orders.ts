/**
 * What a supervisor is told by signals, and by the death of the npm that started it. The first order is passed on to the
 * process it looks after; whoever says it again more than half a second later will not wait.
 */
import type { Clock } from '../lib/clock.ts'
import { whenParentIsGone } from '../lib/parent.ts'

const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const sameMs = 500

export interface Orders {
  readonly stop: AbortSignal
  forget(): void
}

export interface OrderOptions {
  clock: Clock
  first: (signal: NodeJS.Signals) => void
  again: (signal: NodeJS.Signals) => void
}

export function hearOrders({ clock, first, again }: OrderOptions): Orders {
  const stopping = new AbortController()
  let firstAt: number | undefined
  const heard = (signal: NodeJS.Signals) => {
    const at = clock.elapsed()
    if (firstAt !== undefined) {
      if (at - firstAt > sameMs) again(signal)
      return
    }
    firstAt = at
    stopping.abort()
    first(signal)
  }
  for (const name of names) process.on(name, heard)
  const ignored = new AbortController()
  if (process.env.npm_command !== undefined)
    void whenParentIsGone(process.ppid, ignored.signal).then(gone => gone && heard('SIGTERM'))
  return {
    stop: stopping.signal,
    forget() {
      ignored.abort()
      for (const name of names) process.off(name, heard)
    },
  }
}
