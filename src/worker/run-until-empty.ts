/**
 * Runs ready jobs until none is left or the time is up, for hosts without a permanent process: a worker with heartbeats begins, works
 * and stops within the call.
 *
 * Invariant: after the call no handler of its worker holds a lease. Jobs whose handlers did not end in time are released, and the release
 * counts no attempt. If the host kills the process during the call, the watchdog recovers the jobs as orphans.
 */

import type { BatchCompletion } from '../batches/batch-completion-checks.ts'
import { refuseOption } from '../errors/invalid-option.ts'
import type { Clock } from '../lib/clock.ts'
import { longestDuration, milliseconds, seconds } from '../lib/values/duration.ts'
import { shownValue } from '../lib/values/json.ts'
import type { AttemptTotals } from './attempt-metrics.ts'
import type { WorkOptions } from './work-options.ts'
import type { Worker } from './worker.ts'

/** Options of `engine.runUntilEmpty`. */
export interface RunUntilEmptyOptions extends Pick<WorkOptions, 'queues' | 'grace'> {
  /**
   * The longest time of the call in milliseconds, such as seconds(20). `grace` is a part of this time: the signals of running handlers
   * abort at `maxMs - grace`, and jobs whose handlers still run at `maxMs` are released. Default: no bound.
   */
  maxMs?: number
}

/** The attempts of a call, by outcome. */
export interface RunUntilEmptyResult {
  /** All attempts that ended in this call. */
  attempts: number
  succeeded: number
  skipped: number
  /** Jobs that failed for good. */
  failed: number
  /** Failed attempts whose job waits for another attempt. */
  retried: number
  /** Attempts that ended without a count: snoozed, or waiting for a provider or a child process. */
  deferred: number
  /** Jobs released because the time was up. */
  released: number
  /** True: no job was ready at the end. False: the time was up first. */
  empty: boolean
}

const defaultGrace = seconds(5)
/** The part of a short call that `grace` may take. */
const mostGrace = 0.25

/** Throws `bad_option`. */
export function checkMaxMs(maxMs: unknown): void {
  if (typeof maxMs === 'number' && maxMs >= 1 && maxMs <= longestDuration) return
  const shown = shownValue(maxMs)
  refuseOption(
    'maxMs',
    `it is a duration of at least a millisecond, such as seconds(20), not ${shown}`,
    `é uma duração de pelo menos um milissegundo, como seconds(20), não ${shown}`,
  )
}

export async function runUntilEmpty(
  given: { clock: Clock; completion: BatchCompletion; begin: (options: WorkOptions) => Promise<Worker> },
  options: RunUntilEmptyOptions,
): Promise<RunUntilEmptyResult> {
  const { clock, completion, begin } = given
  const { maxMs, ...ofWork } = options
  const { grace: asked = defaultGrace } = options
  const grace = maxMs === undefined ? asked : milliseconds(Math.min(asked, maxMs * mostGrace))
  const over = new AbortController()
  const timeUp = maxMs === undefined ? undefined : clock.sleep(maxMs - grace, over.signal).then(() => false)
  const worker = await begin({ ...ofWork, grace })
  const stopped = worker.stopped.then(() => false)
  let empty = false
  try {
    do {
      empty = await Promise.race([worker.untilEmpty().then(() => true), stopped, ...(timeUp ? [timeUp] : [])])
      // A completed batch may have enqueued its `onComplete` job, which is ready, too.
    } while (empty && (await completion.now()))
  } finally {
    over.abort()
    await worker.stop()
  }
  return { ...reportOf(worker.totals), empty }
}

function reportOf(totals: AttemptTotals): Omit<RunUntilEmptyResult, 'empty'> {
  const { succeeded, skipped, failed, retried, released, snoozed } = totals
  const deferred = snoozed + totals.deferred
  const attempts = succeeded + skipped + failed + retried + released + deferred
  return { attempts, succeeded, skipped, failed, retried, deferred, released }
}
