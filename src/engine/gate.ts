/**
 * What every verb of an engine goes through: open until the engine is closed.
 *
 * Invariant: once close() was called no verb begins; it is refused, instead of failing on a pool that has ended. What was
 * asked before is known until it is answered.
 */
import { RetomaError } from '../errors.ts'
import { withDeadline } from '../lib/deadline.ts'

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

  /** The same verbs, for as long as this is open. */
  open<T extends object>(verbs: T): T {
    return Object.fromEntries(Object.entries(verbs).map(([name, verb]) => [name, this.#guarded(name, verb)])) as T
  }

  #guarded(name: string, verb: (...given: unknown[]) => unknown): (...given: unknown[]) => unknown {
    const refusal = () => (this.#closed === undefined ? undefined : new RetomaError('engine_closed', {}))
    if (atOnce.includes(name))
      return (...given) => {
        const refused = refusal()
        if (refused) throw refused
        return verb(...given)
      }
    return (...given) => {
      const refused = refusal()
      if (refused) return Promise.reject(refused)
      const answer = verb(...given) as Promise<unknown>
      this.#underWay.add(answer)
      const done = () => void this.#underWay.delete(answer)
      answer.then(done, done)
      return answer
    }
  }
}
