/** Work that steps back behind what is under way in this process. */
import type { Clock } from './clock.ts'

/** When whatever is under way in memory has been done, and what it sends has been handed to the network. */
export function afterThis(clock: Clock, work: () => void): void {
  const done = new Promise<void>(resolve =>
    setImmediate(() => {
      work()
      resolve()
    }),
  )
  void clock.during?.(done)
}
