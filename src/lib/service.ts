/**
 * A loop is a tick and a sleep. `loop` runs `tick` now and then again every `every`, or as soon as it is woken; an error
 * in one tick is reported, and the loop tries again soon: after 100 ms, then twice as long each time, up to `every`.
 *
 * Invariant: ticks of one loop never overlap, and once stop() has resolved none is running and none will start.
 */
import type { Clock } from './clock.ts'

export interface Loop {
  /** Tick as soon as possible; many wakes before that tick are one. */
  wake(): void
  /** If it sleeps for longer than that, it sleeps only that long. */
  sleepAtMost(ms: number): void
  stop(): Promise<void>
}

export interface LoopOptions {
  clock: Clock
  /** How long to sleep after a tick that went well; a tick may answer another time for once. */
  every: number
  /** How long to sleep before the first tick; default: not at all. */
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
    // Once: every abort makes an error, and a busy worker wakes its loop for each job.
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
