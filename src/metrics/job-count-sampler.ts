/**
 * Counts the live jobs about every ten seconds, by the first process that is due (metrics/sql/job-count-sample.ts), adds up the metrics of
 * workers that have ended, and counts the attempts ended by the watchdog, also in the history. Runs with every watchdog; there is no leader.
 *
 * A process that crashes between ending jobs and counting them leaves these jobs uncounted.
 */

import type { Db } from '../database/db.ts'
import { watchEvery } from '../jobs/model/policy.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { noCounts } from './model/histogram.ts'
import { systemMetrics } from './model/metric-table.ts'
import { sampleShare, takeSample } from './sql/job-count-sample.ts'
import { addMetrics, foldMetrics, type Series } from './sql/metric-counters.ts'
import { addHistory, type HistoryRow } from './sql/queue-history.ts'

/** A little less than two checks of the watchdog, which triggers the sample. */
const apartMs = watchEvery * 1.9

interface Ended {
  queue: string
  kind: string
  /** The state of the job now; undefined: `failed`. */
  state?: string
}

export class JobCountSampler {
  readonly #db: Db
  readonly #clock: Clock
  readonly #log: Log
  #notBefore = Number.NEGATIVE_INFINITY

  constructor({ db, clock, log }: { db: Db; clock: Clock; log: Log }) {
    this.#db = db
    this.#clock = clock
    this.#log = log
  }

  /** A slow count is not repeated at once. */
  async tick(): Promise<void> {
    const begun = this.#clock.elapsed()
    if (begun < this.#notBefore) return
    try {
      const { left } = await takeSample(this.#db, apartMs, this.#clock.instant())
      if (left) await foldMetrics(this.#db, this.#clock.instant())
    } catch (error) {
      this.#log.debug({ err: error }, 'cannot count live jobs; trying again')
      this.#notBefore = begun + (this.#clock.elapsed() - begun) * sampleShare
    }
  }

  /** Counts attempts ended by the watchdog, by outcome. */
  async count(ended: Readonly<Record<string, readonly Ended[]>>): Promise<void> {
    const sums = new Map<string, Series & { value: [number] }>()
    for (const [outcome, jobs] of Object.entries(ended))
      for (const { queue, kind } of jobs) {
        const name = JSON.stringify([queue, kind, outcome])
        const sum = sums.get(name) ?? {
          name: systemMetrics.attempts.name,
          labels: { queue, kind, outcome },
          value: [0],
        }
        sum.value[0]++
        sums.set(name, sum)
      }
    const write = async () => {
      await addMetrics(this.#db, [...sums.values()], this.#clock.instant())
      await addHistory(this.#db, historyRows(Object.values(ended).flat(), this.#clock.now()))
    }
    await write().catch(error =>
      this.#log.debug({ err: error }, 'cannot write the metrics of attempts that the watchdog ended'),
    )
  }
}

/** A job that waits again was retried; a job that waits for a person has not ended. The duration of these attempts is unknown. */
function historyRows(ended: readonly Ended[], now: Date): HistoryRow[] {
  const rows = new Map<string, HistoryRow>()
  for (const { queue, state = 'failed' } of ended) {
    if (state !== 'failed' && state !== 'waiting') continue
    for (const seconds of [60, 3600]) {
      const row = rows.get(`${seconds} ${queue}`) ?? emptyRow(queue, seconds, now)
      row[state === 'failed' ? 'failed' : 'retried']++
      rows.set(`${seconds} ${queue}`, row)
    }
  }
  return [...rows.values()]
}

const emptyRow = (queue: string, seconds: number, now: Date): HistoryRow => ({
  queue,
  seconds,
  at: Math.floor(now.getTime() / 1000 / seconds) * seconds,
  started: 0,
  succeeded: 0,
  skipped: 0,
  failed: 0,
  retried: 0,
  deferred: 0,
  durationMs: 0,
  waitingMs: 0,
  durations: noCounts(),
  waitings: noCounts(),
})
