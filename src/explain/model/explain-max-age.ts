/** Explains a job older than its maxAge. The age counts from the enqueue, or from runAt before the first attempt. */
import { localized } from '../../errors/errors.ts'
import type { JobFacts } from './explain-facts.ts'
import type { LocalizedExplanation } from './explanation.ts'
import { nextCheck, noWatchdog, startWatchdog } from './next-watchdog-check.ts'
import { append, explained, lasting, since } from './sentence-parts.ts'

export function pastMaxAge(job: JobFacts): LocalizedExplanation | undefined {
  const { id, now, policy, watch } = job
  const from = job.attempt === 0 ? job.runAt : job.createdAt
  if (policy.maxAge === null || now.getTime() - from.getTime() < policy.maxAge) return undefined
  const { late } = nextCheck(watch, now)
  return explained(
    'overdue',
    append(
      localized(
        `job ${id} is ${since(from, now)} old, more than its maxAge of ${lasting(policy.maxAge)}, and is about to be failed for it`,
        `o job ${id} tem ${since(from, now)}, mais que o seu maxAge de ${lasting(policy.maxAge)}, e está para ser dado como falho por isso`,
      ),
      noWatchdog(watch, { seconds: 0, late }, now),
    ),
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
