/**
 * Jobs that this worker handed back because none of its child processes was free. They wait in the database like any other job,
 * for as long as the line was estimated; when a child is free sooner, the first of them are made ready.
 *
 * Invariant: nothing depends on this list: a job that is forgotten here, or whose worker dies, comes back at its `run_at`. Only a
 * job whose last attempt is the one that was handed back is moved.
 */
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Claimed } from '../store/claim.ts'
import { recallJobs } from '../store/claim.ts'
import type { Db } from '../store/db.ts'

export interface ChildWaitersOptions {
  db: Db
  clock: Clock
  log: Log
  /** Something of that queue is ready. */
  recalled: (queue: string) => void
}

/** Ids of more are not kept. */
const most = 10_000

export class ChildWaiters {
  readonly #options: ChildWaitersOptions
  readonly #waiting = new Map<string, number>()

  constructor(options: ChildWaitersOptions) {
    this.#options = options
  }

  add({ id, attempt }: Claimed): void {
    this.#waiting.delete(id)
    if (this.#waiting.size < most) this.#waiting.set(id, attempt)
  }

  /** There are child processes for so many: as many jobs are made ready, those first that have waited longest. */
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
