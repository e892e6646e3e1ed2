/**
 * Handles stop signals. The first signal aborts `asked`, and the running command cleans up. A second signal exits at once
 * (lib/process/stop-signals.ts).
 *
 * If npm started this process, a lost parent counts as SIGTERM: `npx` passes its signal to the shell in between, which ends silently, and
 * this process would continue with no parent to stop it. The same holds for a killed supervisor. A supervised process ignores SIGHUP: the
 * supervisor decides whether SIGHUP means a stop or a rolling restart.
 */
import { whenParentIsGone } from '../lib/process/parent-process.ts'
import { onStopSignals } from '../lib/process/stop-signals.ts'
import { supervisorVariable } from '../supervisor/suspected-job-file.ts'

type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

export interface Signals {
  readonly asked: AbortSignal
  /** The first signal. */
  readonly name: StopSignal | undefined
  /** Restores the default effect of the signals. */
  forget(): void
}

export function listenForSignals(): Signals {
  const asking = new AbortController()
  let first: StopSignal | undefined
  const isSupervised = process.env[supervisorVariable] !== undefined
  const signals = onStopSignals<StopSignal>({
    names: isSupervised ? ['SIGINT', 'SIGTERM'] : ['SIGINT', 'SIGTERM', 'SIGHUP'],
    first(name) {
      first = name
      asking.abort()
    },
    again: () => process.exit(1),
  })
  const ignore = () => {}
  if (isSupervised) process.on('SIGHUP', ignore)
  const ignored = new AbortController()
  const parent = neededParent()
  if (parent !== undefined)
    void whenParentIsGone(parent, ignored.signal).then(gone => gone && signals.receive('SIGTERM'))
  return {
    asked: asking.signal,
    get name() {
      return first
    },
    forget() {
      ignored.abort()
      signals.forget()
      process.off('SIGHUP', ignore)
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
