/**
 * Runs a tick of the janitor: fails jobs past the `maxAge` or `maxWait` of their kind; prunes finished jobs and batches past their
 * retention, in bounded chunks, and expired events, limit counters, rate windows, files without an owner, login sessions,
 * stored responses and schedules that no process has; and corrects limited jobs and limit counters after a change of limits. Runs with every watchdog.
 */

import { markBatchesWithOwnRetention, markOldBatches } from '../batches/sql/batch-cascade.ts'
import type { Db } from '../database/db.ts'
import { placeAllEvents, pruneEvents } from '../events/sql/write-events.ts'
import { pruneFiles } from '../files/sql/file-removal.ts'
import type { FinalJobState } from '../jobs/model/state.ts'
import { pruneJobs, pruneJobsWithOwnRetention } from '../jobs/sql/prune-jobs.ts'
import type { Log } from '../lib/logging/log.ts'
import type { Duration } from '../lib/values/duration.ts'
import { recountLimits } from '../limits/sql/limit-counters.ts'
import { relimitJobs } from '../limits/sql/queue.ts'
import { failOverdue, type Overdue } from '../recovery/sql/expired-jobs.ts'
import { pruneExpiredRows } from './sql/expired-rows.ts'

const chunkSize = 1000
/** Chunks per tick and retention: a backlog of millions takes many ticks. */
const maxChunks = 20
const filesPerTick = 500

export async function janitorTick(
  db: Db,
  log: Log,
  retention: Record<FinalJobState, Duration>,
  now: Date | null,
): Promise<Overdue[]> {
  const overdue = await endOverdue(db, log, now)
  let pruned = 0
  for (const [duration, states] of byDuration(retention)) {
    pruned += await inChunks(() => pruneJobs(db, states, duration, chunkSize, now))
  }
  reportJobs(log, pruned)
  await pruneBatches(db, log, retention, now)
  await tendEvents(db, Math.max(...Object.values(retention)), now)
  await correctLimits(db, log, now)
  await removeUnused(db, log, now)
  return overdue
}

/** Repeats until no job is found; a short chunk may mean that some jobs were locked. */
async function endOverdue(db: Db, log: Log, now: Date | null): Promise<Overdue[]> {
  const overdue: Overdue[] = []
  for (let i = 0; i < maxChunks; i++) {
    const some = await failOverdue(db, chunkSize, now)
    overdue.push(...some)
    if (some.length === 0) break
  }
  if (overdue.length > 0)
    log.warn({ jobs: overdue.length, sample: overdue.slice(0, 5).map(each => each.id) }, 'overdue jobs were failed')
  return overdue
}

/** Marks whole batches by their final state: a marked batch is no longer visible, and the tick of batches deletes its jobs. */
async function pruneBatches(
  db: Db,
  log: Log,
  retention: Record<FinalJobState, Duration>,
  now: Date | null,
): Promise<void> {
  for (const [duration, states] of byDuration(retention)) {
    const batchStates = states.includes('failed') ? [...states, 'completed_with_failures'] : states
    reportBatches(log, await markOldBatches(db, batchStates, duration, chunkSize, now))
  }
}

function reportJobs(log: Log, pruned: number): void {
  if (pruned > 0) log.info({ jobs: pruned }, 'pruned finished jobs')
}

function reportBatches(log: Log, old: readonly string[]): void {
  if (old.length > 0) log.info({ batches: old.length, sample: old.slice(0, 5) }, 'old batches are removed')
}

/**
 * Assigns positions to events without a listener: a new listener then need not pass over all events since the last listener, and
 * old events are found by position. Events are kept as long as the longest retention of jobs.
 */
async function tendEvents(db: Db, keptMs: number, now: Date | null): Promise<void> {
  await placeAllEvents(db)
  await inChunks(() => pruneEvents(db, keptMs, chunkSize, now))
}

/**
 * Also removes jobs and batches past a retention of their own, files without an owner for a day, and files of deleted batches or jobs.
 * Each file may be large.
 */
async function removeUnused(db: Db, log: Log, now: Date | null): Promise<void> {
  let [files, jobs, batches] = [false, false, false]
  const schedules: string[] = []
  await inChunks(async () => {
    const unused = await pruneExpiredRows(db, chunkSize, now)
    files ||= unused.files
    jobs ||= unused.jobs
    batches ||= unused.batches
    schedules.push(...unused.schedules)
    return unused.most
  })
  if (schedules.length > 0) log.info({ schedules }, 'removed schedules that no process has')
  if (jobs) reportJobs(log, await inChunks(() => pruneJobsWithOwnRetention(db, chunkSize, now)))
  if (batches) reportBatches(log, await markBatchesWithOwnRetention(db, chunkSize, now))
  const removed = files ? await pruneFiles(db, filesPerTick, now) : 0
  if (removed > 0) log.info({ files: removed }, 'removed files without an owner')
}

/** Repeats until a chunk is short, or the limit of a tick is reached. */
async function inChunks(prune: () => Promise<number>): Promise<number> {
  let pruned = 0
  for (let i = 0; i < maxChunks; i++) {
    const some = await prune()
    pruned += some
    if (some < chunkSize) break
  }
  return pruned
}

async function correctLimits(db: Db, log: Log, now: Date | null): Promise<void> {
  await relimitJobs(db, now)
  const corrected = await recountLimits(db, now)
  if (corrected.length > 0) log.warn({ limitCounters: corrected }, 'corrected limit counters')
}

function byDuration(retention: Record<FinalJobState, Duration>): Map<Duration, FinalJobState[]> {
  const groups = new Map<Duration, FinalJobState[]>()
  for (const [state, duration] of Object.entries(retention) as [FinalJobState, Duration][]) {
    groups.set(duration, [...(groups.get(duration) ?? []), state])
  }
  return groups
}
