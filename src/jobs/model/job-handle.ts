/**
 * Defines the answer of `enqueue`: the id of the job, and a method that waits for the result.
 *
 * Invariant: a handle has no state of its own. `result` reads the row of the job, so that any process can wait, also after a restart
 * of the worker and through a database outage.
 */
import { RetomaError } from '../../errors/errors.ts'
import type { JobState } from './state.ts'

/** The stored form of a handler's result: `undefined` is stored as null. */
export type StoredResult<Output> = undefined extends Output ? Exclude<Output, void> | null : Output

/** The answer of `enqueue`. A step that returns a handle stores `id` and `created`: after a restart the step has no `result`; use `engine.wait({ job: id })`. */
export interface JobHandle<Output = unknown> {
  /** The id of the job. */
  readonly id: string
  /** false: a job with this key already existed, and `id` is the id of the existing job. */
  readonly created: boolean
  /**
   * Waits until the job is final or `stalled`, and returns the result of a job that succeeded. Survives a database outage. Throws
   * `job_failed` (the `cause` has the message, code and stack of the last error), `job_cancelled`, `job_skipped`, `job_stalled`, `not_found`
   * (also while the transaction of `tx` is open) and `engine_closed`.
   *
   * @example
   * const handle = await engine.enqueue(classify, { code: 'A-17' })
   * const { category } = await handle.result({ signal: AbortSignal.timeout(60_000) })
   */
  result(options?: WaitOptions): Promise<StoredResult<Output>>
}

/** Options of `wait` and of `result`. */
export interface WaitOptions {
  /** Ends the wait with the reason of the signal; the job is not affected. Default: wait until the job or batch has ended. */
  signal?: AbortSignal
}

interface EndedJob {
  readonly id: string
  readonly kind: string
  readonly state: JobState
  readonly result: unknown
  readonly error: { readonly message: string } | null
}

/** Returns the result of a job that succeeded; throws the error of any other end. */
export function resultOfEnded({ id, kind, state, result, error }: EndedJob): unknown {
  if (state === 'succeeded') return result
  const facts = { id, kind, problem: error?.message ?? '' }
  const options = error === null ? {} : { cause: error }
  if (state === 'cancelled') throw new RetomaError('job_cancelled', { id, kind })
  if (state === 'skipped') throw new RetomaError('job_skipped', facts, options)
  if (state === 'stalled') throw new RetomaError('job_stalled', facts, options)
  throw new RetomaError('job_failed', facts, options)
}
