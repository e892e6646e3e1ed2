/**
 * Reads events for a single consumer. A consumer that keeps up gets events from the feed. If the queue grows too long, the reader
 * leaves the feed, drops the queue and reads the table again from the last delivered event, at the pace of the consumer, until it
 * can join the feed again.
 *
 * Invariant: `#given` is the position of the last event delivered to the consumer. Every later event is in the queue or will be read
 * again: no event is delivered twice and none is left out.
 */

import type { Db } from '../database/db.ts'
import { isTransient } from '../database/pg-errors.ts'
import { localized, RetomaError } from '../errors/errors.ts'
import { type LogPosition, linesAfter, logPositionText, readLogPosition } from '../jobs/model/job-log.ts'
import { unlessAborted } from '../lib/abortable.ts'
import type { Clock } from '../lib/clock.ts'
import { deriveEvents, type UnpositionedEvent } from './derive-events.ts'
import { type EventFeed, type FeedListener, type FeedUpdate, pollIntervalMs } from './event-feed.ts'
import type { EngineEvent, Subject } from './model/event.ts'
import { cursorOf, type EventPosition } from './model/event-cursor.ts'
import { type FollowedSnapshot, stateOf } from './model/followed-snapshot.ts'
import { boundsOfEvents, type EventRow, readEvents } from './sql/read-events.ts'
import { placeAllEvents } from './sql/write-events.ts'

/** A consumer with more queued events than this when more arrive is slow. */
const mostQueued = 1000
const pageSize = 500

