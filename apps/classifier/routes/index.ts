/** Lists every route of the classifier, in the order of the documentation. */
import type { Route } from 'retoma/http'
import type { Runs } from '../runs.ts'
import { documentRoutes } from './documents.ts'
import { estimateRoutes } from './estimates.ts'
import { eventRoutes } from './events.ts'
import { actionRoutes } from './execution-actions.ts'
import { executionRoutes } from './executions.ts'
import { priorityRoutes } from './priority.ts'
import { projectRoutes } from './projects.ts'
import { rerunRoutes } from './reruns.ts'
import { resultRoutes } from './results.ts'
import { reviewRoutes } from './reviews.ts'
import { statusRoutes } from './status.ts'

export const routesOf = (runs: Runs): readonly Route[] => [
  ...projectRoutes(runs),
  ...executionRoutes(runs),
  ...statusRoutes(runs),
  ...resultRoutes(runs),
  ...actionRoutes(runs),
  ...priorityRoutes(runs),
  ...eventRoutes(runs),
  ...documentRoutes(runs),
  ...rerunRoutes(runs),
  ...reviewRoutes(runs),
  ...estimateRoutes(runs),
]
