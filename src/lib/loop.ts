/**
 * Repeats a tick and a sleep. `loop` runs `tick` now and then every `every` ms, or as soon as `wake` is called. An error in a tick is
 * reported, and the loop tries again after 100 ms, then after twice the time with each error, up to `every`.
 *
 * Invariant: ticks of a loop never overlap, and once stop() has resolved, no tick runs and no tick will start.
 */
import type { Clock } from './clock.ts'

export interface Loop {
  /** Ticks as soon as possible; many wakes before the tick count once. */
  wake(): void
  /** Limits the current sleep to `ms`. */
  sleepAtMost(ms: number): void
  stop(): Promise<void>
}

export interface LoopOptions {
  clock: Clock
  /** Milliseconds to sleep after a successful tick. A tick may return another time for the next sleep. */
  every: number
  /** Milliseconds to sleep before the first tick. Default: 0. */
  after?: number
  tick: () => Promise<number | undefined>
  failed: (error: unknown) => void
}

const firstRetryMs = 100

export function loop({ clock, every, after = 0, tick, failed }: LoopOptions): Loop {
  const ending = new AbortController()
  let woken = false
  let retry = firstRetryMs
  let sleeping: AbortController | undefined
  let shortened: AbortController | undefined

  async function pause(ms: number): Promise<void> {
    sleeping = new AbortController()
    await clock.sleep(ms, sleeping.signal)
    sleeping = undefined
    shortened?.abort()
  }

  async function run(): Promise<void> {
    if (after > 0) await pause(after)
    while (!ending.signal.aborted) {
      woken = false
      const next = await tick().then(
        answer => {
          retry = firstRetryMs
          return answer
        },
        error => {
          failed(error)
          const soon = Math.min(retry, every)
          retry = soon * 2
          return soon
        },
      )
      if (woken || ending.signal.aborted) continue
      await pause(next ?? every)
    }
  }
  const ended = run()

  const wake = () => {
    woken = true
    // Abort only once: every abort creates an error object, and a busy worker wakes the loop for each job.
    sleeping?.abort()
    sleeping = undefined
  }
  return {
    wake,
    sleepAtMost(ms) {
      if (ending.signal.aborted) return
      shortened?.abort()
      const timer = new AbortController()
      shortened = timer
      void clock.sleep(ms, timer.signal).then(() => {
        if (!timer.signal.aborted) wake()
      })
    },
    stop: () => {
      ending.abort()
      shortened?.abort()
      wake()
      return ended
    },
  }
}
