/**
 * Signals that ask to stop. The first one aborts `asked`, and whoever is at work cleans up. A second one more than half
 * a second later leaves at once: npm and the terminal both deliver one Ctrl-C, so two within that time are one.
 *
 * Started by npm, a lost parent counts as SIGTERM: `npx` passes its signal to the shell between us, which dies of it
 * without a word, and we would go on with nobody to stop us. Likewise for a supervisor that was killed.
 */
import { systemClock } from '../lib/clock.ts'
import { whenParentIsGone } from '../lib/parent.ts'
import { supervisorVariable } from '../supervisor/papers.ts'

const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type StopSignal = (typeof names)[number]

export interface Signals {
  readonly asked: AbortSignal
  /** Which one it was. */
  readonly name: StopSignal | undefined
  /** Signals have their usual effect again. */
  forget(): void
}

const sameMs = 500

export function hearSignals(): Signals {
  const asking = new AbortController()
  let first: { name: StopSignal; at: number } | undefined
  const heard = (name: StopSignal) => {
    const at = systemClock.now().getTime()
    if (first !== undefined) {
      if (at - first.at > sameMs) process.exit(1)
      return
    }
    first = { name, at }
    asking.abort()
  }
  for (const name of names) process.on(name, heard)
  const ignored = new AbortController()
  const parent = neededParent()
  if (parent !== undefined) void whenParentIsGone(parent, ignored.signal).then(gone => gone && heard('SIGTERM'))
  return {
    asked: asking.signal,
    get name() {
      return first?.name
    },
    forget() {
      ignored.abort()
      for (const name of names) process.off(name, heard)
    },
  }
}

/** A supervisor may have gone before we look: it has told us who it is. */
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
