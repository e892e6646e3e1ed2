/**
 * One time for a whole world, and a clock for each of its processes. Time moves only when a step says so: to the next one that
 * sleeps, or by a jump during which nobody did anything.
 *
 * Invariant: who is dead is never woken, and who is frozen not before it thaws. What SQL compares is the world's time; a
 * process's own clock may be wrong by any amount.
 */
import type { Clock } from '../src/lib/clock.ts'

/** Whether the process that waits may be given anything just now. */
export interface Body {
  readonly dead: boolean
  readonly frozen: boolean
}

interface Sleeper {
  due: number
  body: Body
  wake: () => void
}

export class Time {
  #now = Date.parse('2030-01-01T12:00:00Z')
  #sleepers: Sleeper[] = []

  get now(): number {
    return this.#now
  }

  isAsleep(body: Body): boolean {
    return this.#sleepers.some(each => each.body === body)
  }

  /** Nobody is woken meanwhile: the computer slept, or was stopped. */
  jump(ms: number): void {
    this.#now += ms
  }

  /** Moves on to the next one that may wake, and wakes it; answers whether there was one. */
  wakeNext(): boolean {
    this.#sleepers = this.#sleepers.filter(({ body }) => !body.dead)
    const [next] = this.#sleepers.filter(({ body }) => !body.frozen).sort((a, b) => a.due - b.due)
    if (next === undefined) return false
    this.#now = Math.max(this.#now, next.due)
    next.wake()
    return true
  }

  /** `skew`: by how many milliseconds that process's own clock is wrong. */
  clockOf(body: Body, skew: () => number): Clock {
    return {
      instant: () => new Date(this.#now),
      now: () => new Date(this.#now + skew()),
      elapsed: () => this.#now,
      sleep: (ms, signal) => this.#sleep(body, ms, signal),
    }
  }

  #sleep(body: Body, ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise(resolve => {
      if (signal?.aborted || ms <= 0) return resolve()
      const wake = () => {
        this.#sleepers = this.#sleepers.filter(each => each !== sleeper)
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      const sleeper: Sleeper = { due: this.#now + ms, body, wake }
      this.#sleepers.push(sleeper)
      signal?.addEventListener('abort', wake, { once: true })
    })
  }
}
