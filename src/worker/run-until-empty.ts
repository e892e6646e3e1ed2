/**
 * Runs ready jobs until none is left or the time is up, for hosts without a permanent process: a worker with heartbeats begins, works
 * and stops within the call. If ready jobs wait for a rate, the call waits too, unless the rate allows the next start after the time.
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
  /** True: no job was ready at the end. False: the time was up first, or a rate allows the next start only after this time. */
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
  const lastStart = clock.elapsed() + (maxMs === undefined ? Number.POSITIVE_INFINITY : maxMs - grace)
  // No timer runs before the worker has begun: if `begin` throws, nothing is left behind.
  const worker = await begin({ ...ofWork, grace })
  const over = new AbortController()
  const timeUp = maxMs === undefined ? [] : [clock.sleep(lastStart - clock.elapsed(), over.signal)]
  const ended = Promise.race([worker.stopped, ...timeUp]).then(() => undefined)
  let empty = false
  try {
    for (;;) {
      const idle = await Promise.race([worker.untilEmpty(), ended])
      if (idle === undefined) break
      // A completed batch may have enqueued its `onComplete` job, which is ready, too.
      if (await completion.now()) continue
      empty = idle.rateMs === undefined
      if (idle.rateMs === undefined || clock.elapsed() + idle.rateMs >= lastStart) break
      // The worker continues meanwhile and starts whatever becomes ready.
      await Promise.race([clock.sleep(idle.rateMs, over.signal), ended])
    }
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
