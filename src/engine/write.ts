/** Jobs are written, and what keeps them from it is told by its name. */
import { RetomaError, say } from '../errors.ts'
import type { Run } from '../store/db.ts'
import { type Enqueued, enqueueJobs, type NewJob } from '../store/enqueue.ts'
import { isLockTimeout } from '../store/trouble.ts'

/** Throws key_locked when a transaction that has not ended yet has a key of theirs. */
export const writeJobs = (run: Run, jobs: readonly NewJob[], now: Date | null): Promise<Enqueued[]> =>
  enqueueJobs(run, jobs, now).catch(error => {
    const keyed = jobs.filter(job => job.key !== null)
    if (keyed.length === 0 || !isLockTimeout(error)) throw error
    const { kind, key } = keyed[0]!
    throw new RetomaError(
      'key_locked',
      { kind, key: keyed.length === 1 ? key! : say(`one of ${keyed.length}`, `uma de ${keyed.length}`) },
      { cause: error },
    )
  })
