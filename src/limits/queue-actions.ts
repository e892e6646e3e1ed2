/** Lists, pauses and resumes queues, and applies their limits. */

import type { Db } from '../database/db.ts'
import { localized, RetomaError } from '../errors/errors.ts'
import { type ActedBy, checkActor } from '../jobs/model/actor.ts'
import { type QueueView, viewQueues } from '../jobs/sql/job-view.ts'
import type { Clock } from '../lib/clock.ts'
import { namePattern } from '../lib/values/name.ts'
import type { LimitsByQueue } from './model/queue-limits.ts'
import { recountLimits } from './sql/limit-counters.ts'
import { pauseQueue, relimitJobs, saveLimits } from './sql/queue.ts'

/** The result of an action: the queue afterwards, and whether this call changed the queue. */
export interface QueueActionResult {
  queue: string
  paused: boolean
  changed: boolean
}

/** The namespace `engine.queues`. */
export interface QueuesApi {
  /** All queues with their counts and limits. */
  list(): Promise<QueueView[]>
  /** No worker starts another job of the queue; running jobs continue to their end. */
  pause(name: string, options?: ActedBy): Promise<QueueActionResult>
  resume(name: string, options?: ActedBy): Promise<QueueActionResult>
}

export function createQueues(given: { db: Db; clock: Clock; wake: (queue: string) => void }): QueuesApi {
  const { db, clock, wake } = given

  async function applyAction(queue: string, paused: boolean, given: ActedBy | undefined): Promise<QueueActionResult> {
    const by = checkActor(given)
    const applied = namePattern.test(queue) ? await pauseQueue(db, queue, paused, clock.instant(), by) : undefined
    if (applied === undefined) {
      throw new RetomaError('not_found', { what: localized('queue', 'fila'), id: String(queue) })
    }
    if (applied.changed && !paused) wake(queue)
    return { queue, paused, changed: applied.changed }
  }
  return {
    list: () => viewQueues(db, clock.instant()),
    pause: (name, options) => applyAction(name, true, options),
    resume: (name, options) => applyAction(name, false, options),
  }
}

/** Sets the limits of queues, for waiting jobs as well; answers the queues with changed limits. */
export async function applyLimits(db: Db, limits: LimitsByQueue, now: Date | null): Promise<string[]> {
  if (Object.keys(limits).length === 0) return []
  const changed = await saveLimits(db, limits, now)
  if (changed.length > 0) {
    await relimitJobs(db, changed, now)
    await recountLimits(db)
  }
  return changed
}
