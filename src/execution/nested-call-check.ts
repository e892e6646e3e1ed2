/**
 * Tracks the code that runs inside a transaction of an attempt. Steps, sleeps and similar calls are rejected there: these calls write on
 * other connections, which would wait for the locks of the transaction while the transaction waits for the call.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { RetomaError } from '../errors/errors.ts'
import { doNotRetry } from '../jobs/model/outcome.ts'

/** One object for all attempts of an engine or a child: each AsyncLocalStorage in use costs time at every promise. */
export class NestedCallCheck {
  readonly #inside = new AsyncLocalStorage<{ attempt: object; step: string }>()
  /** The number of open transactions. */
  #open = 0

  // Switched off while no transaction is open: with AsyncLocalStorage, Node 20 tracks every promise of the process and slows down all jobs.
  async runInsideTransaction<T>(attempt: object, step: string, work: () => Promise<T>): Promise<T> {
    this.#open++
    try {
      return await this.#inside.run({ attempt, step }, work)
    } finally {
      if (--this.#open === 0) this.#inside.disable()
    }
  }

  /** Throws if called inside a transaction of the same attempt. */
  refuseInsideTransaction(attempt: object, what: string): void {
    const at = this.#inside.getStore()
    if (at?.attempt === attempt)
      throw doNotRetry(new RetomaError('in_transaction', { what: `ctx.${what}`, step: at.step }))
  }
}
