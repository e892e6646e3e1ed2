/**
 * Remembers jobs deferred because no child process was free. These jobs wait in the database until the estimated instant of a free child;
 * if a child is free sooner, the first jobs are made ready, in the turns of model/deferred-jobs.ts.
 *
 * Invariant: nothing depends on this list: a forgotten job, or a job of a dead worker, becomes ready at its `run_at`. A job is moved only
 * if its last attempt is the deferred attempt.
 */

import type { ClaimedJob } from '../claiming/sql/claim.ts'
import { recallJobs } from '../claiming/sql/claim.ts'
import type { Db } from '../database/db.ts'
import type { IsolatedCalls } from '../isolation/isolated-calls.ts'
import type { CallLine } from '../jobs/model/deferral.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import type { ClaimLoop } from './claim-loop.ts'
import { DeferredJobs } from './model/deferred-jobs.ts'

export interface ChildWaitersOptions {
  db: Db
  clock: Clock
  log: Log
  isolatedCalls: IsolatedCalls
  claimLoop: ClaimLoop
}

/** The maximum of remembered ids. */
const most = 10_000

export class ChildWaiters {
  readonly #options: ChildWaitersOptions
  /** By the line in which a job waits. */
  readonly #waiting: Readonly<Record<CallLine, DeferredJobs>> = {
    foreground: new DeferredJobs(most),
    background: new DeferredJobs(most),
  }

  constructor(options: ChildWaitersOptions) {
    this.#options = options
  }

  /** The job was deferred because no child process was free. */
  add(job: ClaimedJob, line: CallLine): void {
    this.#waiting[line].add(job)
    // A child may have become free while the deferral was being written.
    this.recall(this.#options.isolatedCalls.room(line), line)
  }

  /** Makes `room` jobs ready, because child processes are free for as many. */
  recall(room: number, line: CallLine): void {
    const first = this.#waiting[line].take(room)
    if (first.length === 0) return
    const { db, clock, log, claimLoop } = this.#options
    recallJobs(db, first, clock.instant())
      .then(queues => {
        for (const queue of queues) claimLoop.released(queue, 0)
      })
      .catch(error =>
        log.debug({ err: error }, 'cannot make deferred jobs ready; the jobs become ready at their run_at'),
      )
  }
}
