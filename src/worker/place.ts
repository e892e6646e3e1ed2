/**
 * How far an attempt is, for people and for the stall clock: the name of its last checkpoint, its progress, its own data.
 *
 * Invariant: at most one note a second, the newest of each; what a handler said is written before its attempt ends. Only
 * `keep` is waited for: it is the place its code goes on from. That a step was saved is told by its checkpoint: here it is
 * mentioned while a long attempt goes on, and a short one, which most are, writes nothing for it.
 *
 * One after the other: of two notes of one job in a flush PostgreSQL takes one, and it need not be the newer.
 */
import type { Clock } from '../lib/clock.ts'
import type { Landed } from './group-commit.ts'

export interface Noted {
  checkpoint?: string
  resume?: string
  progress?: string
}

const everyMs = 1000

export class Place {
  readonly #clock: Clock
  readonly #write: (note: Noted) => Promise<Landed>
  readonly #ended = new AbortController()
  #pending: Noted | undefined
  #notedAt = Number.NEGATIVE_INFINITY
  readonly #begunAt: number
  /** Something is pending that a handler said. */
  #owed = false
  /** The last that was begun. */
  #writing: Promise<unknown> = Promise.resolve()

  constructor(clock: Clock, write: (note: Noted) => Promise<Landed>) {
    this.#clock = clock
    this.#write = write
    this.#begunAt = clock.elapsed()
  }

  /** Soon, and before the attempt ends. */
  note(noted: Noted): void {
    this.#owed = true
    this.#gather(noted, this.#notedAt)
  }

  /** Within a second, if the attempt lasts that long. */
  mention(noted: Noted): void {
    this.#gather(noted, Math.max(this.#notedAt, this.#begunAt))
  }

  #gather(noted: Noted, since: number): void {
    const waits = this.#pending !== undefined
    this.#pending = { ...this.#pending, ...noted }
    if (waits || this.#ended.signal.aborted) return
    const rest = Math.max(since + everyMs - this.#clock.elapsed(), 0)
    void this.#clock.sleep(rest, this.#ended.signal).then(() => this.#flush())
  }

  /** At once, and waited for. */
  keep(noted: Noted): Promise<Landed> {
    const all = { ...this.#taken(), ...noted }
    return this.#inTurn(() => all)
  }

  async close(): Promise<void> {
    // With a reason, so that none is made: this is once for every job with steps.
    this.#ended.abort('over')
    if (!this.#owed) this.#pending = undefined
    await this.#flush()
  }

  /** What is gathered until its turn comes goes with it. */
  #flush(): Promise<unknown> {
    return this.#inTurn(() => this.#taken())
  }

  #taken(): Noted | undefined {
    const noted = this.#pending
    this.#pending = undefined
    this.#owed = false
    return noted
  }

  #inTurn(take: () => Noted | undefined): Promise<Landed> {
    const written = this.#writing.then(() => {
      const noted = take()
      if (noted === undefined) return 'landed'
      this.#notedAt = this.#clock.elapsed()
      return this.#write(noted)
    })
    this.#writing = written
    return written
  }
}
