/**
 * Adds the policy override of the batch to each claimed job. The override of a batch never changes, so each worker reads the override once
 * per batch, and jobs without a batch cost nothing.
 *
 * Invariant: no job of a batch starts before its override is known. If the read fails, the claim fails like a claim with a lost answer:
 * `reconcile` finds the jobs unknown and releases the jobs unstarted.
 */

import type { Db } from '../database/db.ts'
import type { JobPolicy } from '../jobs/model/policy.ts'
import { readOverrides } from '../jobs/sql/policy-override.ts'
import type { ClaimedJob } from './sql/claim.ts'

/** The maximum of cached batches; beyond this number the cache starts empty again. */
const most = 10_000

export class BatchOverrideCache {
  readonly #db: Db
  readonly #known = new Map<string, Partial<JobPolicy> | null>()

  constructor(db: Db) {
    this.#db = db
  }

  async applyTo(claimed: readonly ClaimedJob[]): Promise<void> {
    if (this.#known.size > most) this.#known.clear()
    const unknown = new Set<string>()
    for (const { batch_id } of claimed) if (batch_id !== null && !this.#known.has(batch_id)) unknown.add(batch_id)
    if (unknown.size > 0)
      for (const [id, items] of await readOverrides(this.#db, [...unknown])) this.#known.set(id, items)
    for (const each of claimed) if (each.batch_id !== null) each.override = this.#known.get(each.batch_id) ?? null
  }
}
