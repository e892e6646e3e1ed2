/**
 * `retryWhileDatabaseAway`: repeats a call of the engine inside a handler while the database is away, as `ctx.query` and `ctx.step` do
 * by themselves. An outage of the database is no failure of a job, and must not cost an attempt.
 */
import { retryWhileAway } from '../database/retry-while-away.ts'
import { isRetomaError } from '../errors/errors.ts'
import type { Engine } from './engine-api.ts'
import { internalsOf } from './internals.ts'

const awayCodes = ['database_unreachable', 'database_timeout', 'database_full', 'database_locked'] as const

/**
 * Runs `work`, a call of the engine inside a handler such as `engine.query`, `engine.files.put` or `engine.limit`, and repeats `work` while the
 * database is away. The pause is 100 ms, then twice as long each time, at most 5 s. Any other error is thrown at once. Throws the reason of
 * `signal` after an abort, so the timeout of the step or of the job bounds the wait.
 *
 * `work` must be safe to repeat: a write may be committed although its answer is lost.
 *
 * @example
 * defineJob({
 *   kind: 'page',
 *   run: ctx => {
 *     const allowance = { bucket: 'shop', who: 'pages', limit: 10, per: minutes(1) }
 *     return retryWhileDatabaseAway(engine, () => engine.limit(allowance), ctx.signal)
 *   },
 * })
 */
export function retryWhileDatabaseAway<T>(engine: Engine, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const isAnswer = (error: unknown) => !awayCodes.some(code => isRetomaError(error, code))
  return retryWhileAway(work, { clock: internalsOf(engine).clock, signal, isAnswer })
}
