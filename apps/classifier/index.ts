/**
 * The document classifier, a thin application on the engine: executions of up to 2,000 documents, each classified by a paid AI.
 * `createClassifier` gives what `up`, `serve` and `worker` run; it needs nothing but `retoma` and `retoma/http`.
 */
import type { System } from 'retoma/http'

export interface ClassifierOptions {
  /** Without a key the local classifier answers, and what it answers is marked simulado. */
  openRouter: { key: string | undefined; model: string | undefined; baseUrl: string }
}

export const createClassifier = ({ openRouter }: ClassifierOptions): System => ({
  name: 'classifier',
  routes: [],
  simulated: openRouter.key === undefined ? ['openrouter'] : [],
})
