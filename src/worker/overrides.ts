/**
 * What batches ask for their items in place of what their kind says, handed to each job that a claim brought. It never changes,
 * so it is read once for each batch that a worker meets, and jobs without a batch cost nothing.
 *
 * Invariant: no job of a batch starts before that is known. Where it cannot be read the claim has failed, like one whose answer
 * was lost: its jobs are found unheld, and go back unbegun.
 */
import type { Policy } from '../core/policy.ts'
import type { Claimed } from '../store/claim.ts'
import type { Db } from '../store/db.ts'
import { readOverrides } from '../store/override.ts'

/** Batches that are remembered; beyond it they are read anew. */
const most = 10_000

export class Overrides {
  readonly #db: Db
  readonly #known = new Map<string, Partial<Policy> | null>()

  constructor(db: Db) {
    this.#db = db
  }

  async handTo(claimed: readonly Claimed[]): Promise<void> {
    if (this.#known.size > most) this.#known.clear()
    const unknown = new Set<string>()
    for (const { batch_id } of claimed) if (batch_id !== null && !this.#known.has(batch_id)) unknown.add(batch_id)
    if (unknown.size > 0)
      for (const [id, items] of await readOverrides(this.#db, [...unknown])) this.#known.set(id, items)
    for (const each of claimed) if (each.batch_id !== null) each.override = this.#known.get(each.batch_id) ?? null
  }
}
