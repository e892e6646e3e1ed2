/** Jobs are written, so many in a statement, and what keeps them from it is told by its name. */
import { RetomaError, say } from '../errors.ts'
import type { Run } from '../store/db.ts'
import { type Enqueued, enqueueJobs, type NewJob } from '../store/enqueue.ts'
import { isLockTimeout } from '../store/trouble.ts'

/** Throws key_locked when a transaction that has not ended yet has a key of theirs. */
export const writeJobs = (run: Run, jobs: readonly NewJob[], now: Date | null): Promise<Enqueued[]> =>
  enqueueJobs(run, jobs, now).catch(lockedKeyOf(jobs))

/** What kept these from being written, told as what it is. */
export const lockedKeyOf =
  (jobs: readonly NewJob[]) =>
  (error: unknown): never => {
    const keyed = jobs.filter(job => job.key !== null)
    if (keyed.length === 0 || !isLockTimeout(error)) throw error
    const { kind, key } = keyed[0]!
    throw new RetomaError(
      'key_locked',
      { kind, key: keyed.length === 1 ? key! : say(`one of ${keyed.length}`, `uma de ${keyed.length}`) },
      { cause: error },
    )
  }

const mostRows = 1000
const mostBytes = 4 * 1024 * 1024

/** Whether a statement of so many rows and bytes is large enough, and `next` begins another. */
export const isFull = (rows: number, bytes: number, next: string): boolean =>
  rows >= mostRows || bytes + next.length > mostBytes
