/**
 * One tick for batches: what was pressed and still has to follow goes on, those that are over end, and how far the others
 * are is noted. Each statement is idempotent and bounded, so any number of processes may tick; a process that died between
 * a flush and the question whether that was the last is thereby put right. One whose rows cannot follow holds up no other.
 */
import type { Clock } from '../lib/clock.ts'
import { takeBite } from '../store/batch-bite.ts'
import { openBatches, sampleBatches } from '../store/batch-finish.ts'
import type { Db } from '../store/db.ts'
import { isLockTimeout, sqlState } from '../store/trouble.ts'
import { type StalledBatch, stallBatches } from './batch-stall.ts'

const bite = 500
/** Rows that follow may take so long of a tick; the next one goes on. */
const followMs = 3000

export interface BatchTickOptions {
  db: Db
  clock: Clock
  /** Whether they are over, or must stop. */
  ask: (batches: readonly string[]) => Promise<unknown>
}

/** Answers those that made no progress, and what became of them. */
export async function batchTick({ db, clock, ask }: BatchTickOptions): Promise<StalledBatch[]> {
  const stalled: StalledBatch[] = []
  const until = clock.elapsed() + followMs
  const troubles: unknown[] = []
  for (let after = '0'; ; ) {
    const some = await openBatches(db, after, bite)
    if (some.length === 0) break
    after = some.at(-1)!.id
    for (const { id, todo } of some) {
      if (todo === null) continue
      await follow(db, clock, id, until).catch(error => {
        // Without an answer from the database there is none for the others either.
        if (sqlState(error) === undefined && !isLockTimeout(error)) throw error
        troubles.push(error)
      })
    }
    const ids = some.map(each => each.id)
    await ask(ids)
    await sampleBatches(db, ids, clock.instant())
    stalled.push(...(await stallBatches(db, ids, () => clock.instant())))
    if (some.length < bite) break
  }
  if (troubles.length > 0) throw troubles[0]
  return stalled
}

/** Bites until nothing more has to follow, or the time is up; answers whether it is done. */
export async function follow(db: Db, clock: Clock, id: string, until: number): Promise<boolean> {
  for (;;) {
    const taken = await takeBite(db, id, clock.instant())
    if (taken === undefined || taken.done) return true
    if (clock.elapsed() >= until) return false
  }
}
