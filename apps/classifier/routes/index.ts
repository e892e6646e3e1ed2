/** Lists every route of the classifier, in the order of the documentation. */
import type { Route } from 'retoma/http'
import type { Runs } from '../runs.ts'
import { eventRoutes } from './events.ts'
import { executionRoutes } from './executions.ts'
import { pressRoutes } from './press.ts'
import { projectRoutes } from './projects.ts'
import { resultRoutes } from './results.ts'
import { statusRoutes } from './status.ts'

export const routesOf = (runs: Runs): readonly Route[] => [
  ...projectRoutes(runs),
  ...executionRoutes(runs),
  ...statusRoutes(runs),
  ...resultRoutes(runs),
  ...pressRoutes(runs),
  ...eventRoutes(runs),
]
