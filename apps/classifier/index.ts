/**
 * Creates the document classifier, a thin application on the engine: executions of up to 2,000 documents, each document classified by a
 * paid AI. `createClassifier` returns the system for `up`, `serve` and `worker`, and needs only `retoma` and `retoma/http`.
 */
import type { System } from 'retoma/http'
import { errors } from './errors.ts'
import { createJobs, type OpenRouterOptions } from './jobs.ts'
import { routesOf } from './routes/index.ts'
import { createRuns } from './runs.ts'

export interface ClassifierOptions {
  openRouter: OpenRouterOptions
}

export function createClassifier({ openRouter }: ClassifierOptions): System {
  const isSimulated = openRouter.key === undefined
  const { classify, classification, jobs, limits, queues, attach } = createJobs({ openRouter })
  const runs = createRuns({
    classification,
    model: openRouter.model,
    isSimulated,
    requestsPerMinute: openRouter.requestsPerMinute,
  })
  return {
    name: 'classifier',
    jobs: [...jobs, runs.openRun],
    batches: [classification],
    schedules: [runs.tidy],
    limits,
    queues,
    routes: routesOf(runs),
    errors,
    attach: engine => {
      attach(engine)
      runs.attach(engine)
    },
    attached: [classify, runs.openRun, runs.tidy.job],
  }
}
