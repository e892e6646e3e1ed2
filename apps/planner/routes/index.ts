/** Lists every route of the planner, in the order of the documentation. */
import type { Route } from 'retoma/http'
import type { PlannerJobs } from '../jobs.ts'
import { createRoutes } from './create.ts'
import { jobRoutes } from './jobs.ts'

export const routesOf = (jobs: PlannerJobs): readonly Route[] => [...createRoutes(jobs), ...jobRoutes]
