/**
 * Remembers jobs deferred because no child process was free. These jobs wait in the database until the estimated instant of a free child;
 * if a child is free sooner, the first jobs are made ready.
 *
 * Invariant: nothing depends on this list: a forgotten job, or a job of a dead worker, becomes ready at its `run_at`. A job is moved only
 * if its last attempt is the deferred attempt.
 */

import type { ClaimedJob } from '../claiming/sql/claim.ts'
import { recallJobs } from '../claiming/sql/claim.ts'
import type { Db } from '../database/db.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'

export interface ChildWaitersOptions {
  db: Db
  clock: Clock
  log: Log
  /** A job of this queue is ready. */
  recalled: (queue: string) => void
}

/** The maximum of remembered ids. */
const most = 10_000

export class ChildWaiters {
  readonly #options: ChildWaitersOptions
  readonly #waiting = new Map<string, number>()

  constructor(options: ChildWaitersOptions) {
    this.#options = options
  }

  add({ id, attempt }: ClaimedJob): void {
    this.#waiting.delete(id)
    if (this.#waiting.size < most) this.#waiting.set(id, attempt)
  }

  /** Makes `room` jobs ready, because child processes are free for as many; the longest waiting jobs first. */
  recall(room: number): void {
    const first = [...this.#waiting].slice(0, room).map(([id, attempt]) => ({ id, attempt }))
    if (first.length === 0) return
    for (const { id } of first) this.#waiting.delete(id)
    const { db, clock, log, recalled } = this.#options
    recallJobs(db, first, clock.instant())
      .then(queues => queues.forEach(recalled))
      .catch(error => log.debug({ err: error }, 'jobs that wait for a child process come back by themselves'))
  }
}
