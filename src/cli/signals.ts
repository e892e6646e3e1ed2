/**
 * Signals that ask to stop. The first one aborts `asked`, and whoever is at work cleans up. A second one more than half
 * a second later leaves at once: npm and the terminal both deliver one Ctrl-C, so two within that time are one.
 *
 * Started by npm, a lost parent counts as SIGTERM: `npx` passes its signal to the shell between us, which dies of it
 * without a word, and we would go on with nobody to stop us.
 */
import { systemClock } from '../lib/clock.ts'
import { idle } from '../lib/idle.ts'

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
const parentMs = 500

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
  if (process.env.npm_command !== undefined)
    void whenParentIsGone(ignored.signal).then(gone => gone && heard('SIGTERM'))
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

async function whenParentIsGone(ignored: AbortSignal): Promise<boolean> {
  const parent = process.ppid
  while (!ignored.aborted && process.ppid === parent) await idle(parentMs, ignored)
  return !ignored.aborted
}

export const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
