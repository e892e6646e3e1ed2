/**
 * Listens for stop signals. The first signal calls `first`. A second signal more than 500 ms later calls `again`: npm and a terminal both
 * deliver a Ctrl-C, so two signals within 500 ms count as one.
 */
import { type Clock, systemClock } from '../clock.ts'

const sameMs = 500

export interface StopSignalOptions<Name extends NodeJS.Signals> {
  names: readonly Name[]
  first: (name: Name) => void
  again: (name: Name) => void
  clock?: Clock
}

export interface StopSignals<Name extends NodeJS.Signals> {
  /** Handles a signal that did not come from the operating system, such as the end of the parent process. */
  receive(name: Name): void
  /** Removes the listeners. */
  forget(): void
}

/** Marks the listeners of Retoma, so that a listener of the application can be distinguished, also if this module is loaded twice. */
const ours = Symbol.for('retoma.stopSignal')

export function onStopSignals<Name extends NodeJS.Signals>(options: StopSignalOptions<Name>): StopSignals<Name> {
  const { names, first, again, clock = systemClock } = options
  let firstAt: number | undefined
  const receive = (name: Name) => {
    const at = clock.elapsed()
    if (firstAt === undefined) {
      firstAt = at
      first(name)
    } else if (at - firstAt > sameMs) again(name)
  }
  const listener = Object.assign((name: NodeJS.Signals) => receive(name as Name), { [ours]: true })
  // First in the list: a `once` listener of the application, called before, would already be removed from the list.
  for (const name of names) process.prependListener(name, listener)
  return {
    receive,
    forget() {
      for (const name of names) process.off(name, listener)
    },
  }
}

/** True if code of the application listens to the signal. */
export const othersListenTo = (name: NodeJS.Signals): boolean =>
  process.listeners(name).some(listener => !(ours in listener))
