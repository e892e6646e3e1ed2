/** Inserts jobs in chunks and turns a lock timeout on a unique key into `key_locked`. */

import type { Run } from '../database/db.ts'
import { isLockTimeout } from '../database/pg-errors.ts'
import { localized, RetomaError } from '../errors/errors.ts'
import { type Enqueued, enqueueJobs, type NewJob } from './enqueue.sql.ts'

/** Throws `key_locked` if an open transaction has a unique key of these jobs. */
export const insertJobs = (run: Run, jobs: readonly NewJob[], now: Date | null): Promise<Enqueued[]> =>
  enqueueJobs(run, jobs, now).catch(lockedKeyOf(jobs))

/** Translates a lock timeout of an insert of `jobs` to `key_locked`. */
export const lockedKeyOf =
  (jobs: readonly NewJob[]) =>
  (error: unknown): never => {
    const keyed = jobs.filter(job => job.key !== null)
    if (keyed.length === 0 || !isLockTimeout(error)) throw error
    const { kind, key } = keyed[0]!
    throw new RetomaError(
      'key_locked',
      { kind, key: keyed.length === 1 ? key! : localized(`one of ${keyed.length}`, `uma de ${keyed.length}`) },
      { cause: error },
    )
  }

const mostRows = 1000
const mostBytes = 4 * 1024 * 1024

/** True if a statement with `rows` and `bytes` is full, so that `next` belongs to another statement. */
export const isFull = (rows: number, bytes: number, next: string): boolean =>
  rows >= mostRows || bytes + next.length > mostBytes
