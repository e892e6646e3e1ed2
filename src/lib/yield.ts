/** Defers work until the current work of this process is done. */
import type { Clock } from './clock.ts'

/** Runs `work` after the code under way in memory has finished and has handed its output to the network. */
export function yieldThen(clock: Clock, work: () => void): void {
  const done = new Promise<void>(resolve =>
    setImmediate(() => {
      work()
      resolve()
    }),
  )
  void clock.during?.(done)
}
