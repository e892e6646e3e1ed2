/** Whether a kind's handler can be run in a process of its own. */
import type { AnyJob } from '../core/job.ts'

export const runsInProcess = (_job: AnyJob): boolean => false
