/**
 * Handles stop signals. The first signal aborts `asked`, and the running command cleans up. A second signal more than 500 ms later exits
 * at once: npm and the terminal both deliver a Ctrl-C, so two signals within 500 ms count as one.
 *
 * If npm started this process, a lost parent counts as SIGTERM: `npx` passes its signal to the shell in between, which ends silently, and
 * this process would continue with no parent to stop it. The same holds for a killed supervisor.
 */
import { systemClock } from '../lib/clock.ts'
import { whenParentIsGone } from '../lib/parent-process.ts'
import { supervisorVariable } from '../supervisor/suspected-job-file.ts'

const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type StopSignal = (typeof names)[number]

export interface Signals {
  readonly asked: AbortSignal
  /** The first signal. */
  readonly name: StopSignal | undefined
  /** Restores the default effect of the signals. */
  forget(): void
}

const sameMs = 500

export function listenForSignals(): Signals {
  const asking = new AbortController()
  let first: { name: StopSignal; at: number } | undefined
  const onSignal = (name: StopSignal) => {
    const at = systemClock.now().getTime()
    if (first !== undefined) {
      if (at - first.at > sameMs) process.exit(1)
      return
    }
    first = { name, at }
    asking.abort()
  }
  for (const name of names) process.on(name, onSignal)
  const ignored = new AbortController()
  const parent = neededParent()
  if (parent !== undefined) void whenParentIsGone(parent, ignored.signal).then(gone => gone && onSignal('SIGTERM'))
  return {
    asked: asking.signal,
    get name() {
      return first?.name
    },
    forget() {
      ignored.abort()
      for (const name of names) process.off(name, onSignal)
    },
  }
}

/** A supervisor may have ended before this check, so the supervisor passes its process id in the environment. */
function neededParent(): number | undefined {
  const supervisor = process.env[supervisorVariable]
  if (supervisor !== undefined) return Number(supervisor)
  return process.env.npm_command === undefined ? undefined : process.ppid
}

export const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
