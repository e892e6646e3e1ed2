/**
 * Creates the planner, an application on the engine: schedules of shifts, demand from tables of visits, thumbnails. `planner()` returns the
 * system for `systems` in a retoma.config, and needs only `retoma` and `retoma/http`.
 */
import type { Engine } from 'retoma'
import type { System } from 'retoma/http'
import { errors } from './errors.ts'
import { createPlannerJobs, type OrphanTimes, queue, seedTimes } from './jobs.ts'
import { routesOf } from './routes/index.ts'
import { type PlannerSettings, readPlannerSettings } from './settings.ts'

export interface PlannerOptions {
  /** Default: the variable PLANNER_CONCURRENCY of the environment. */
  settings?: PlannerSettings
  /** In place of 2 and 5 minutes, for tests with a real kill. */
  times?: OrphanTimes
}

// Tests run this file from the TypeScript source; the package has dist/ beside sql/.
const migrations = new URL(import.meta.url.endsWith('.ts') ? './sql/' : '../sql/', import.meta.url)

export function planner(options: PlannerOptions = {}): System {
  const { settings = readPlannerSettings(), times = seedTimes } = options
  let home: Engine | undefined
  const jobs = createPlannerJobs(times, () => {
    if (home === undefined) throw new Error('the planner has no engine: call attach first')
    return home
  })
  const { schedule, demand, thumbnail, schedules } = jobs
  return {
    name: 'planner',
    page: '/planejador/',
    migrations,
    jobs: [schedule, demand, thumbnail],
    schedules,
    queues: { [queue]: settings.concurrency },
    routes: routesOf(jobs).map(route => ({ ...route, language: 'pt' as const })),
    errors,
    attach: engine => {
      home = engine
    },
    attached: [thumbnail, ...schedules.map(({ job }) => job)],
  }
}