export class EventReader implements FeedListener {
  readonly of: Subject
  readonly #db: Db
  readonly #clock: Clock
  readonly #eventFeed: EventFeed
  readonly #signal: AbortSignal
  readonly #logs: boolean
  #queue: { event: EngineEvent; position: EventPosition }[] = []
  #given: EventPosition = { seq: 0, phase: null, stamp: null }
  /** The position after all queued events. */
  #ahead: EventPosition = this.#given
  #joined = false
  #over = false
  #fault: { error: unknown } | undefined
  #progressedAt = Number.NEGATIVE_INFINITY
  #idle: { seconds: number; at: number } | undefined
  #news: FeedUpdate | undefined
  #wake = () => {}
  #hasRead = () => {}
  /** Resolves with the first poll result, when the start of the stream is known. */
  readonly firstRead = new Promise<void>(resolve => (this.#hasRead = resolve))

  constructor(given: {
    db: Db
    clock: Clock
    eventFeed: EventFeed
    of: Subject
    /** Also reads the log lines of the job. */
    logs: boolean
    signal: AbortSignal
  }) {
    this.of = given.of
    this.#db = given.db
    this.#clock = given.clock
    this.#eventFeed = given.eventFeed
    this.#signal = given.signal
    this.#logs = given.logs
  }

  get logPosition(): LogPosition | undefined {
    if (!this.#logs) return undefined
    return (this.#ahead.line ? readLogPosition(this.#ahead.line) : undefined) ?? { attempt: 0, n: 0 }
  }

  /** No further event comes; the queue is complete. */
  get over(): boolean {
    return this.#over
  }

  /** Seconds without progress of the followed job or batch; null: the stream follows everything, or no row was read yet. */
  idleSeconds(): number | null {
    return this.#idle === undefined ? null : this.#idle.seconds + (this.#clock.elapsed() - this.#idle.at) / 1000
  }

  async *read(after: EventPosition | undefined): AsyncGenerator<EngineEvent, undefined> {
    const woken = () => this.#wake()
    this.#signal.addEventListener('abort', woken)
    try {
      await this.#begin(after)
      while (!this.#signal.aborted) {
        const next = this.#queue.shift()
        if (next !== undefined) {
          this.#given = next.position
          yield next.event
        } else if (this.#fault !== undefined) throw this.#fault.error
        else if (this.#over) return
        else if (this.#joined) await new Promise<void>(resolve => (this.#wake = resolve))
        else await this.#catchUp()
      }
    } finally {
      this.#signal.removeEventListener('abort', woken)
      this.#eventFeed.leave(this)
    }
  }

  async #begin(after: EventPosition | undefined): Promise<void> {
    // A stream without a start position begins now: earlier events without a position must not get a position after the start.
    if (after === undefined) await this.#ask(() => placeAllEvents(this.#db))
    const bounds = await this.#ask(() => boundsOfEvents(this.#db, this.of))
    if (bounds === undefined) return
    if (!bounds.there) throw notFound(this.of)
    this.#startAt(after ?? { seq: bounds.last, phase: null, stamp: null })
    if (after === undefined) this.#joined = this.#eventFeed.join(this, bounds.last)
  }

  #startAt(position: EventPosition): void {
    this.#queue = []
    this.#given = this.#ahead = position
  }

  /** Events were missed: continues from `seq`. */
  #reset(seq: number, at: Date): void {
    this.#startAt({ seq, phase: null, stamp: null })
    this.#push({ type: 'reset', at, jobId: this.of.job ?? null, batchId: this.of.batch ?? null, data: {} }, {})
  }

  async #catchUp(): Promise<void> {
    // Read before the query, so that the query sees all events the feed has seen.
    const { frontier } = this.#eventFeed
    // An event whose first half was delivered is read again for the second half.
    const from = this.#given.half ? this.#given.seq - 1 : this.#given.seq
    const page = await this.#ask(() => readEvents(this.#db, this.of, from, pageSize))
    if (page === undefined) return
    if (page.removed > from) return this.#reset(page.last, this.#clock.now())
    for (const row of page.events) this.#pushRow(row)
    if (page.events.length === pageSize) return
    this.#moveTo(Math.max(page.last, frontier))
    this.#joined = this.#eventFeed.join(this, this.#ahead.seq)
  }

  take(news: FeedUpdate): void {
    if (!this.#joined || this.#over) return
    this.#hasRead()
    // The queue left over from earlier polls counts; a single poll may bring more to a consumer that keeps up.
    if (this.#queue.length > mostQueued) {
      this.#fallBehind()
      return
    }
    if (news.removed > this.#ahead.seq || news.given < this.#ahead.seq) this.#reset(news.frontier, news.at)
    this.#news = news
    for (const row of news.events) if (row.seq > this.#ahead.seq && this.#isOf(row)) this.#pushRow(row)
    this.#applyUpdate(news)
    this.#news = undefined
    this.#wake()
  }

  #applyUpdate(news: FeedUpdate): void {
    this.#moveTo(news.frontier)
    const id = this.of.job ?? this.of.batch
    const snapshot = id === undefined ? undefined : news.snapshot(id)
    if (snapshot) {
      this.#idle = { seconds: snapshot.idleSeconds, at: this.#clock.elapsed() }
      this.#derive(snapshot, news.at)
    }
    if (snapshot === null || (snapshot?.over && !snapshot.pending)) {
      this.#over = true
      this.#eventFeed.leave(this)
    }
  }

  fail(error: unknown): void {
    this.#fault = { error }
    this.#wake()
  }

  /**
   * Emits state and progress derived from the current row. All stored events up to this point are already queued, so the order is
   * right.
   */
  #derive(snapshot: FollowedSnapshot, at: Date): void {
    const ids = { at, jobId: this.of.job ?? null, batchId: snapshot.batchId }
    const ends = snapshot.over && !snapshot.pending
    const tellState = () => {
      if (snapshot.phase === this.#ahead.phase || snapshot.pending) return
      const data = { from: stateOf(this.#ahead.phase), ...snapshot.state }
      this.#push({ type: 'state', ...ids, data }, { phase: snapshot.phase })
    }
    const tellProgress = () => {
      if (snapshot.stamp === null || snapshot.stamp === this.#ahead.stamp) return
      const now = this.#clock.elapsed()
      if (!ends && now - this.#progressedAt < pollIntervalMs) return
      this.#progressedAt = now
      this.#push({ type: 'progress', ...ids, data: snapshot.progress }, { stamp: snapshot.stamp })
    }
    // Lines are stored before the outcome, so the lines of a final job are all here.
    const tellLines = () => {
      if (!this.#logs || !snapshot.logs) return
      const lines = linesAfter(snapshot.logs, this.logPosition)
      const last = lines.at(-1)
      if (last === undefined) return
      this.#push({ type: 'log', ...ids, data: { lines } }, { line: logPositionText(last) })
    }
    if (!ends) tellState()
    tellLines()
    tellProgress()
    if (ends) tellState()
  }

  #isOf({ jobId, batchId }: EventRow): boolean {
    const { job, batch } = this.of
    return job !== undefined ? jobId === job : batch === undefined || batchId === batch
  }

  #pushRow(row: EventRow): void {
    for (const { event, change } of deriveEvents(row, this.of, this.#ahead)) this.#push(event, change)
  }

  #push(unpositioned: UnpositionedEvent, change: Partial<EventPosition>): void {
    const before = cursorOf(this.#ahead)
    this.#ahead = { ...this.#ahead, ...(change.seq === undefined ? {} : { half: false }), ...change }
    const event = this.#shared(unpositioned, before, cursorOf(this.#ahead))
    // A later progress replaces the previous queued progress.
    if (event.type === 'progress' && this.#queue.at(-1)?.event.type === 'progress') this.#queue.pop()
    this.#queue.push({ event, position: this.#ahead })
  }

  /** Readers of the same subject at the same position share an event object, so that it is serialised once. */
  #shared(event: UnpositionedEvent, before: string, position: string): EngineEvent {
    const key = `${event.type} ${this.of.job ?? ''} ${this.of.batch ?? ''} ${before} ${position}`
    const made = this.#news?.made.get(key) ?? ({ position, ...event } as EngineEvent)
    this.#news?.made.set(key, made)
    return made
  }

  /** No event of this stream lies before `seq`: a reader that continues from here need not read the range again. */
  #moveTo(seq: number): void {
    if (seq <= this.#ahead.seq) return
    this.#ahead = { ...this.#ahead, seq, half: false }
    if (this.#queue.length === 0) this.#given = this.#ahead
  }

  /** The queue is too long: drops the queue; events are read again from the last delivered event. */
  #fallBehind(): void {
    this.#joined = false
    this.#eventFeed.leave(this)
    this.#startAt(this.#given)
  }

  /** Repeats `work` until the database answers; undefined: the consumer has left. */
  async #ask<T>(work: () => Promise<T>): Promise<T | undefined> {
    while (!this.#signal.aborted) {
      try {
        return await unlessAborted(work(), this.#signal)
      } catch (error) {
        if (!isTransient(error)) throw error
        await this.#clock.sleep(pollIntervalMs, this.#signal)
      }
    }
    return undefined
  }
}

function notFound({ job, batch }: Subject): RetomaError {
  return batch === undefined
    ? new RetomaError('not_found', { what: 'job', id: String(job) })
    : new RetomaError('not_found', { what: localized('batch', 'lote'), id: batch })
}
