/** Explains why a job does not advance: by the state, then by the surroundings. */

import type { JobFacts } from './explain-facts.ts'
import { explainFinalJob, explainStalled } from './explain-final-job.ts'
import { explainRunning } from './explain-running-job.ts'
import { pastMaxAge } from './explain-time-limits.ts'
import { explainWaiting } from './explain-waiting-job.ts'
import type { LocalizedExplanation } from './explanation.ts'

export function explainJob(job: JobFacts): LocalizedExplanation {
  switch (job.state) {
    case 'waiting':
      return explainWaiting(job)
    case 'running':
      return explainRunning(job)
    case 'stalled':
      return pastMaxAge(job) ?? explainStalled(job)
    default:
      return explainFinalJob(job, job.state)
  }
}
