/**
 * Checks attempts that run for long and applies the verdicts of recovery/model/late-attempt-verdict.ts. Timeout: takes the lease away and counts a
 * failure. No progress: applies `onStall` of the kind. Hung (another job has blocked the loop of the worker for longer than the
 * timeout): applies `onOrphan`. Slow: only reported.
 *
 * A crash between the verdict and the write costs a tick: nothing was written. A concurrent watchdog finds the fence gone.
 */

import type { Db } from '../database/db.ts'
import { RetomaError } from '../errors/errors.ts'
import { fingerprintOf } from '../jobs/model/error-fingerprint.ts'
import { decide } from '../jobs/model/outcome.ts'
import type { Random } from '../lib/random.ts'
import { judgeAttempt } from './model/late-attempt-verdict.ts'
import type { Finding } from './sql/findings.ts'
import {
  type AttemptToEnd,
  type EndedAttempt,
  endAttempts,
  findLateAttempts,
  type LateAttempt,
} from './sql/late-attempts.ts'

const chunkSize = 500

export interface EndedLateAttempts {
  timedOut: EndedAttempt[]
  stalled: EndedAttempt[]
  slow: Finding[]
}

export async function sweepAttempts(db: Db, random: Random, now: () => Date | null): Promise<EndedLateAttempts> {
  const swept: EndedLateAttempts = { timedOut: [], stalled: [], slow: [] }
  for (let after = '0'; ; ) {
    const some = await findLateAttempts(db, after, chunkSize, now())
    const timedOut: AttemptToEnd[] = []
    const stalled: AttemptToEnd[] = []
    const hung: AttemptToEnd[] = []
    for (const each of some) {
      const judged = judgeAttempt(each, each.policy)
      if (judged?.verdict === 'timeout') timedOut.push(outOfTime(each, random))
      else if (judged?.verdict === 'hung') hung.push(hungAttempt(each))
      else if (judged?.verdict === 'stalled') stalled.push(stalledAttempt(each))
      else if (judged?.verdict === 'slow') swept.slow.push(slowOf(each, each.policy.expect!))
    }
    if (timedOut.length > 0) swept.timedOut.push(...(await endAttempts(db, 'timeout', timedOut, now())))
    if (hung.length > 0) swept.stalled.push(...(await endAttempts(db, 'hung', hung, now())))
    if (stalled.length > 0) swept.stalled.push(...(await endAttempts(db, 'stalled', stalled, now())))
    if (some.length < chunkSize) break
    after = some.at(-1)!.id
  }
  return swept
}

/** The same outcome as from the worker: counts a failure, and backs off while attempts are left. */
function outOfTime(late: LateAttempt, random: Random): AttemptToEnd {
  const { id, attempt, policy } = late
  const thrown = new RetomaError('attempt_timeout', { attempt, job: id, seconds: policy.timeout / 1000 })
  const { message, code } = thrown
  const outcome = decide(late, policy, { thrown, timedOut: true }, random())
  const error = { message, code, cause: fingerprintOf({ type: 'timeout', code, message }) }
  return outcome.state === 'waiting'
    ? { of: late, state: 'waiting', delayMs: outcome.delay, error }
    : { of: late, state: 'failed', delayMs: 0, error }
}

const states = { retry: 'waiting', stall: 'stalled', fail: 'failed' } as const

/** Counts no failure: a handler without progress mostly waits for an outside service. */
function stalledAttempt(late: LateAttempt): AttemptToEnd {
  const { policy } = late
  const message = policy.messages?.stalled ?? `stalled: no progress for ${policy.stallAfter! / 1000} s`
  const cause = fingerprintOf({ type: 'stalled', code: null, message })
  return { of: late, state: states[policy.onStall], delayMs: 0, error: { message, code: null, cause } }
}

/** Another job blocks the loop of the worker: counts no failure, and another worker may run the job. */
function hungAttempt(late: LateAttempt): AttemptToEnd {
  const { policy, worker } = late
  const message = `hung: something else has blocked the main loop of worker ${worker} for longer than its timeout of ${policy.timeout / 1000} s`
  const cause = fingerprintOf({ type: 'hung', code: null, message: 'hung: the main loop of its worker was blocked' })
  return { of: late, state: states[policy.onOrphan], delayMs: 0, error: { message, code: null, cause } }
}

function slowOf(late: LateAttempt, expect: number): Finding {
  const { id, attempt, kind, queue, worker, ref, batch, startedAt } = late
  const since = new Date(startedAt.getTime() + expect)
  const facts = { job: id, attempt, kind, queue, worker, ref, expectMs: expect }
  return { verdict: 'slow', subject: `job:${id}`, since, job: id, batch, facts }
}
