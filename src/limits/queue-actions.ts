/** Lists, pauses and resumes queues, and applies their limits. */

import type { Db } from '../database/db.ts'
import { localized, RetomaError } from '../errors/errors.ts'
import { type ActedBy, checkActor } from '../jobs/model/actor.ts'
import { type QueueView, viewQueues } from '../jobs/sql/job-view.ts'
import type { Clock } from '../lib/clock.ts'
import { namePattern } from '../lib/values/name.ts'
import { checkLimits, type LimitsByQueue, type QueueLimits } from './model/queue-limits.ts'
import { recountLimits } from './sql/limit-counters.ts'
import { changeQueueLimits, pauseQueue, relimitJobs, saveLimits } from './sql/queue.ts'

/** The result of an action: the queue afterwards, and whether this call changed the queue. */
export interface QueueActionResult {
  queue: string
  paused: boolean
  changed: boolean
}

/** The limits afterwards, and whether this call changed the limits. */
export interface QueueLimitsResult {
  queue: string
  limits: QueueLimits
  changed: boolean
}

/** The namespace `engine.queues`. */
export interface QueuesApi {
  /** All queues with their counts and limits. */
  list(): Promise<QueueView[]>
  /** No worker starts another job of the queue; running jobs continue to their end. */
  pause(name: string, options?: ActedBy): Promise<QueueActionResult>
  /** Continues a paused queue. Throws `not_found`. */
  resume(name: string, options?: ActedBy): Promise<QueueActionResult>
  /**
   * Replaces the limits of an existing queue for all workers, waiting jobs included; `{}` removes the limits. An engine that is
   * created with `limits` for this queue sets these limits again.
   */
  setLimits(name: string, limits: QueueLimits, options?: ActedBy): Promise<QueueLimitsResult>
}

export function createQueues(given: { db: Db; clock: Clock; wake: (queue: string) => void }): QueuesApi {
  const { db, clock, wake } = given

  async function applyAction(queue: string, paused: boolean, given: ActedBy | undefined): Promise<QueueActionResult> {
    const by = checkActor(given)
    const applied = namePattern.test(queue) ? await pauseQueue(db, queue, paused, clock.instant(), by) : undefined
    if (applied === undefined) throw noSuchQueue(queue)
    if (applied.changed && !paused) wake(queue)
    return { queue, paused, changed: applied.changed }
  }
  return {
    list: () => viewQueues(db, clock.instant()),
    pause: (name, options) => applyAction(name, true, options),
    resume: (name, options) => applyAction(name, false, options),
    async setLimits(name, limits, options) {
      const by = checkActor(options)
      if (!namePattern.test(name)) throw noSuchQueue(name)
      checkLimits({ [name]: limits })
      const applied = await changeQueueLimits(db, name, limits, clock.instant(), by)
      if (applied === undefined) throw noSuchQueue(name)
      // Workers apply the limits from here on, also while waiting jobs are still moved.
      if (applied.changed) wake(name)
      // Also on a repeated call: the first caller may have crashed before this point.
      await relimit(db, [name], clock.instant(), () => wake(name))
      return { queue: name, limits, changed: applied.changed }
    },
  }
}

/** Sets the limits of queues, for waiting jobs as well; answers the queues with changed limits. */
export async function applyLimits(db: Db, limits: LimitsByQueue, now: Date | null): Promise<string[]> {
  if (Object.keys(limits).length === 0) return []
  const changed = await saveLimits(db, limits, now)
  if (changed.length > 0) await relimit(db, changed, now)
  return changed
}

async function relimit(db: Db, changed: readonly string[], now: Date | null, moved?: () => void): Promise<void> {
  await relimitJobs(db, changed, now, moved)
  await recountLimits(db)
}

const noSuchQueue = (name: string) =>
  new RetomaError('not_found', { what: localized('queue', 'fila'), id: String(name) })
