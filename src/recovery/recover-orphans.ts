/**
 * Recovers the orphans of a kind at the request of an application, for a kind whose sweeps are far apart. The watchdog recovers the same jobs
 * later; the statement is the same, so both may run at once.
 */
import type { Db } from '../database/db.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import type { Clock } from '../lib/clock.ts'
import { recoverOrphans } from './sql/recover-jobs-of-dead-worker.ts'

const chunkSize = 500

export function createOrphanRecovery(given: {
  db: Db
  clock: Clock
  wake: (queue: string) => void
}): (job: AnyJob) => Promise<string[]> {
  const { db, clock, wake } = given
  return async ({ kind }) => {
    const ids: string[] = []
    for (;;) {
      const some = await recoverOrphans(db, chunkSize, clock.instant(), kind)
      ids.push(...some.map(({ id }) => id))
      for (const queue of new Set(some.map(each => each.queue))) wake(queue)
      // A short chunk may mean that a watchdog had locked some orphans: only an empty chunk is the end.
      if (some.length === 0) return ids
    }
  }
}
