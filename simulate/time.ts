/**
 * A single time for the whole simulation, and a clock for each process. Time moves only in a step: to the next sleeper, or by
 * a jump without any wake.
 *
 * Invariant: a dead process never wakes, and a frozen process wakes only after the thaw. `instant()` is the true time; `now()`
 * of a process may be wrong by any amount.
 */
import type { Clock } from '../src/lib/clock.ts'

/** The state of a process: `dead` and `frozen` processes are not woken. */
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

  /** Moves time without waking any sleeper: the computer slept or was stopped. */
  jump(ms: number): void {
    this.#now += ms
  }

  /** Moves time to the next sleeper which may wake, and wakes the sleeper. Returns false without a sleeper. */
  wakeNext(): boolean {
    this.#sleepers = this.#sleepers.filter(({ body }) => !body.dead)
    const [next] = this.#sleepers.filter(({ body }) => !body.frozen).sort((a, b) => a.due - b.due)
    if (next === undefined) return false
    this.#now = Math.max(this.#now, next.due)
    next.wake()
    return true
  }

  /** `skew`: the error of the process's clock, in milliseconds. */
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
