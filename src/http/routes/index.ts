/** Lists every route of the engine, in the order of the documentation. */
import type { Route } from '../route.ts'
import { withoutHiddenJobs } from '../security/private-kinds.ts'
import { batchActionRoutes } from './batches/batch-actions.ts'
import { batchItemRoutes } from './batches/batch-items.ts'
import { batchRoutes } from './batches/batches.ts'
import { eventRoutes } from './events.ts'
import { guardRoutes } from './guards.ts'
import { healthRoutes, problemRoutes } from './health.ts'
import { enqueueRoutes } from './jobs/enqueue-jobs.ts'
import { jobActionRoutes } from './jobs/job-actions.ts'
import { jobRoutes } from './jobs/jobs.ts'
import { logInRoutes } from './login.ts'
import { metricsRoutes } from './metrics.ts'
import { providerRoutes } from './providers.ts'
import { queueRoutes } from './queues.ts'
import { scheduleRoutes } from './schedules.ts'
import { statsRoutes } from './stats.ts'
import { tickRoutes } from './tick.ts'
import { tokenRoutes } from './tokens.ts'
import { workerRoutes } from './workers.ts'

const all: readonly Route[] = [
  ...healthRoutes,
  ...metricsRoutes,
  ...enqueueRoutes,
  ...jobRoutes,
  ...jobActionRoutes,
  ...batchRoutes,
  ...batchItemRoutes,
  ...batchActionRoutes,
  ...queueRoutes,
  ...workerRoutes,
  ...providerRoutes,
  ...scheduleRoutes,
  ...guardRoutes,
  ...statsRoutes,
  ...problemRoutes,
  ...eventRoutes,
  ...logInRoutes,
  ...tokenRoutes,
  ...tickRoutes,
]

export const engineRoutes: readonly Route[] = all.map(withoutHiddenJobs)
