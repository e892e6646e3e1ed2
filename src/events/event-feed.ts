/**
 * Reads new events for all listeners of this process: a single poll every 250 ms for any number of listeners, and no poll without
 * listeners. A poll reads the next events and the rows of the followed jobs and batches, and assigns positions to events without
 * a position.
 *
 * Invariant: every joined listener gets each event after the position it joined at, once and in order. `join` refuses a listener
 * if a gap would result; the listener then reads on its own until it can join.
 */

import type { Db } from '../database/db.ts'
import { isTransient } from '../database/pg-errors.ts'
import type { LogPosition } from '../jobs/model/job-log.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { type Loop, loop } from '../lib/loop.ts'
import type { EngineEvent } from './model/event.ts'
import { type FollowedSnapshot, snapshotOfBatch, snapshotOfJob } from './model/followed-snapshot.ts'
import { type EventPoll, type EventRow, pollEvents } from './sql/read-events.ts'
import { placeEvents } from './sql/write-events.ts'

export const pollIntervalMs = 250
const chunkSize = 2000
/**
 * Behind a long transaction a poll scans dead rows; the next poll then comes later, so that polls take at most a tenth of the
 * time.
 */
const share = 10
const rarestMs = 2000
/**
 * Listeners served at once; the next group follows a moment later, because serving a thousand listeners at once would hold up
 * everything else on a small machine.
 */
const atOnce = 50
const breathMs = 8

/** The result of a poll, for all listeners. */
export interface FeedUpdate {
  events: readonly EventRow[]
  /** All events up to this position have been delivered. */
  frontier: number
  removed: number
  given: number
  at: Date
  /** undefined: the row was not requested, or further events come before the row; null: the row is deleted. */
  snapshot(id: string): FollowedSnapshot | null | undefined
  /** Event objects made by a listener, shared with all listeners that would make the same event. */
  readonly made: Map<string, EngineEvent>
}

export interface FeedListener {
  /** The followed job or batch, besides events. */
  readonly of: { readonly job?: string; readonly batch?: string }
  /** The last log line that the listener has; undefined: the listener wants no lines. */
  readonly logPosition?: LogPosition | undefined
  take(news: FeedUpdate): void
  fail(error: unknown): void
}

interface Session {
  loop?: Loop
  /** Aborts when no listener is left. */
  ending: AbortController
}

export class EventFeed {
  readonly #db: Db
  readonly #clock: Clock
  readonly #log: Log
  /** Each listener with the identity of its join: a listener that left and came back has a new identity. */
  readonly #listeners = new Map<FeedListener, object>()
  #frontier = 0
  /** A session lasts from the first listener to the last; results of a poll of an earlier session are dropped. */
  #session: Session | undefined
  #ended: Promise<void> = Promise.resolve()

  constructor(given: { db: Db; clock: Clock; log: Log }) {
    this.#db = given.db
    this.#clock = given.clock
    this.#log = given.log
  }

  /** All events up to this position were readable at the last poll. */
  get frontier(): number {
    return this.#frontier
  }

  /** Delivers events after `seq` from now on. false: a gap would result, because the feed is already further. */
  join(listener: FeedListener, seq: number): boolean {
    if (this.#session !== undefined && this.#frontier > seq) return false
    this.#listeners.set(listener, {})
    if (this.#session === undefined) this.#begin(seq)
    else this.#session.loop?.wake()
    return true
  }

  leave(listener: FeedListener): void {
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0 || this.#session === undefined) return
    const { loop, ending } = this.#session
    ending.abort()
    this.#session = undefined
    const before = this.#ended
    this.#ended = Promise.all([before, loop?.stop()]).then(() => {})
  }

  /** Stops all delivery. */
  async stop(): Promise<void> {
    for (const listener of [...this.#listeners.keys()]) this.leave(listener)
    await this.#ended
  }

  #begin(seq: number): void {
    this.#frontier = seq
    const session: Session = { ending: new AbortController() }
    this.#session = session
    session.loop = loop({
      clock: this.#clock,
      every: pollIntervalMs,
      tick: () => this.#tick(session),
      failed: error => this.#failed(error),
    })
  }

  /** Polls until no event is left; answers the delay of the next poll. */
  async #tick(session: Session): Promise<number> {
    for (;;) {
      const begun = this.#clock.elapsed()
      const found = await this.#poll()
      const cost = this.#clock.elapsed() - begun
      if (this.#session !== session) return pollIntervalMs
      const event = await this.#publish(found.poll, found.asked, session.ending.signal)
      if (this.#session !== session) return pollIntervalMs
      const more = found.poll.events.length >= chunkSize
      if (!more && !(found.poll.unplaced && (await placeEvents(this.#db)) > 0))
        return Math.max(pollIntervalMs - event, Math.min(cost * share, rarestMs))
    }
  }

  async #poll(): Promise<{ poll: EventPoll; asked: Set<string> }> {
    const followed = Array.from(this.#listeners.keys(), each => each.of)
    const jobs = distinct(followed.map(of => of.job))
    const batches = distinct(followed.map(of => of.batch))
    const given = { after: this.#frontier, limit: chunkSize, jobs, batches, logs: this.#logPositions() }
    const poll = await pollEvents(this.#db, given, this.#clock.instant())
    return { poll, asked: new Set([...jobs, ...batches]) }
  }

  /** For each job the place of the listener that is furthest behind; the others drop the lines they have. */
  #logPositions(): Map<string, LogPosition> {
    const places = new Map<string, LogPosition>()
    for (const { of, logPosition } of this.#listeners.keys()) {
      if (of.job === undefined || logPosition === undefined) continue
      const known = places.get(of.job)
      const isBehind =
        known === undefined ||
        logPosition.attempt < known.attempt ||
        (logPosition.attempt === known.attempt && logPosition.n < known.n)
      if (isBehind) places.set(of.job, logPosition)
    }
    return places
  }

  /** Answers the duration of the delivery. */
  async #publish(poll: EventPoll, asked: ReadonlySet<string>, ending: AbortSignal): Promise<number> {
    const { events, jobs, batches, removed, given, at } = poll
    const begun = this.#clock.elapsed()
    this.#frontier = events.at(-1)?.seq ?? Math.min(this.#frontier, given)
    const snapshots = new Map(
      [...jobs.map(snapshotOfJob), ...batches.map(snapshotOfBatch)].map(each => [each.id, each]),
    )
    const isAll = events.length < chunkSize
    const snapshot = (id: string) => (isAll && asked.has(id) ? (snapshots.get(id) ?? null) : undefined)
    const news = { events, frontier: this.#frontier, removed, given, at, snapshot, made: new Map() }
    const all = [...this.#listeners]
    for (let from = 0; from < all.length; from += atOnce) {
      if (from > 0) await this.#clock.sleep(breathMs, ending)
      for (const [listener, joined] of all.slice(from, from + atOnce))
        if (this.#listeners.get(listener) === joined) listener.take(news)
    }
    return this.#clock.elapsed() - begun
  }

  /** A database outage passes; any other error goes to every listener. */
  #failed(error: unknown): void {
    this.#log.debug({ err: error }, 'cannot read events; trying again')
    if (!isTransient(error)) for (const listener of [...this.#listeners.keys()]) listener.fail(error)
  }
}

const distinct = (ids: readonly (string | undefined)[]): string[] => [...new Set(ids.filter(id => id !== undefined))]
