/**
 * A whole application on the engine, such as those in apps/: what a configuration registers, and the routes it brings. `up`,
 * `serve` and `worker` run those of Retoma beside the user's own.
 */
import type { Config, Engine } from '../index.ts'
import type { Route } from './route.ts'

export interface System extends Omit<Config, 'systems'> {
  readonly name: string
  readonly routes: readonly Route[]
  /** The services outside that it has no key for, and plays itself. */
  readonly simulated: readonly string[]
  /** Told which engine it runs on, before anything of it runs: for jobs of its own that need more than their context. */
  attach?(engine: Engine): void
}
