/**
 * Reports findings: workers with a blocked loop, attempts slower than expected, ready jobs that no worker claims. A finding is
 * stored while the problem lasts, and logged at its begin and its end.
 */

import type { Db } from '../database/db.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import type { WorkerCheck } from './sql/dead-workers.ts'
import { clearFindings, clearStarvedBut, type Finding, hungWorkers, reportFindings } from './sql/findings.ts'
import { type StarvedLane, starvedAfter, starvedLanes } from './sql/unclaimed-jobs.ts'

/**
 * The check for starved jobs takes at most a twentieth of the time: a long transaction may force the check to scan many dead
 * rows.
 */
const share = 20

export class Findings {
  readonly #db: Db
  readonly #clock: Clock
  readonly #log: Log
  #starvedAt = Number.NEGATIVE_INFINITY

  constructor(db: Db, clock: Clock, log: Log) {
    this.#db = db
    this.#clock = clock
    this.#log = log
  }

  /** `seen`: whether a worker hangs, jobs wait or findings exist, and the slow attempts. */
  async tick(seen: Pick<WorkerCheck, 'hung' | 'waiting' | 'findings'> & { slow: readonly Finding[] }): Promise<void> {
    const db = this.#db
    if (seen.findings) this.#over(await clearFindings(db, this.#clock.instant()))
    const found = [...seen.slow, ...(seen.hung ? await this.#hung() : [])]
    const begun = await reportFindings(db, found, this.#clock.instant())
    for (const { verdict, subject } of begun) {
      const { facts } = found.find(each => each.verdict === verdict && each.subject === subject)!
      this.#log.warn(facts, verdict === 'hung' ? 'a worker hangs: its event loop is blocked' : 'a job is slow')
    }
    if (seen.waiting || seen.findings) await this.#starved(seen.findings)
  }

  async #hung(): Promise<Finding[]> {
    return (await hungWorkers(this.#db)).map(({ id, blockedSince: since, batch, ...facts }) => ({
      verdict: 'hung',
      subject: `worker:${id}`,
      since,
      job: facts.job,
      batch,
      facts: { worker: id, ...facts },
    }))
  }

  async #starved(findings: boolean): Promise<void> {
    const begun = this.#clock.elapsed()
    if (begun < this.#starvedAt) return
    const lanes = await starvedLanes(this.#db, this.#clock.instant())
    this.#starvedAt = begun + Math.max(starvedAfter, (this.#clock.elapsed() - begun) * share)
    // The minimum watch time delays new reports only; it does not close existing findings.
    const still = lanes.map(toFinding)
    const found = still.filter((_, i) => lanes[i]!.watchedMs >= starvedAfter)
    if (findings) {
      const subjects = still.map(each => each.subject)
      this.#over(await clearStarvedBut(this.#db, subjects, this.#clock.instant()))
    }
    for (const { subject } of await reportFindings(this.#db, found, this.#clock.instant()))
      this.#log.warn({ subject }, 'ready jobs that no live worker takes')
  }

  #over(over: readonly { verdict: string; subject: string }[]): void {
    for (const { verdict, subject } of over) this.#log.info({ subject }, `${verdict} no more`)
  }
}

function toFinding({ queue, kind, version, jobs, noWorker, readySince }: StarvedLane): Finding {
  const subject = `queue:${queue}/kind:${kind}${version === 1 ? '' : `/version:${version}`}`
  const facts = { queue, kind, version, jobs, noWorker }
  return { verdict: 'starved', subject, since: readySince, job: null, batch: null, facts }
}
