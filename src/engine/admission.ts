/**
 * Whether jobs may come in: how many wait in their queue (depth.ts), and how many of their group have come lately
 * (`limits.perGroup.admit`). Asked before anything is written.
 *
 * Invariant: of a group no more are let in than the window of its queue allows. What is let in counts, whatever becomes of it:
 * a key that another job holds, a transaction of the caller's that is rolled back. It is counted on a connection of our own,
 * never in that transaction, which would hold up its whole group until it ends.
 */
import type { Rate } from '../core/limits.ts'
import { refuseOption } from '../core/refuse.ts'
import { span } from '../core/span.ts'
import { allowanceOf, rateLimited } from '../core/window.ts'
import type { Clock } from '../lib/clock.ts'
import type { Db } from '../store/db.ts'
import { takeHits } from '../store/rate-window.ts'
import type { Depths } from './depth.ts'

type Group = string | null

export class Admission {
  readonly #db: Db
  readonly #clock: Clock
  readonly #depths: Depths
  readonly #isOff: boolean

  /** `isOff`: groups are not limited, only depth. */
  constructor(given: { db: Db; clock: Clock; depths: Depths; isOff: boolean }) {
    this.#db = given.db
    this.#clock = given.clock
    this.#depths = given.depths
    this.#isOff = given.isOff
  }

  /** Throws queue_full or rate_limited; nothing has come in then. */
  admit(queue: string, groups: readonly Group[]): Promise<void> {
    return this.#admit(queue, groups.length, countsOf(groups))
  }

  /** So many of one group. */
  admitMany(queue: string, count: number, group: Group): Promise<void> {
    return this.#admit(queue, count, new Map(group === null || count === 0 ? [] : [[group, count]]))
  }

  /** Those whose number was admitted before their groups were known. */
  async admitGroups(queue: string, groups: readonly Group[]): Promise<void> {
    const { admit } = await this.#depths.admit(queue, 0)
    await this.#take(queue, admit, countsOf(groups))
  }

  async #admit(queue: string, count: number, of: ReadonlyMap<string, number>): Promise<void> {
    const { admit } = await this.#depths.admit(queue, count)
    try {
      await this.#take(queue, admit, of)
    } catch (error) {
      this.#depths.withdraw(queue, count)
      throw error
    }
  }

  async #take(queue: string, admit: Rate | null, of: ReadonlyMap<string, number>): Promise<void> {
    if (admit === null || of.size === 0 || this.#isOff) return
    refuseLargest(admit, of)
    // No bucket of a caller's has a slash in its name.
    const judged = await takeHits(this.#db, { bucket: `enqueue/${queue}`, ...admit, of }, this.#clock.instant())
    const refused = judged.filter(each => !each.granted).map(each => allowanceOf(admit, each).retryAfterSeconds)
    if (refused.length > 0) throw rateLimited(admit, Math.max(...refused))
  }
}

/** What is more at once than ever may come in would be told to try again for ever. */
function refuseLargest({ limit, per }: Rate, of: ReadonlyMap<string, number>): void {
  const most = Math.max(...of.values())
  if (most <= limit) return
  const time = span(per / 1000)
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
