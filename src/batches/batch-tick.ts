/**
 * Runs a tick for batches: continues cascades, completes finished batches, samples the throughput of the others and checks their
 * stall clocks. Each statement is idempotent and bounded, so any number of processes may tick; a tick also completes a batch if a
 * process crashed between a flush and the completion check. A failing cascade does not hold up other batches.
 */

import type { Db } from '../database/db.ts'
import { isLockTimeout, sqlState } from '../database/pg-errors.ts'
import type { Clock } from '../lib/clock.ts'
import { type StalledBatch, stallBatches } from './batch-stall.ts'
import { runCascadeChunk } from './sql/batch-cascade.ts'
import { openBatches, sampleBatches } from './sql/batch-finish.ts'

const chunkSize = 500
/** Time for cascades in a tick; the next tick continues. */
const followMs = 3000

export interface CascadeOptions {
  db: Db
  clock: Clock
  /** Tells all workers of the queue: running jobs were cancelled, or failed with their batch. */
  leasesEnded: (queue: string) => void
}

export interface BatchTickOptions extends CascadeOptions {
  /** Checks whether the batches are complete or must stop. */
  checkCompletion: (batches: readonly string[]) => Promise<unknown>
}

/** Answers the batches without progress and their new states. */
export async function batchTick(options: BatchTickOptions): Promise<StalledBatch[]> {
  const { db, clock, checkCompletion: ask } = options
  const stalled: StalledBatch[] = []
  const until = clock.elapsed() + followMs
  const troubles: unknown[] = []
  for (let after = '0'; ; ) {
    const some = await openBatches(db, after, chunkSize)
    if (some.length === 0) break
    after = some.at(-1)!.id
    for (const { id, cascade } of some) {
      if (cascade === null) continue
      await continueCascade(options, id, until).catch(error => {
        // Without an answer from the database the other batches cannot be processed either.
        if (sqlState(error) === undefined && !isLockTimeout(error)) throw error
        troubles.push(error)
      })
    }
    const ids = some.map(each => each.id)
    await ask(ids)
    await sampleBatches(db, ids, clock.instant())
    stalled.push(...(await stallBatches(db, ids, () => clock.instant())))
    if (some.length < chunkSize) break
  }
  if (troubles.length > 0) throw troubles[0]
  return stalled
}

/** Runs chunks until the cascade is complete, or until the time `until`; answers whether the cascade is complete. */
export async function continueCascade(
  { db, clock, leasesEnded }: CascadeOptions,
  id: string,
  until: number,
): Promise<boolean> {
  for (;;) {
    const taken = await runCascadeChunk(db, id, clock.instant())
    for (const queue of taken?.ran ?? []) leasesEnded(queue)
    if (taken === undefined || taken.done) return true
    if (clock.elapsed() >= until) return false
  }
}
