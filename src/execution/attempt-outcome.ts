/**
 * Decides the outcome of an attempt from the handler's result or error and from the reason of an abort.
 *
 * Invariant: never throws. Reading a result may throw; this error then decides the outcome.
 */

import type { ClaimedJob } from '../claiming/sql/claim.ts'
import { isRetomaError } from '../errors/errors.ts'
import { deferralOf, isNoChildFree } from '../jobs/model/deferral.ts'
import { decide, type Ended, type Outcome, unanswered } from '../jobs/model/outcome.ts'
import type { JobPolicy } from '../jobs/model/policy.ts'
import type { Random } from '../lib/random.ts'
import { redactOutcome } from './redact-outcome.ts'

export type AttemptEnd = Outcome | { state: 'released' } | { state: 'lost' }

interface About {
  claimed: ClaimedJob
  policy: JobPolicy
  /** The reason of the abort; undefined: no abort. */
  reason: Error | undefined
  /** A stopped provider that the attempt probes without an answer yet, or the paused batch that the attempt probes for. */
  probed: string | undefined
  random: Random
}

export function outcomeOf(ended: Ended, about: About): AttemptEnd {
  try {
    return judge(ended, about)
  } catch (thrown) {
    return judge({ thrown }, about)
  }
}

function judge(ended: Ended, about: About): AttemptEnd {
  const { reason } = about
  // Without its child process the handler knows nothing about the job, so its result does not count.
  if (isNoChildFree(reason)) return decided({ thrown: reason }, about)
  if (reason === undefined || !('thrown' in ended)) return decided(ended, about)
  if (isRetomaError(reason, 'lease_lost')) return { state: 'lost' }
  // The signal aborted, but the handler was deferring the job anyway.
  if (deferralOf(ended.thrown) !== undefined) return decided(ended, about)
  if (isRetomaError(reason, 'worker_stopping')) return { state: 'released' }
  // After a timeout the failure is the timeout; the handler's error is kept as the cause.
  if (ended.thrown !== reason) reason.cause = ended.thrown
  return decided({ ...ended, thrown: reason, timedOut: true }, about)
}

function decided(ended: Ended, { claimed, policy, probed, random }: About): Outcome {
  const outcome = decide(claimed, policy, ended, random())
  if (probed === undefined || !('thrown' in ended)) return redactOutcome(outcome)
  return redactOutcome(unanswered(claimed, outcome, ended.thrown, probed))
}
