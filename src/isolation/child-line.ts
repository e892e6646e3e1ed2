/**
 * The line for child processes of `ctx.isolated`: so many calls run at once, and the next ones wait. A call that would wait for
 * longer than a moment is refused with the delay after which its turn should come: whoever called gives its slot to others.
 *
 * Invariant: never more turns at once than `most`. The delay is an estimate from how long calls lately took; when it is wrong, the
 * caller is told as soon as a turn is free and nobody waits for it (`freed`).
 */
import { Turns } from '../lib/turns.ts'

/** A call may wait for its turn so long and keep its caller's slot. */
const shortWaitMs = 1000
const longestDelayMs = 30_000
/** So many calls may be on their way for each free turn. */
const mostInTurn = 10
/** How much the last call counts in the mean. */
const newest = 0.2

export interface ChildLineOptions {
  /** In this process's milliseconds. */
  elapsed: () => number
  sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** Turns are free, and nobody waits here: so many calls would have theirs within a moment. */
  freed: (calls: number) => void
}

export interface Waiting {
  signal: AbortSignal
  /** Asked when it has waited for a moment: may it be refused? false: it waits for its turn however long that takes. */
  mayRefuse: () => boolean
}

export type Turn = { end: () => void } | { refusedFor: number } | 'aborted'

export class ChildLine {
  readonly #most: number
  readonly #turns: Turns
  readonly #options: ChildLineOptions
  /** When each of those began that have a turn. */
  readonly #begunAt = new Set<{ at: number }>()
  #meanMs = 0
  /** When the last call that was refused should have its turn. */
  #promisedAt = 0

  constructor(most: number, options: ChildLineOptions) {
    this.#most = Math.max(most, 1)
    this.#turns = new Turns(this.#most)
    this.#options = options
  }

  /** How many calls that are not here would have their turn within a moment. */
  get room(): number {
    if (this.#turns.waiting > 0) return 0
    const inTurn = Math.floor(shortWaitMs / Math.max(this.#callMs, 1))
    return this.#turns.free * Math.min(Math.max(inTurn, 1), mostInTurn)
  }

  async take({ signal, mayRefuse }: Waiting): Promise<Turn> {
    if (this.#expectedMs() > shortWaitMs && mayRefuse()) return { refusedFor: this.#delay() }
    const refused = new AbortController()
    const there = new AbortController()
    void this.#lose(there.signal, mayRefuse).then(isLate => isLate && refused.abort())
    const end = await this.#turns.take(AbortSignal.any([signal, refused.signal]))
    there.abort()
    if (end === undefined) return signal.aborted ? 'aborted' : { refusedFor: this.#delay() }
    return { end: this.#begin(end) }
  }

  /** Waits until the wait has been too long; false: the turn came first. */
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

  /** How long a call takes: as lately, but no less than all of those that run have taken already. */
  get #callMs(): number {
    const now = this.#options.elapsed()
    const shortest = Math.min(...Array.from(this.#begunAt, ({ at }) => now - at))
    return Math.max(this.#meanMs, Number.isFinite(shortest) ? shortest : 0)
  }

  #expectedMs(): number {
    return this.#turns.free > 0 ? 0 : (this.#callMs * (this.#turns.waiting + 1)) / this.#most
  }

  /** Those that are refused come back one after the other. */
  #delay(): number {
    const now = this.#options.elapsed()
    this.#promisedAt = Math.min(Math.max(this.#promisedAt, now) + this.#callMs / this.#most, now + longestDelayMs)
    return this.#promisedAt - now
  }
}
