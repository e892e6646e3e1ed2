/** What a `retoma.config.ts` exports by default: the application's own kinds of job and how many run at once. */
import type { AnyJob } from './core/job.ts'
import type { Limits } from './core/limits.ts'

export interface Config {
  jobs?: readonly AnyJob[]
  /** Queue name to how many of its jobs run at once in one worker process. Default: 10 for each queue. */
  queues?: Readonly<Record<string, number>>
  /** What queues allow over all workers: at once, within a time, waiting. */
  limits?: Limits
}

/** Nothing but types: the editor then knows what may stand in the file. */
export const defineConfig = (config: Config): Config => config
