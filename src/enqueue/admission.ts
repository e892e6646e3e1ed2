/**
 * Admits or refuses new jobs: by the number of jobs waiting in the queue (queue-depth.ts) and by the recent jobs of each group
 * (`limits.perGroup.admit`). The check runs before any write.
 *
 * Invariant: the engine admits no more jobs of a group than the rate window of the queue allows. An admitted job counts even if
 * no job is created: another job has the unique key, or the caller's transaction rolls back. The count is written on a connection
 * of the engine, never in the caller's transaction, which would block the whole group until the transaction ends.
 */

import type { Db } from '../database/db.ts'
import { refuseOption } from '../errors/invalid-option.ts'
import type { Clock } from '../lib/clock.ts'
import { spanText } from '../lib/values/format-duration.ts'
import type { QueueRate } from '../limits/model/queue-limits.ts'
import { allowanceOf, rateLimited } from '../limits/model/rate-window.ts'
import { takeHits } from '../limits/sql/count-hits.ts'
import type { QueueDepths } from './queue-depth.ts'

type Group = string | null

export class Admission {
  readonly #db: Db
  readonly #clock: Clock
  readonly #queueDepths: QueueDepths
  readonly #isOff: boolean

  /** `isOff`: only the queue depth is limited, groups are not. */
  constructor(given: { db: Db; clock: Clock; queueDepths: QueueDepths; isOff: boolean }) {
    this.#db = given.db
    this.#clock = given.clock
    this.#queueDepths = given.queueDepths
    this.#isOff = given.isOff
  }

  /** Throws `queue_full` or `rate_limited`; no job has been admitted then. */
  admit(queue: string, groups: readonly Group[]): Promise<void> {
    return this.#admit(queue, groups.length, countsOf(groups))
  }

  /** Admits `count` jobs of a single group. */
  admitMany(queue: string, count: number, group: Group): Promise<void> {
    return this.#admit(queue, count, new Map(group === null || count === 0 ? [] : [[group, count]]))
  }

  /** Checks the groups of jobs after `admitMany` has already admitted the number of jobs. */
  async admitGroups(queue: string, groups: readonly Group[]): Promise<void> {
    const { admit } = await this.#queueDepths.admit(queue, 0)
    await this.#take(queue, admit, countsOf(groups))
  }

  async #admit(queue: string, count: number, of: ReadonlyMap<string, number>): Promise<void> {
    const { admit } = await this.#queueDepths.admit(queue, count)
    try {
      await this.#take(queue, admit, of)
    } catch (error) {
      this.#queueDepths.withdraw(queue, count)
      throw error
    }
  }

  async #take(queue: string, admit: QueueRate | null, of: ReadonlyMap<string, number>): Promise<void> {
    if (admit === null || of.size === 0 || this.#isOff) return
    refuseLargest(admit, of)
    // A caller's bucket name never contains a slash.
    const judged = await takeHits(this.#db, { bucket: `enqueue/${queue}`, ...admit, of }, this.#clock.instant())
    const refused = judged.filter(each => !each.granted).map(each => allowanceOf(admit, each).retryAfterSeconds)
    if (refused.length > 0) throw rateLimited(admit, Math.max(...refused))
  }
}

/** Rejects a list with more jobs of a group than the limit ever allows; a retry could never succeed. */
function refuseLargest({ limit, per }: QueueRate, of: ReadonlyMap<string, number>): void {
  const most = Math.max(...of.values())
  if (most <= limit) return
  const time = spanText(per / 1000)
  refuseOption(
    'inputs',
    `they hold ${most} jobs of one group, and ${limit} in ${time} may come in: give smaller lists`,
    `têm ${most} jobs de um mesmo grupo, e podem entrar ${limit} em ${time}: envie listas menores`,
  )
}

function countsOf(groups: readonly Group[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const group of groups) if (group !== null) counts.set(group, (counts.get(group) ?? 0) + 1)
  return counts
}
