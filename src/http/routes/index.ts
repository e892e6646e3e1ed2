/** Every route of the engine, in the order of the documentation. */
import type { Route } from '../route.ts'
import { tickRoutes } from './cron.ts'
import { healthRoutes } from './health.ts'
import { logInRoutes } from './log-in.ts'
import { tokenRoutes } from './tokens.ts'
import { workerRoutes } from './workers.ts'

export const engineRoutes: readonly Route[] = [
  ...healthRoutes,
  ...logInRoutes,
  ...workerRoutes,
  ...tokenRoutes,
  ...tickRoutes,
]
