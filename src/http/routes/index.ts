/** Every route of the engine, in the order of the documentation. */
import type { Route } from '../route.ts'
import { eventRoutes } from './events.ts'
import { healthRoutes } from './health.ts'
import { jobRoutes } from './jobs.ts'
import { jobMakeRoutes } from './jobs-make.ts'
import { jobPressRoutes } from './jobs-press.ts'
import { statsRoutes } from './stats.ts'
import { workerRoutes } from './workers.ts'

export const engineRoutes: readonly Route[] = [
  ...healthRoutes,
  ...jobMakeRoutes,
  ...jobRoutes,
  ...jobPressRoutes,
  ...workerRoutes,
  ...statsRoutes,
  ...eventRoutes,
]
