/**
 * What a supervisor is told by signals, and by the death of the npm that started it. The first order is passed on to the
 * process it looks after; whoever says it again more than half a second later will not wait.
 */
import type { Clock } from '../lib/clock.ts'
import { whenParentIsGone } from '../lib/parent.ts'

const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const sameMs = 500

export interface OrderOptions {
  clock: Clock
  first: (signal: NodeJS.Signals) => void
  again: (signal: NodeJS.Signals) => void
}

/** Aborts at the first order. Heard to the very end of the process: one more must not make another end of it. */
export function hearOrders({ clock, first, again }: OrderOptions): AbortSignal {
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
  if (process.env.npm_command !== undefined)
    void whenParentIsGone(process.ppid, stopping.signal).then(gone => gone && heard('SIGTERM'))
  return stopping.signal
}
