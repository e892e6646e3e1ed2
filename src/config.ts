/**
 * Defines the default export of `retoma.config.ts`: the jobs, batches, schedules, guards, limits, routes and errors of an
 * application.
 */
import type { AnyBatch } from './batches/model/batch.ts'
import type { ConnectionConfig } from './engine/engine-options.ts'
import type { OwnErrors } from './errors/app-errors.ts'
import type { Guard } from './guards/model/guard.ts'
import type { Route } from './http/route.ts'
import type { System } from './http/system.ts'
import type { AnyJob } from './jobs/model/job.ts'
import type { LimitsByQueue } from './limits/model/queue-limits.ts'
import type { Schedule } from './schedules/model/schedule.ts'

/** The content of `retoma.config.ts`. */
export interface Config {
  /**
   * The database of every command, in place of DATABASE_URL: a configuration of pg as `createEngine` takes it, or a function that answers
   * one, for the connector of a cloud provider (docs/connection.md). The function is called only by a process that opens the database.
   * Default: DATABASE_URL, or the embedded PostgreSQL.
   */
  connection?: ConnectionConfig | (() => ConnectionConfig | Promise<ConnectionConfig>)
  /** The jobs that workers run. Default: none. */
  jobs?: readonly AnyJob[]
  /** The batches. The jobs of the items and the onComplete jobs need not be in `jobs`. Default: none. */
  batches?: readonly AnyBatch[]
  /** The schedules. The jobs of schedules need not be in `jobs`. Default: none. */
  schedules?: readonly Schedule[]
  /** Guards over your tables; the jobs of guards need not be in `jobs`. Default: none. */
  guards?: readonly Guard[]
  /** Most running jobs of each queue in a worker process, by queue name. Default: 10 for each queue. */
  queues?: Readonly<Record<string, number>>
  /**
   * Queues that the process of the API does not work on: of `retoma up`, only its further processes do, and `retoma worker` does. Without
   * `--processes`, `retoma up` starts a second process for these queues. So a job of such a queue cannot crash the API. Default: none.
   */
  workerOnly?: readonly string[]
  /** Limits of queues over all workers: concurrency, rate, waiting jobs. Default: the stored limits. */
  limits?: LimitsByQueue
  /**
   * Routes from `route` of retoma/http: `up` and `serve` answer these routes besides the routes of Retoma. Default:
   * none.
   */
  routes?: readonly Route[]
  /** Errors of the application for routes and jobs, from `defineErrors`. Default: none. */
  errors?: OwnErrors
  /**
   * Whole applications that run beside the jobs of this file, from a package or from your own code. Default: none.
   */
  systems?: readonly System[]
  /**
   * Names of outside services whose responses are simulated, for lack of a key: `up`, `serve` and `worker` print the
   * names at the start. Default: none.
   */
  simulated?: readonly string[]
}

/**
 * The default export of `retoma.config.ts`. Only for types: the editor then knows the options of the file.
 *
 * @example
 * export default defineConfig({ jobs: [classify], queues: { documents: 20 } })
 */
export const defineConfig = (config: Config): Config => config
