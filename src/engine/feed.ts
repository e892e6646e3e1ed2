/**
 * What goes on, for all who listen in this process: one look every 250 ms, whatever their number, and none when nobody
 * listens. A look reads the next events and the rows of the jobs and batches that are followed, and gives positions to
 * events that have none.
 *
 * Invariant: every follower that has joined is handed each event after the position it joined at, once and in order. One
 * that cannot join without a gap is told so, and reads on by itself until it can.
 */
import type { EngineEvent } from '../core/event.ts'
import { type Glance, glanceAtBatch, glanceAtJob } from '../core/glance.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { type Loop, loop } from '../lib/service.ts'
import type { Db } from '../store/db.ts'
import { placeEvents } from '../store/event.ts'
import { type EventRow, type Look, lookForEvents } from '../store/read-event.ts'
import { passes } from '../store/trouble.ts'

export const lookEveryMs = 250
const bite = 2000
/** Behind somebody's long transaction a look walks over what is dead; it then comes less often. */
const share = 10
const rarestMs = 2000
/** Of a crowd so many are told at once, and the next ones a moment later: a thousand at once would hold up all else on a small machine. */
const atOnce = 50
const breathMs = 8

/** What one look brings, for all. */
export interface News {
  events: readonly EventRow[]
  /** Everything up to here has been told by then. */
  frontier: number
  removed: number
  given: number
  at: Date
  /** undefined: it was not asked for, or more events come before it; null: it is gone. */
  glance(id: string): Glance | null | undefined
  /** What one listener has made of it, for all that would make the same. */
  readonly made: Map<string, EngineEvent>
}

export interface Listener {
  /** What it follows besides events. */
  readonly of: { readonly job?: string; readonly batch?: string }
  take(news: News): void
  fail(error: unknown): void
}

interface Session {
  loop?: Loop
  /** Nobody listens any more. */
  ending: AbortController
}

export class Feed {
  readonly #db: Db
  readonly #clock: Clock
  readonly #log: Log
  /** With when each joined: one that left and came back is another. */
  readonly #listeners = new Map<Listener, object>()
  #frontier = 0
  /** One for each time that somebody listens again: an answer that was asked for by an earlier one is not heard. */
  #session: Session | undefined
  #ended: Promise<void> = Promise.resolve()

  constructor(given: { db: Db; clock: Clock; log: Log }) {
    this.#db = given.db
    this.#clock = given.clock
    this.#log = given.log
  }

  /** Everything up to here was there to be read when it last looked. */
  get frontier(): number {
    return this.#frontier
  }

  /** From now on it is handed what comes after `pos`. false: that would leave a gap, others are further already. */
  join(listener: Listener, pos: number): boolean {
    if (this.#session !== undefined && this.#frontier > pos) return false
    this.#listeners.set(listener, {})
    if (this.#session === undefined) this.#begin(pos)
    else this.#session.loop?.wake()
    return true
  }

  leave(listener: Listener): void {
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0 || this.#session === undefined) return
    const { loop, ending } = this.#session
    ending.abort()
    this.#session = undefined
    const before = this.#ended
    this.#ended = Promise.all([before, loop?.stop()]).then(() => {})
  }

  /** Nobody is handed anything more. */
  async stop(): Promise<void> {
    for (const listener of [...this.#listeners.keys()]) this.leave(listener)
    await this.#ended
  }

  #begin(pos: number): void {
    this.#frontier = pos
    const session: Session = { ending: new AbortController() }
    this.#session = session
    session.loop = loop({
      clock: this.#clock,
      every: lookEveryMs,
      tick: () => this.#tick(session),
      failed: error => this.#failed(error),
    })
  }

  /** Until nothing more is there; answers when to look again. */
  async #tick(session: Session): Promise<number> {
    for (;;) {
      const begun = this.#clock.elapsed()
      const found = await this.#look()
      const cost = this.#clock.elapsed() - begun
      if (this.#session !== session) return lookEveryMs
      const told = await this.#tell(found.look, found.asked, session.ending.signal)
      if (this.#session !== session) return lookEveryMs
      const more = found.look.events.length >= bite
      if (!more && !(found.look.unplaced && (await placeEvents(this.#db)) > 0))
        return Math.max(lookEveryMs - told, Math.min(cost * share, rarestMs))
    }
  }

  async #look(): Promise<{ look: Look; asked: Set<string> }> {
    const followed = Array.from(this.#listeners.keys(), each => each.of)
    const jobs = distinct(followed.map(of => of.job))
    const batches = distinct(followed.map(of => of.batch))
    const given = { after: this.#frontier, limit: bite, jobs, batches }
    const look = await lookForEvents(this.#db, given, this.#clock.instant())
    return { look, asked: new Set([...jobs, ...batches]) }
  }

  /** Answers how long that took. */
  async #tell(look: Look, asked: ReadonlySet<string>, ending: AbortSignal): Promise<number> {
    const { events, jobs, batches, removed, given, at } = look
    const begun = this.#clock.elapsed()
    this.#frontier = events.at(-1)?.pos ?? Math.min(this.#frontier, given)
    const glances = new Map([...jobs.map(glanceAtJob), ...batches.map(glanceAtBatch)].map(each => [each.id, each]))
    const isAll = events.length < bite
    const glance = (id: string) => (isAll && asked.has(id) ? (glances.get(id) ?? null) : undefined)
    const news = { events, frontier: this.#frontier, removed, given, at, glance, made: new Map() }
    const all = [...this.#listeners]
    for (let from = 0; from < all.length; from += atOnce) {
      if (from > 0) await this.#clock.sleep(breathMs, ending)
      for (const [listener, joined] of all.slice(from, from + atOnce))
        if (this.#listeners.get(listener) === joined) listener.take(news)
    }
    return this.#clock.elapsed() - begun
  }

  /** A database that is away comes back; what else it says, it says to everybody. */
  #failed(error: unknown): void {
    this.#log.debug({ err: error }, 'events could not be read; trying again')
    if (!passes(error)) for (const listener of [...this.#listeners.keys()]) listener.fail(error)
  }
}

const distinct = (ids: readonly (string | undefined)[]): string[] => [...new Set(ids.filter(id => id !== undefined))]
