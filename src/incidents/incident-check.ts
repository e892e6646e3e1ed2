/**
 * Finds incidents: sends a notice at the begin of an incident and another at its end. Runs beside the watchdog in every process
 * with a webhook, in a loop of its own, so that a late watchdog is reported, too.
 *
 * Flapping: `queue.starved`, `jobs.stuck` and `watchdog.late` end after a minute without the problem; if the problem returns
 * sooner, it is still the same incident. A batch incident ends by the state of the batch. Floods: for an event at most ten
 * notices are sent in ten minutes, then a further notice gives the number of other incidents, which are stored without notices.
 */

import type { Db } from '../database/db.ts'
import { unwatchedAfter } from '../jobs/model/policy.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { minutes } from '../lib/values/duration.ts'
import {
  type Incident,
  type IncidentEvent,
  noticeOf,
  noticeOfEnd,
  noticeOfMany,
  notifyKind,
  notifyQueue,
  severityOf,
  type Writing,
} from './model/notice.ts'
import { type FoundIncidents, findIncidents, type OpenIncident } from './sql/find-incidents.ts'
import { closeIncidents, fadeIncidents, type IncidentNotice, openIncidents } from './sql/incident-changes.ts'

export const pollIntervalMs = 10_000
const job = { queue: notifyQueue, kind: notifyKind }

/** `jobs.stuck` begins above this number of stuck jobs. */
const stuckOver = 10
const quietFor = minutes(1)
/** Notices of an event in ten minutes. */
const mostNotices = 10
/** Workers with the webhook claim a notice at once; after this time the watching process sends the notice. */
const leftAfterMs = 4000

/** Events that may come and go on their own. */
const mayFlap: readonly IncidentEvent[] = ['queue.starved', 'jobs.stuck', 'watchdog.late']

export class IncidentCheck {
  readonly #given: { db: Db; clock: Clock; log: Log; writing: Writing }
  readonly #begunAt: number

  constructor(given: { db: Db; clock: Clock; log: Log; writing: Writing }) {
    this.#given = given
    this.#begunAt = given.clock.elapsed()
  }

  /** Answers whether notices were created, and whether there are notices that no worker claims. */
  async check(): Promise<{ made: boolean; left: boolean }> {
    const { db, clock, log } = this.#given
    const rule = { queue: notifyQueue, apartMs: pollIntervalMs * 0.9, readyMs: leftAfterMs }
    const seen = await findIncidents(db, rule, clock.instant())
    if (!seen.won) return { made: false, left: seen.ready }
    const notices = this.#noticesFor([...seen.found, ...this.#measured(seen)], seen.noticeCounts)
    const begun = notices.length === 0 ? [] : await openIncidents(db, job, notices, clock.instant())
    for (const { event, subject } of begun) log.info({ event, subject }, 'an incident began')
    const over = await this.#clear(seen)
    return { made: begun.length > 0 || over, left: seen.ready }
  }

  /** Incidents computed from live measurements (stuck jobs, late watchdog) rather than from stored rows. */
  #measured(seen: FoundIncidents): Incident[] {
    const since = this.#given.clock.now().toISOString()
    const known = (event: IncidentEvent) => seen.open.some(each => each.event === event && each.subject === event)
    const found: Incident[] = []
    if (seen.stuck > stuckOver && !known('jobs.stuck'))
      found.push({ event: 'jobs.stuck', subject: 'jobs.stuck', since, facts: { stuck: seen.stuck } })
    if (this.#isLate(seen) && !known('watchdog.late'))
      found.push({
        event: 'watchdog.late',
        subject: 'watchdog.late',
        since,
        facts: { seconds: Math.round(seen.watchdogMs! / 1000) },
      })
    return found
  }

  /** Only after this process had the time for checks of its own: the watchdog of a restarted system is always late at first. */
  #isLate({ watchdogMs }: FoundIncidents): boolean {
    const watching = this.#given.clock.elapsed() - this.#begunAt
    return watchdogMs !== null && watchdogMs > unwatchedAfter && watching > unwatchedAfter
  }

  #noticesFor(found: readonly Incident[], noticeCounts: FoundIncidents['noticeCounts']): IncidentNotice[] {
    const counts = { ...noticeCounts }
    const more = new Map<IncidentEvent, number>()
    const notices = found.map((incident): IncidentNotice => {
      const { event } = incident
      const severity = severityOf(event)
      const count = counts[event] ?? 0
      if (count >= mostNotices) {
        more.set(event, (more.get(event) ?? 0) + 1)
        return { incident, severity, notice: null }
      }
      counts[event] = count + 1
      return { incident, severity, notice: JSON.stringify(noticeOf(incident, this.#given.writing)) }
    })
    const since = this.#given.clock.now().toISOString()
    for (const [event, n] of more) {
      const incident = { event, subject: 'more', since, facts: { more: n } }
      const notice = JSON.stringify(noticeOfMany(incident, this.#given.writing))
      notices.push({ incident, severity: severityOf(event), notice })
    }
    return notices
  }

  /** Answers whether a notice of an end was created. */
  async #clear(seen: FoundIncidents): Promise<boolean> {
    const { db, clock, log, writing } = this.#given
    const at = clock.now().toISOString()
    const isOver = (each: OpenIncident) => {
      if (each.event === 'jobs.stuck') return seen.stuck <= stuckOver
      if (each.event === 'watchdog.late') return (seen.watchdogMs ?? 0) <= unwatchedAfter
      return each.over
    }
    const flapping = seen.open.filter(each => mayFlap.includes(each.event) && !each.quiet)
    const gone = flapping.filter(each => isOver(each) && each.goneMs === null)
    const back = flapping.filter(each => !isOver(each) && each.goneMs !== null)
    if (gone.length + back.length > 0) await fadeIncidents(db, ids(gone), ids(back), clock.instant())
    const over = seen.open.filter(
      each => isOver(each) && (!flapping.includes(each) || (each.goneMs !== null && each.goneMs >= quietFor)),
    )
    if (over.length === 0) return false
    const ends = over.map(each => ({
      id: each.id,
      notice: each.quiet ? null : JSON.stringify(noticeOfEnd(each, at, writing)),
    }))
    for (const { event, subject } of await closeIncidents(db, job, ends, clock.instant()))
      log.info({ event, subject }, 'an incident is over')
    return ends.some(each => each.notice !== null)
  }
}

const ids = (incidents: readonly OpenIncident[]): string[] => incidents.map(each => each.id)
