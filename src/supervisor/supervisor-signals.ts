/**
 * Handles signals for a supervisor. SIGINT, SIGTERM and the end of the npm process that started the supervisor stop the worker processes: the
 * first signal is passed on; a second signal more than 500 ms later stops the processes without waiting. SIGHUP asks for a rolling
 * restart, unless the terminal of the supervisor is gone: a closed terminal sends SIGHUP, and stops the processes.
 */
import { closeSync, constants, openSync } from 'node:fs'
import type { Clock } from '../lib/clock.ts'
import { whenParentIsGone } from '../lib/process/parent-process.ts'
import { onStopSignals } from '../lib/process/stop-signals.ts'

type StopSignal = 'SIGINT' | 'SIGTERM'

export interface SupervisorSignalOptions {
  clock: Clock
  first: (signal: StopSignal) => void
  again: (signal: StopSignal) => void
  /** SIGHUP while the terminal, if any, is there. */
  restart: () => void
}

/** Aborts at the first stop signal. The handlers stay until the end of the process: a further signal must not end the process differently. */
export function listenForSupervisorSignals({ clock, first, again, restart }: SupervisorSignalOptions): AbortSignal {
  const stopping = new AbortController()
  const signals = onStopSignals<StopSignal>({
    names: ['SIGINT', 'SIGTERM'],
    clock,
    first(name) {
      stopping.abort()
      first(name)
    },
    again,
  })
  const hadTerminal = hasTerminal()
  process.on('SIGHUP', () => {
    if (hadTerminal && !hasTerminal()) signals.receive('SIGTERM')
    else if (!stopping.signal.aborted) restart()
  })
  if (process.env.npm_command !== undefined)
    void whenParentIsGone(process.ppid, stopping.signal).then(gone => gone && signals.receive('SIGTERM'))
  return stopping.signal
}

/** True if this process has a controlling terminal. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', constants.O_RDONLY | constants.O_NOCTTY | constants.O_NONBLOCK))
    return true
  } catch {
    return false
  }
}
