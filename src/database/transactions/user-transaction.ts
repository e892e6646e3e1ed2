/**
 * The transaction of a handler: runs queries, and neither begins nor ends the transaction.
 *
 * Invariant: no query runs before or after `work`; queries without an `await` are answered before the checkpoint is written. When the
 * signal aborts, the connection is closed, and all queries on the connection end.
 */

import { RetomaError } from '../../errors/errors.ts'
import type { JobQuery, JobTransaction } from '../../jobs/model/job-context.ts'
import { doNotRetry } from '../../jobs/model/outcome.ts'
import { asText } from '../../lib/values/json.ts'
import type { LeasedConnection } from '../leased-connection.ts'
import { sqlState } from '../pg-errors.ts'
import { isTransactionControl } from './transaction-control.ts'

export class UserTransaction {
  readonly #connection: LeasedConnection
  readonly #name: string
  readonly #signal: AbortSignal
  readonly #asked = new Set<Promise<unknown>>()
  /** The first statement rejected by PostgreSQL: PostgreSQL accepts nothing after this statement. */
  #refused: unknown
  #over = false

  constructor(connection: LeasedConnection, name: string, signal: AbortSignal) {
    this.#connection = connection
    this.#name = name
    this.#signal = signal
  }

  async during<T>(work: (tx: JobTransaction) => Promise<T>): Promise<T> {
    const ended = new AbortController()
    const aborted = new Promise<never>((_, reject) => {
      const cut = () => {
        this.#connection.release('in doubt')
        reject(this.#signal.reason)
      }
      if (this.#signal.aborted) cut()
      this.#signal.addEventListener('abort', cut, { signal: ended.signal })
    })
    aborted.catch(() => {})
    try {
      return await Promise.race([work({ query: (query, values) => this.#tracked(query, values) }), aborted])
    } finally {
      // From here on the signal no longer closes the connection: the commit follows.
      this.#over = true
      await Promise.allSettled(this.#asked)
      ended.abort()
    }
  }

  /** Classifies an error: throws an error of the handler, and returns `failed` if another call may succeed. */
  judge(error: unknown): { failed: unknown } {
    const step = this.#name
    const { trouble } = this.#connection
    if (trouble !== undefined && sqlState(trouble) === '25P03') throw new RetomaError('transaction_idle', { step })
    if (trouble !== undefined) return { failed: error }
    if (/^40/.test(sqlState(this.#refused ?? error) ?? '')) return { failed: this.#refused ?? error }
    if (sqlState(error) === '25P02') throw this.aborted(error)
    throw error
  }

  /** The error for a transaction that continued after a rejected statement. */
  aborted(error: unknown): unknown {
    if (this.#refused === undefined) return error
    const problem = asText((this.#refused as Error).message)
    return new RetomaError('transaction_aborted', { step: this.#name, problem }, { cause: this.#refused })
  }

  /** Keeps an unhandled rejection from ending the process if the handler does not await the query. */
  #tracked(query: string | JobQuery, values?: readonly unknown[]): Promise<never> {
    const answer = this.#query(query, values)
    answer.catch(() => {})
    this.#asked.add(answer)
    const done = () => void this.#asked.delete(answer)
    answer.then(done, done)
    return answer as Promise<never>
  }

  async #query(query: string | JobQuery, values?: readonly unknown[]): Promise<unknown> {
    this.#signal.throwIfAborted()
    if (this.#over) throw new RetomaError('transaction_over', { step: this.#name })
    const asked = typeof query === 'string' ? { text: query } : query
    if (isTransactionControl(asked.text)) throw doNotRetry(new RetomaError('transaction_control', { step: this.#name }))
    try {
      // Without a name: a prepared statement would outlive the transaction.
      const { text, rowMode, types } = asked
      const { command, rowCount, rows } = await this.#connection.query({
        text,
        values: values ?? asked.values ?? [],
        ...(rowMode === undefined ? {} : { rowMode }),
        ...(types === undefined ? {} : { types: guarded(types) }),
      })
      // Plain data, so that a handler may return the rows unchanged.
      return { command, rowCount, rows }
    } catch (error) {
      this.#signal.throwIfAborted()
      if (sqlState(error) !== undefined) this.#refused ??= error
      throw error
    }
  }
}

/**
 * Defers errors of custom type lookups: the driver calls `getTypeParser` where an error ends the process, and calls the parser where an
 * error only fails the statement.
 */
const guarded = (types: NonNullable<JobQuery['types']>): NonNullable<JobQuery['types']> => ({
  getTypeParser(id, format) {
    try {
      return types.getTypeParser(id, format)
    } catch (error) {
      return () => {
        throw error
      }
    }
  },
})
