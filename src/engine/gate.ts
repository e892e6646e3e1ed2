/**
 * What every verb of an engine goes through: open until the engine is closed.
 *
 * Invariant: once close() was called no verb begins; it is refused, instead of failing on a pool that has ended. What was
 * asked before is known until it is answered. A verb begins only with arguments that it takes (parameters.ts), and an error of a
 * statement of Retoma's own leaves with a code.
 */
import { RetomaError } from '../errors.ts'
import { withDeadline } from '../lib/deadline.ts'
import { withCode } from '../store/trouble.ts'
import { checkArguments, type Parameter } from './parameters.ts'

/** The verbs that answer without a promise. */
const atOnce = ['kind', 'kinds', 'batchNamed', 'watch', 'events']
const lastAnswersMs = 5000

export class Gate {
  readonly #end: () => Promise<void>
  #closed: Promise<void> | undefined
  readonly #underWay = new Set<Promise<unknown>>()

  /** `end`: what closing comes to; it happens once. */
  constructor(end: () => Promise<void>) {
    this.#end = end
  }

  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  /** What was asked before is answered, within reason. */
  async lastAnswers(): Promise<void> {
    await withDeadline(Promise.allSettled(this.#underWay), lastAnswersMs, () => new Error('too late')).catch(() => {})
  }

  /** The same verbs, for as long as this is open. `taken`: what each of them takes. */
  open<T extends object>(verbs: T, taken: { readonly [Name in keyof T]: readonly Parameter[] }): T {
    const guarded = Object.entries(verbs).map(([name, verb]) => [
      name,
      this.#guarded(name, verb, taken[name as keyof T]),
    ])
    return Object.fromEntries(guarded) as T
  }

  #guarded(
    name: string,
    verb: (...given: unknown[]) => unknown,
    taken: readonly Parameter[],
  ): (...given: unknown[]) => unknown {
    const check = (given: unknown[]) => {
      if (this.#closed !== undefined) throw new RetomaError('engine_closed', {})
      checkArguments(taken, given)
    }
    if (atOnce.includes(name))
      return (...given) => {
        check(given)
        return verb(...given)
      }
    const begin = (given: unknown[]): Promise<unknown> => {
      try {
        check(given)
        return verb(...given) as Promise<unknown>
      } catch (error) {
        return Promise.reject(error)
      }
    }
    return (...given) => {
      const answer = begin(given).catch(withCode)
      this.#underWay.add(answer)
      const done = () => void this.#underWay.delete(answer)
      answer.then(done, done)
      return answer
    }
  }
}
