/**
 * A whole application on the engine, such as those in apps/: what a configuration registers, and the routes it brings. `up`,
 * `serve` and `worker` run those of Retoma beside the user's own.
 */
import type { AnyJob, Config, Engine } from '../index.ts'
import type { Route } from './route.ts'

export interface System extends Omit<Config, 'systems'> {
  readonly name: string
  readonly routes: readonly Route[]
  /** Told which engine it runs on, before anything of it runs: for jobs of its own that need more than their context. */
  attach?(engine: Engine): void
  /** Those jobs. A child of a worker has no engine: one that is to run alone does so in the worker itself. */
  readonly attached?: readonly AnyJob[]
}
