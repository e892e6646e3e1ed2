/**
 * What an attempt comes to: from what its handler returned or threw, and from what it was told meanwhile.
 *
 * Invariant: it never throws. What a handler answered may throw when it is looked at: then that is how it ended.
 */
import { handBackOf, isNoChildFree } from '../core/hand-back.ts'
import { decide, type Ended, type Outcome, unanswered } from '../core/outcome.ts'
import type { Policy } from '../core/policy.ts'
import { isRetomaError } from '../errors.ts'
import type { Random } from '../lib/random.ts'
import type { Claimed } from '../store/claim.ts'
import { discreet } from './discreet.ts'

export type AttemptEnd = Outcome | { state: 'released' } | { state: 'lost' }

interface About {
  claimed: Claimed
  policy: Policy
  /** Why it was told to stop; undefined: it was not. */
  reason: Error | undefined
  /** A stopped provider it was let through to, and has not heard of; or its batch, which is paused and for which it tries. */
  probed: string | undefined
  random: Random
}

export function endOf(ended: Ended, about: About): AttemptEnd {
  try {
    return judge(ended, about)
  } catch (thrown) {
    return judge({ thrown }, about)
  }
}

function judge(ended: Ended, about: About): AttemptEnd {
  const { reason } = about
  // Without its child process the handler knows nothing of the job, whatever it answers.
  if (isNoChildFree(reason)) return decided({ thrown: reason }, about)
  if (reason === undefined || !('thrown' in ended)) return decided(ended, about)
  if (isRetomaError(reason, 'lease_lost')) return { state: 'lost' }
  // Told to stop, and it was handing back anyway.
  if (handBackOf(ended.thrown) !== undefined) return decided(ended, about)
  if (isRetomaError(reason, 'worker_stopping')) return { state: 'released' }
  // Out of time: the timeout is the news; what the handler made of its signal is kept as the cause.
  if (ended.thrown !== reason) reason.cause = ended.thrown
  return decided({ ...ended, thrown: reason, timedOut: true }, about)
}

function decided(ended: Ended, { claimed, policy, probed, random }: About): Outcome {
  const outcome = decide(claimed, policy, ended, random())
  if (probed === undefined || !('thrown' in ended)) return discreet(outcome)
  return discreet(unanswered(claimed, outcome, ended.thrown, probed))
}
