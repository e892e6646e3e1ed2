/** Explains why a job does not advance: by the state, then by the surroundings. */
import type { Told } from './explanation.ts'
import type { JobFacts } from './facts.ts'
import { explainEnd, explainStalled } from './final.ts'
import { pastItsAge } from './overdue.ts'
import { explainRunning } from './running.ts'
import { explainWaiting } from './waiting.ts'

export function explainJob(job: JobFacts): Told {
  switch (job.state) {
    case 'waiting':
      return explainWaiting(job)
    case 'running':
      return explainRunning(job)
    case 'stalled':
      return pastItsAge(job) ?? explainStalled(job)
    default:
      return explainEnd(job, job.state)
  }
}
