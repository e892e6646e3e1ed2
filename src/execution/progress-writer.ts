/**
 * Writes the progress of an attempt for people and for the stall clock: the name of the last checkpoint, the progress, and the handler's
 * checkpoint data.
 *
 * Invariant: at most one write per second, with the newest value of each field; values from the handler are written before the attempt
 * ends. Only `keep` is awaited, because the next attempt continues from its data. The checkpoint row already records a saved step: here the
 * name is added only during a long attempt, so that a short attempt, the common case, writes nothing.
 *
 * Writes are sequential: of two writes for the same job in a flush, PostgreSQL takes only one, and possibly the older.
 */
import type { Clock } from '../lib/clock.ts'
import type { ProgressNote } from './model/attempt-storage-calls.ts'
import type { WriteResult } from './model/write-result.ts'

const everyMs = 1000

export class ProgressWriter {
  readonly #clock: Clock
  readonly #write: (note: ProgressNote) => Promise<WriteResult>
  readonly #ended = new AbortController()
  #pending: ProgressNote | undefined
  #notedAt = Number.NEGATIVE_INFINITY
  readonly #begunAt: number
  /** True if a value from the handler is pending. */
  #owed = false
  /** The last write begun. */
  #writing: Promise<unknown> = Promise.resolve()

  constructor(clock: Clock, write: (note: ProgressNote) => Promise<WriteResult>) {
    this.#clock = clock
    this.#write = write
    this.#begunAt = clock.elapsed()
  }

  /** Writes soon, and before the attempt ends. */
  note(noted: ProgressNote): void {
    this.#owed = true
    this.#gather(noted, this.#notedAt)
  }

  /** Writes within 1 s if the attempt lasts that long. */
  mention(noted: ProgressNote): void {
    this.#gather(noted, Math.max(this.#notedAt, this.#begunAt))
  }

  #gather(noted: ProgressNote, since: number): void {
    const waits = this.#pending !== undefined
    this.#pending = { ...this.#pending, ...noted }
    if (waits || this.#ended.signal.aborted) return
    const rest = Math.max(since + everyMs - this.#clock.elapsed(), 0)
    void this.#clock.sleep(rest, this.#ended.signal).then(() => this.#flush())
  }

  /** Writes at once and is awaited. */
  keep(noted: ProgressNote): Promise<WriteResult> {
    const all = { ...this.#taken(), ...noted }
    return this.#inTurn(() => all)
  }

  async close(): Promise<void> {
    // An explicit reason avoids building an error: this runs once for every job with steps.
    this.#ended.abort('over')
    if (!this.#owed) this.#pending = undefined
    await this.#flush()
  }

  /** Includes everything gathered until the write's turn. */
  #flush(): Promise<unknown> {
    return this.#inTurn(() => this.#taken())
  }

  #taken(): ProgressNote | undefined {
    const noted = this.#pending
    this.#pending = undefined
    this.#owed = false
    return noted
  }

  #inTurn(take: () => ProgressNote | undefined): Promise<WriteResult> {
    const written = this.#writing.then(() => {
      const noted = take()
      if (noted === undefined) return 'written'
      this.#notedAt = this.#clock.elapsed()
      return this.#write(noted)
    })
    this.#writing = written
    return written
  }
}
