/** Lists, pauses and resumes queues, and applies their limits. */

import type { Db } from '../database/db.ts'
import { localized, RetomaError } from '../errors/errors.ts'
import { type ActedBy, checkActor } from '../jobs/model/actor.ts'
import { cancelSome, countWaitingOfQueue, waitingOfQueue } from '../jobs/sql/bulk-actions.ts'
import { topOfList } from '../jobs/sql/job-list.ts'
import { type QueueView, viewQueues } from '../jobs/sql/job-view.ts'
import type { Clock } from '../lib/clock.ts'
import { namePattern } from '../lib/values/name.ts'
import { checkPage, type ListPageOptions } from '../lib/values/page.ts'
import { checkLimits, type LimitsByQueue, type QueueLimits } from './model/queue-limits.ts'
import { type GroupUsage, viewGroupUsage } from './sql/group-usage.ts'
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

/** The result of `engine.queues.clear`. */
export interface QueueClearResult {
  queue: string
  /** Number of jobs this call cancelled; with `dryRun`, number of waiting jobs. */
  cancelled: number
  /** false: more jobs may wait; call again. */
  done: boolean
}

/** Options of `engine.queues.clear`. */
export interface QueueClearOptions extends ActedBy {
  /** Counts the waiting jobs and cancels none. Default false. */
  dryRun?: boolean
  /** Leaves out jobs of these kinds. Default: none. */
  except?: readonly string[]
}

/** The namespace `engine.queues`. */
export interface QueuesApi {
  /** All queues with their counts and limits. */
  list(): Promise<QueueView[]>
  /**
   * The groups of a queue with limits per group: the full groups first, then the groups with most running jobs, 50 or `limit` of them.
   * Throws `not_found`.
   */
  groups(name: string, page?: Pick<ListPageOptions, 'limit'>): Promise<GroupUsage[]>
  /** No worker starts another job of the queue; running jobs continue to their end. */
  pause(name: string, options?: ActedBy): Promise<QueueActionResult>
  /** Continues a paused queue. Throws `not_found`. */
  resume(name: string, options?: ActedBy): Promise<QueueActionResult>
  /**
   * Replaces the limits of an existing queue for all workers, waiting jobs included; `{}` removes the limits. An engine that is
   * created with other `limits` for this queue than the last engine replaces these limits; a restart with the same `limits` does not.
   */
  setLimits(name: string, limits: QueueLimits, options?: ActedBy): Promise<QueueLimitsResult>
  /**
   * Cancels the waiting jobs of a queue, jobs for later and items of batches included, for a few seconds at most. Running jobs continue, and
   * jobs that are enqueued after the call stay. The batches continue without the items. Throws `not_found`.
   *
   * @example
   * while (!(await engine.queues.clear('bulk')).done);
   */
  clear(name: string, options?: QueueClearOptions): Promise<QueueClearResult>
}

const clearedAtOnce = 1000
/** A call clears for so long before it answers. */
const longestClearMs = 5000

export function createQueues(given: {
  db: Db
  clock: Clock
  wake: (queue: string) => void
  /** Jobs of the batch ended. */
  batchMoved: (batch: string) => Promise<unknown>
}): QueuesApi {
  const { db, clock, wake, batchMoved } = given

  async function applyAction(queue: string, paused: boolean, given: ActedBy | undefined): Promise<QueueActionResult> {
    const by = checkActor(given)
    const applied = namePattern.test(queue) ? await pauseQueue(db, queue, paused, clock.instant(), by) : undefined
    if (applied === undefined) throw noSuchQueue(queue)
    if (applied.changed && !paused) wake(queue)
    return { queue, paused, changed: applied.changed }
  }
  return {
    list: () => viewQueues(db, clock.instant()),
    async groups(name, page = {}) {
      const limit = checkPage(page)
      if (!(await viewQueues(db, clock.instant())).some(each => each.queue === name)) throw noSuchQueue(name)
      return viewGroupUsage(db, name, limit, clock.instant())
    },
    pause: (name, options) => applyAction(name, true, options),
    resume: (name, options) => applyAction(name, false, options),
    async clear(name, { dryRun, except = [], ...options } = {}) {
      const by = checkActor(options)
      const found = (await viewQueues(db, clock.instant())).find(each => each.queue === name)
      if (found === undefined) throw noSuchQueue(name)
      if (dryRun) {
        const all = found.ready + found.scheduled
        const matching = except.length === 0 ? all : await countWaitingOfQueue(db, name, except)
        return { queue: name, cancelled: matching, done: true }
      }
      const until = clock.elapsed() + longestClearMs
      const top = await topOfList(db)
      for (let cancelled = 0; ; ) {
        const ids = await waitingOfQueue(db, name, { top, limit: clearedAtOnce, except })
        if (ids.length === 0) return { queue: name, cancelled, done: true }
        const moved = await cancelSome(db, { ids, states: ['waiting'], by }, clock.instant())
        cancelled += moved.changed
        for (const batch of moved.batches) await batchMoved(batch)
        if (clock.elapsed() >= until) return { queue: name, cancelled, done: false }
      }
    },
    async setLimits(name, limits, options) {
      const by = checkActor(options)
      if (!namePattern.test(name)) throw noSuchQueue(name)
      checkLimits({ [name]: limits })
      const applied = await changeQueueLimits(db, name, limits, clock.instant(), by)
      if (applied === undefined) throw noSuchQueue(name)
      // Workers apply the limits from here on, also while waiting jobs are still moved.
      if (applied.changed) wake(name)
      // Also on a repeated call: the first caller may have crashed before this point.
      await relimit(db, clock.instant(), () => wake(name))
      return { queue: name, limits, changed: applied.changed }
    },
  }
}

/** Sets the limits of queues that the code has changed, for waiting jobs as well; answers these queues. */
export async function applyLimits(db: Db, limits: LimitsByQueue, now: Date | null): Promise<string[]> {
  if (Object.keys(limits).length === 0) return []
  const changed = await saveLimits(db, limits, now)
  if (changed.length > 0) await relimit(db, now)
  return changed
}

async function relimit(db: Db, now: Date | null, moved?: () => void): Promise<void> {
  // Claims that were under way when the limits changed have started jobs by the limits before.
  await recountLimits(db, now)
  await relimitJobs(db, now, moved)
  await recountLimits(db, now)
}

const noSuchQueue = (name: string) =>
  new RetomaError('not_found', { what: localized('queue', 'fila'), id: String(name) })
