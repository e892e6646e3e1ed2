/**
 * Joins concurrent enqueues into a single insert: enqueues gather while an insert is under way. Many callers cost few statements
 * and commits, and a lone caller does not wait.
 *
 * Invariant: a resolved promise means that the job is committed. If PostgreSQL rejects the combined insert, jobs are inserted one
 * by one, so that only the bad job fails. Only for jobs without a unique key: a key locked by an open transaction would make the
 * other jobs wait. If the database does not answer an insert within the deadline, the jobs that wait for their insert fail with it, and
 * nothing of them was written: a caller waits no longer than one deadline.
 */

import type { Db } from '../database/db.ts'
import { sqlState } from '../database/pg-errors.ts'
import { databaseTimeout } from '../errors/database-unreachable.ts'
import { isRetomaError } from '../errors/errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Enqueued, NewJob } from './enqueue.sql.ts'
import { insertJobs } from './insert-jobs.ts'

export type InsertBatcher = (job: NewJob) => Promise<Enqueued>

interface Waiting {
  job: NewJob
  resolve(made: Enqueued): void
  reject(error: unknown): void
}

const mostRows = 500
const mostBytes = 4 * 1024 * 1024
/** The next statement is planned and read while the previous statement commits. */
const mostAtOnce = 2

export function createInsertBatcher({ db, clock }: { db: Db; clock: Clock }): InsertBatcher {
  const waiting: Waiting[] = []
  let onTheirWay = 0

  const write = (some: readonly Waiting[]) =>
    insertJobs(db.run, some.map(each => each.job), clock.instant()) // biome-ignore format: one call

  async function send(some: readonly Waiting[]): Promise<void> {
    try {
      const made = await write(some)
      some.forEach((each, i) => {
        each.resolve(made[i]!)
      })
    } catch (error) {
      // An error from PostgreSQL means that nothing was written; any other error leaves the outcome unknown.
      if (some.length === 1 || sqlState(error) === undefined) for (const each of some) each.reject(error)
      else for (const each of some) await send([each])
      if (isRetomaError(error, 'database_timeout')) {
        const unsent = databaseTimeout(Number(error.facts.seconds) * 1000, false)
        for (const each of waiting.splice(0)) each.reject(unsent)
      }
    }
  }

  function next(): void {
    while (onTheirWay < mostAtOnce && waiting.length > 0) {
      onTheirWay++
      void send(waiting.splice(0, fitting(waiting))).then(() => {
        onTheirWay--
        next()
      })
    }
  }

  return job =>
    new Promise((resolve, reject) => {
      waiting.push({ job, resolve, reject })
      next()
    })
}

/** Number of jobs from the start of the list for the next statement. */
function fitting(waiting: readonly Waiting[]): number {
  let bytes = 0
  const end = waiting.findIndex(({ job }, i) => {
    bytes += job.input.length
    return i > 0 && (i >= mostRows || bytes > mostBytes)
  })
  return end < 0 ? waiting.length : end
}
