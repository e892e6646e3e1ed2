/**
 * Limits the child processes of `ctx.isolated`: `most` calls run at once, and further calls wait. A call with an expected wait of more than
 * 1 s is refused with the delay until its expected turn: the caller defers the job and frees the slot.
 *
 * Invariant: never more turns at once than `most`. The delay is an estimate from recent durations; if the estimate is too long, `freed`
 * reports a free turn as soon as no call waits.
 */
import { Semaphore } from '../lib/semaphore.ts'

/** The maximum wait of a call that keeps its caller's slot. */
const shortWaitMs = 1000
const longestDelayMs = 30_000
/** The maximum of calls under way per free turn. */
const mostInTurn = 10
/** The weight of the last call in the moving average. */
const newest = 0.2

export interface ChildQueueOptions {
  /** Milliseconds of this process. */
  elapsed: () => number
  sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** Turns are free and no call waits: the number of calls that would get a turn soon. */
  freed: (calls: number) => void
}

export interface Waiting {
  signal: AbortSignal
  /** Called after each second of waiting. True: the call may be refused; false: the call waits for its turn without a bound. */
  mayRefuse: () => boolean
}

export type ChildTurn = { end: () => void } | { refusedFor: number } | 'aborted'

export class ChildQueue {
  readonly #most: number
  readonly #semaphore: Semaphore
  readonly #options: ChildQueueOptions
  /** The start of each running call. */
  readonly #begunAt = new Set<{ at: number }>()
  #meanMs = 0
  /** The expected turn of the last refused call. */
  #promisedAt = 0

  constructor(most: number, options: ChildQueueOptions) {
    this.#most = Math.max(most, 1)
    this.#semaphore = new Semaphore(this.#most)
    this.#options = options
  }

  /** The number of further calls that would get a turn soon. */
  get room(): number {
    if (this.#semaphore.waiting > 0) return 0
    const inTurn = Math.floor(shortWaitMs / Math.max(this.#callMs, 1))
    return this.#semaphore.free * Math.min(Math.max(inTurn, 1), mostInTurn)
  }

  async take({ signal, mayRefuse }: Waiting): Promise<ChildTurn> {
    if (this.#expectedMs() > shortWaitMs && mayRefuse()) return { refusedFor: this.#delay() }
    const refused = new AbortController()
    const there = new AbortController()
    void this.#lose(there.signal, mayRefuse).then(isLate => isLate && refused.abort())
    const end = await this.#semaphore.take(AbortSignal.any([signal, refused.signal]))
    there.abort()
    if (end === undefined) return signal.aborted ? 'aborted' : { refusedFor: this.#delay() }
    return { end: this.#begin(end) }
  }

  /** Resolves true after a wait that is too long; false: the turn came first. */
  async #lose(there: AbortSignal, mayRefuse: () => boolean): Promise<boolean> {
    for (;;) {
      await this.#options.sleep(shortWaitMs, there)
      if (there.aborted) return false
      if (mayRefuse()) return true
    }
  }

  #begin(end: () => void): () => void {
    const { elapsed, freed } = this.#options
    const begun = { at: elapsed() }
    this.#begunAt.add(begun)
    return () => {
      this.#begunAt.delete(begun)
      this.#meanMs += (elapsed() - begun.at - this.#meanMs) * newest
      end()
      if (this.room > 0) freed(this.room)
    }
  }

  /** The expected duration of a call: the recent average, but at least the time that every running call has already taken. */
  get #callMs(): number {
    const now = this.#options.elapsed()
    const shortest = Math.min(...Array.from(this.#begunAt, ({ at }) => now - at))
    return Math.max(this.#meanMs, Number.isFinite(shortest) ? shortest : 0)
  }

  #expectedMs(): number {
    return this.#semaphore.free > 0 ? 0 : (this.#callMs * (this.#semaphore.waiting + 1)) / this.#most
  }

  /** Spreads the refused calls over time, a turn after the other. */
  #delay(): number {
    const now = this.#options.elapsed()
    this.#promisedAt = Math.min(Math.max(this.#promisedAt, now) + this.#callMs / this.#most, now + longestDelayMs)
    return this.#promisedAt - now
  }
}
