/**
 * The places of one queue in a worker: handlers that run, and attempts claimed ahead that wait for a place.
 *
 * Invariant: never more handlers at once than `size`, those places counted that rest. Claiming ahead is bounded by what the kinds' slowest runs allow
 * (pace.ts) and by the memory that inputs take.
 */
import type { Attempt } from './attempt.ts'
import { Pace } from './pace.ts'

/** A claim may bring at most about this many bytes of input, judged by the largest seen lately. */
const maxBytes = 8 * 1024 * 1024
const mostAhead = 1000

export class Slots {
  readonly queue: string
  readonly size: number
  /** There may be more: the last claim took all it asked for, or could not ask. So a freed slot is worth another claim. */
  more = false
  /** The queue has limits. */
  gated = false
  /** Its own: how quick the jobs of one queue are says nothing of another's. */
  readonly #pace = new Pace()
  #used = 0
  /** Of those in use: they rest after a job that was handed back. */
  #resting = 0
  #waiting: Attempt[] = []
  #next = 0
  #largest = 0
  /** Something claimed ahead had to be handed back: until a slot is freed, claiming ahead only keeps others from it. */
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

  /** Whether jobs of that kind have lately been over in no time. */
  isQuick(kind: string): boolean {
    return this.#pace.isQuick(kind)
  }

  /** How many to claim now: for the free slots, and ahead when at least half of what may lie ahead is gone. */
  want(): number {
    // What a limit lets through is for those who run it now; while places rest, what is ready may well go back.
    const ahead = this.#blocked || this.gated || this.#resting > 0 ? 0 : this.#pace.ahead(this.size, mostAhead)
    const missing = this.free + ahead - this.waiting
    if (missing <= 0 || (this.waiting > 0 && missing < ahead / 2)) return 0
    const fitting = this.#largest === 0 ? missing : Math.max(this.free, Math.floor(maxBytes / this.#largest))
    return Math.min(missing, fitting)
  }

  add(attempt: Attempt, inputBytes: number): void {
    this.#waiting.push(attempt)
    // Forgotten slowly: one large input among many small ones holds claims back for a while, not for ever.
    this.#largest = Math.max(inputBytes, this.#largest * 0.999)
  }

  /** The next attempt to start, now counted as running. */
  take(): Attempt | undefined {
    if (this.#used >= this.size || this.waiting === 0) return undefined
    const attempt = this.#waiting[this.#next++]!
    // With work that never ends the list never runs empty: what was taken must not stay in it.
    if (this.#next === this.#waiting.length || this.#next > mostAhead) {
      this.#waiting = this.#waiting.slice(this.#next)
      this.#next = 0
    }
    this.#used++
    return attempt
  }

  /** What was taken never began. */
  release(): void {
    this.#used--
  }

  /** A handler has ended, after so many milliseconds; undefined: that says nothing of how quick its kind is. */
  ended(kind: string, ms: number | undefined): void {
    this.release()
    this.#blocked = false
    if (ms !== undefined) this.#pace.ended(kind, ms)
  }

  /** A handler has ended, and its place is not free before `rested`. */
  rest(): void {
    this.#resting++
  }

  rested(): void {
    this.#resting--
    this.release()
  }

  /** Takes out those claimed before that instant: others may run them sooner. */
  overdue(before: number): Attempt[] {
    const late = this.takeOut(each => each.claimedAt < before)
    if (late.length > 0) this.#blocked = true
    return late
  }

  /** Takes out those that wait for a place and shall not get one. */
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
