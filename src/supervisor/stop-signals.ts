/**
 * Handles stop signals for a supervisor, including the end of the npm process that started the supervisor. The first signal is passed on to
 * the child process; a second signal more than 500 ms later stops the child process without waiting.
 */
import type { Clock } from '../lib/clock.ts'
import { whenParentIsGone } from '../lib/parent-process.ts'

const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const sameMs = 500

export interface StopSignalOptions {
  clock: Clock
  first: (signal: NodeJS.Signals) => void
  again: (signal: NodeJS.Signals) => void
}

/** Aborts at the first signal. The handlers stay until the end of the process: a further signal must not end the process differently. */
export function listenForStopSignals({ clock, first, again }: StopSignalOptions): AbortSignal {
  const stopping = new AbortController()
  let firstAt: number | undefined
  const onSignal = (signal: NodeJS.Signals) => {
    const at = clock.elapsed()
    if (firstAt !== undefined) {
      if (at - firstAt > sameMs) again(signal)
      return
    }
    firstAt = at
    stopping.abort()
    first(signal)
  }
  for (const name of names) process.on(name, onSignal)
  if (process.env.npm_command !== undefined)
    void whenParentIsGone(process.ppid, stopping.signal).then(gone => gone && onSignal('SIGTERM'))
  return stopping.signal
}
