/**
 * Describes a system: a whole application on the engine, such as the applications in apps/, with everything a configuration registers and
 * its routes. `up`, `serve` and `worker` run Retoma's own systems beside the jobs of the user.
 */
import type { AnyJob, Config, Engine } from '../index.ts'
import type { Route } from './route.ts'

export interface System extends Omit<Config, 'systems'> {
  readonly name: string
  readonly routes: readonly Route[]
  /** Receives the engine before any part of the system runs: for jobs that need more than their context. */
  attach?(engine: Engine): void
  /** The jobs that use the engine. A child has no engine, so such a job runs in the worker process even if it is to run alone. */
  readonly attached?: readonly AnyJob[]
}
