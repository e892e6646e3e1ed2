/**
 * Describes a system: a whole application on the engine, with everything a configuration registers, with its routes and with tables of
 * its own. `up`, `serve` and `worker` run the systems that the configuration names.
 */
import type { Config, SystemParts } from '../index.ts'
import type { Route } from './route.ts'

/** A system with its routes. */
export interface System extends SystemParts, Omit<Config, 'systems' | keyof SystemParts> {
  readonly routes: readonly Route[]
  /** The path of the system's page in the dashboard, such as /orders/. Default: the system has no page. */
  readonly page?: string
}
