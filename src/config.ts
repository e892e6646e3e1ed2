/** What a `retoma.config.ts` exports by default: the application's own kinds of job, when they run by themselves and how many at once, and its routes. */
import type { AnyBatch } from './core/batch.ts'
import type { Guard } from './core/guard.ts'
import type { AnyJob } from './core/job.ts'
import type { Limits } from './core/limits.ts'
import type { OwnErrors } from './core/own-errors.ts'
import type { Schedule } from './core/schedule.ts'
import type { Route } from './http/route.ts'

export interface Config {
  jobs?: readonly AnyJob[]
  /** Their jobs, and what they have run at their end, need not be among `jobs`. */
  batches?: readonly AnyBatch[]
  /** Their jobs need not be among `jobs`. */
  schedules?: readonly Schedule[]
  /** What watches tables of yours; their jobs need not be among `jobs`. */
  guards?: readonly Guard[]
  /** Queue name to how many of its jobs run at once in one worker process. Default: 10 for each queue. */
  queues?: Readonly<Record<string, number>>
  /** What queues allow over all workers: at once, within a time, waiting. */
  limits?: Limits
  /** Made by `route` of retoma/http: `up` and `serve` answer them beside Retoma's own. */
  routes?: readonly Route[]
  /** The errors of the application's own that its routes and jobs raise: what `defineErrors` answers. */
  errors?: OwnErrors
  /** False: without the systems that Retoma brings itself (apps/), such as the document classifier. */
  systems?: boolean
}

/** Nothing but types: the editor then knows what may stand in the file. */
export const defineConfig = (config: Config): Config => config
