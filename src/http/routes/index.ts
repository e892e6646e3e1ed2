/** Every route of the engine, in the order of the documentation. */
import type { Route } from '../route.ts'
import { healthRoutes } from './health.ts'
import { metricsRoutes } from './metrics.ts'
import { workerRoutes } from './workers.ts'

export const engineRoutes: readonly Route[] = [...healthRoutes, ...metricsRoutes, ...workerRoutes]
