/**
 * Explains a job past its maxAge or maxWait. The age counts from the enqueue, or from runAt before the first attempt; the wait counts from
 * the instant at which the job became ready.
 */
import { type LocalizedText, localized } from '../../errors/errors.ts'
import type { JobFacts } from './explain-facts.ts'
import type { LocalizedExplanation } from './explanation.ts'
import { nextCheck, noWatchdog, startWatchdog } from './next-watchdog-check.ts'
import { append, explained, lasting, since } from './sentence-parts.ts'

export function pastMaxAge(job: JobFacts): LocalizedExplanation | undefined {
  const { id, now, policy } = job
  const from = job.attempt === 0 ? job.runAt : job.createdAt
  if (policy.maxAge === null || now.getTime() - from.getTime() < policy.maxAge) return undefined
  return aboutToFail(
    job,
    localized(
      `job ${id} is ${since(from, now)} old, more than its maxAge of ${lasting(policy.maxAge)}, and is about to be failed for it`,
      `o job ${id} tem ${since(from, now)}, mais que o seu maxAge de ${lasting(policy.maxAge)}, e está para ser dado como falho por isso`,
    ),
  )
}

/** For a waiting job whose queue and batch are not paused. */
export function pastMaxWait(job: JobFacts): LocalizedExplanation | undefined {
  const { id, now, policy, readySince } = job
  if (policy.maxWait === null || now.getTime() - readySince.getTime() < policy.maxWait) return undefined
  return aboutToFail(
    job,
    localized(
      `job ${id} has waited for a worker for ${since(readySince, now)}, more than its maxWait of ${lasting(policy.maxWait)}, and is about to be failed for it`,
      `o job ${id} espera por um worker há ${since(readySince, now)}, mais que o seu maxWait de ${lasting(policy.maxWait)}, e está para ser dado como falho por isso`,
    ),
  )
}

function aboutToFail({ watch, now }: JobFacts, sentence: LocalizedText): LocalizedExplanation {
  const { late } = nextCheck(watch, now)
  return explained(
    'overdue',
    append(sentence, noWatchdog(watch, { seconds: 0, late }, now)),
    late ? 'start_worker' : 'wait',
    late
      ? startWatchdog
      : localized(
          'wait for its end, then decide whether to run it again',
          'espere o fim e então decida se roda de novo',
        ),
    late ? 'retoma up' : null,
  )
}
