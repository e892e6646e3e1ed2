/**
 * Keeps the slots of a queue in a worker: running handlers, and prefetched attempts that wait for a slot.
 *
 * Invariant: never more handlers at once than `size`, paused slots included. The prefetch is bounded by the slowest attempts of each kind
 * (prefetch-sizing.ts) and by the memory of the inputs.
 */
import type { Attempt } from '../execution/attempt.ts'
import { PrefetchSizing } from './prefetch-sizing.ts'

/** A claim may bring at most about 8 MiB of input, estimated by the largest recent input. */
const maxBytes = 8 * 1024 * 1024
const mostAhead = 1000

export class Slots {
  readonly queue: string
  readonly size: number
  /** True if the last claim received all wanted jobs, or this queue was not part of the claim. A freed slot is then worth another claim. */
  more = false
  /** The queue has limits or fair turns. */
  limited = false
  /** The queue has a concurrency or a rate. */
  counted = false
  /** The jobs of the queue may have limit keys. */
  keyed = false
  /** Milliseconds from the last claim until a used-up rate allows the next start. */
  rateMs = Number.POSITIVE_INFINITY
  /** Separate for each queue: the durations of one queue say nothing about another queue. */
  readonly #prefetch = new PrefetchSizing()
  #used = 0
  /** Slots in use without a handler: paused after a deferred job. */
  #resting = 0
  #waiting: Attempt[] = []
  #next = 0
  #largest = 0
  /** A prefetched job had to be released: until a slot is freed, a prefetch only keeps jobs from other workers. */
  #blocked = false

  constructor(queue: string, size: number) {
    this.queue = queue
    this.size = size
  }

  get free(): number {
    return this.size - this.#used
  }

  get waiting(): number {
    return this.#waiting.length - this.#next
  }

  /** True if the recent attempts of this kind were quick. */
  isQuick(kind: string): boolean {
    return this.#prefetch.isQuick(kind)
  }

  /** The number of jobs to claim now: for the free slots, and for the prefetch once at least half of the prefetch has started. */
  want(): number {
    // No prefetch of jobs that count against a limit, because such a job should run at once; and none while slots are paused, because ready jobs may be
    // deferred too.
    const ahead = this.#blocked || this.counted || this.#resting > 0 ? 0 : this.#prefetch.ahead(this.size, mostAhead)
    const missing = this.free + ahead - this.waiting
    if (missing <= 0 || (this.waiting > 0 && missing < ahead / 2)) return 0
    const fitting = this.#largest === 0 ? missing : Math.max(this.free, Math.floor(maxBytes / this.#largest))
    return Math.min(missing, fitting)
  }

  add(attempt: Attempt, inputBytes: number): void {
    this.#waiting.push(attempt)
    // The largest size decays slowly: a large input among many small inputs lowers claims for a while, not forever.
    this.#largest = Math.max(inputBytes, this.#largest * 0.999)
  }

  /** The next attempt to start, counted as running from here on. */
  take(): Attempt | undefined {
    if (this.#used >= this.size || this.waiting === 0) return undefined
    const attempt = this.#waiting[this.#next++]!
    // With endless work the list never runs empty, so started attempts must be removed.
    if (this.#next === this.#waiting.length || this.#next > mostAhead) {
      this.#waiting = this.#waiting.slice(this.#next)
      this.#next = 0
    }
    this.#used++
    return attempt
  }

  /** Frees the slot of an attempt that never began. */
  release(): void {
    this.#used--
  }

  /** A handler has ended after `ms` milliseconds; undefined: the duration says nothing about the kind. */
  ended(kind: string, ms: number | undefined): void {
    this.release()
    this.#blocked = false
    if (ms !== undefined) this.#prefetch.ended(kind, ms)
  }

  /** A handler has ended, and the slot is paused until `rested`. */
  rest(): void {
    this.#resting++
  }

  rested(): void {
    this.#resting--
    this.release()
  }

  /** Removes attempts claimed before the instant `before`: other workers may run the jobs sooner. */
  overdue(before: number): Attempt[] {
    const late = this.takeOut(each => each.claimedAt < before)
    if (late.length > 0) this.#blocked = true
    return late
  }

  /** Removes matching attempts that wait for a slot. */
  takeOut(which: (attempt: Attempt) => boolean): Attempt[] {
    const waiting = this.#waiting.slice(this.#next)
    const out = waiting.filter(which)
    if (out.length > 0) {
      this.#waiting = waiting.filter(each => !which(each))
      this.#next = 0
    }
    return out
  }
}
