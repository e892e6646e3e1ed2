/**
 * Wraps every method of an engine with checks: the engine is open, the arguments are valid.
 *
 * Invariant: after close() was called no method begins; the call is rejected, instead of failing on an ended pool. Calls made
 * before are tracked until they are answered. A method begins only with valid arguments (method-parameters.ts), and an error of a
 * statement of Retoma always carries a code.
 */

import { withCode } from '../database/pg-errors.ts'
import { RetomaError } from '../errors/errors.ts'
import { withDeadline } from '../lib/with-deadline.ts'
import { checkArguments, type Parameter } from './method-parameters.ts'

/** Methods that do not return a promise; `watch` returns a promise only with `once`. */
const atOnce = ['kind', 'kinds', 'batchNamed', 'watch', 'events', 'include']
const lastAnswersMs = 5000

export class ClosedCheck {
  readonly #end: () => Promise<void>
  #closed: Promise<void> | undefined
  readonly #underWay = new Set<Promise<unknown>>()

  /** `end`: closes the engine; called once. */
  constructor(end: () => Promise<void>) {
    this.#end = end
  }

  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  /** Waits until earlier calls are answered, up to `lastAnswersMs`. */
  async lastAnswers(): Promise<void> {
    await withDeadline(Promise.allSettled(this.#underWay), lastAnswersMs, () => new Error('too late')).catch(() => {})
  }

  /** Answers the same methods with the checks around each. `taken`: the parameters of each method. */
  open<T extends object>(methods: T, taken: { readonly [Name in keyof T]: readonly Parameter[] }): T {
    const guarded = Object.entries(methods).map(([name, method]) => [
      name,
      this.#guarded(name, method, taken[name as keyof T]),
    ])
    return Object.fromEntries(guarded) as T
  }

  #guarded(
    name: string,
    method: (...given: unknown[]) => unknown,
    taken: readonly Parameter[],
  ): (...given: unknown[]) => unknown {
    const check = (given: unknown[]) => {
      if (this.#closed !== undefined) throw new RetomaError('engine_closed', {})
      checkArguments(taken, given)
    }
    if (atOnce.includes(name))
      return (...given) => {
        check(given)
        const answer = method(...given)
        return answer instanceof Promise ? this.#tracked(answer) : answer
      }
    const begin = (given: unknown[]): Promise<unknown> => {
      try {
        check(given)
        return method(...given) as Promise<unknown>
      } catch (error) {
        return Promise.reject(error)
      }
    }
    return (...given) => this.#tracked(begin(given))
  }

  #tracked(result: Promise<unknown>): Promise<unknown> {
    const answer = result.catch(withCode)
    this.#underWay.add(answer)
    const done = () => void this.#underWay.delete(answer)
    answer.then(done, done)
    return answer
  }
}
