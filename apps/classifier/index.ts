/**
 * Creates the document classifier, a thin application on the engine: executions of up to 2,000 documents, each document classified by a
 * paid AI. `classifier()` returns the system for `systems` in a retoma.config, and needs only `retoma` and `retoma/http`.
 */
import type { System } from 'retoma/http'
import { errors } from './errors.ts'
import { createJobs, type OpenRouterOptions } from './jobs.ts'
import { routesOf } from './routes/index.ts'
import { createRuns } from './runs.ts'
import { readOpenRouter } from './settings.ts'

export interface ClassifierOptions {
  /** Default: the variables OPENROUTER_* of the environment. */
  openRouter?: OpenRouterOptions
}

// Tests run this file from the TypeScript source; the package has dist/ beside sql/.
const migrations = new URL(import.meta.url.endsWith('.ts') ? './sql/' : '../sql/', import.meta.url)

export function classifier({ openRouter = readOpenRouter() }: ClassifierOptions = {}): System {
  const isSimulated = openRouter.key === undefined
  const { classify, notice, watch, classification, jobs, limits, queues, attach } = createJobs({ openRouter })
  const runs = createRuns({
    classification,
    model: openRouter.model,
    isSimulated,
    requestsPerMinute: openRouter.requestsPerMinute,
  })
  return {
    name: 'classifier',
    page: '/classificador/',
    migrations,
    jobs: [...jobs, runs.openRun],
    batches: [classification],
    schedules: [runs.tidy, watch],
    limits,
    queues,
    routes: routesOf(runs).map(route => ({ ...route, language: 'pt' as const })),
    errors,
    simulated: isSimulated ? ['openrouter'] : [],
    attach: engine => {
      attach(engine)
      runs.attach(engine)
    },
    attached: [classify, notice, watch.job, runs.openRun, runs.tidy.job],
  }
}
