/**
 * The transaction as a handler sees it: it asks, and neither begins nor ends.
 *
 * Invariant: nothing is asked through it before its work or after; what it may have asked without waiting is answered before
 * the checkpoint is written. Once the signal has aborted its connection is gone, and what was asked on it with it.
 */
import type { JobQuery, JobTransaction } from '../core/context.ts'
import { asText } from '../core/json.ts'
import { doNotRetry } from '../core/outcome.ts'
import { RetomaError } from '../errors.ts'
import type { Loan } from '../store/loan.ts'
import { sqlState } from '../store/trouble.ts'
import { isTransactionControl } from './transaction-control.ts'

export class Tx {
  readonly #loan: Loan
  readonly #name: string
  readonly #signal: AbortSignal
  readonly #asked = new Set<Promise<unknown>>()
  /** The first statement that PostgreSQL refused: nothing after it is taken. */
  #refused: unknown
  #over = false

  constructor(loan: Loan, name: string, signal: AbortSignal) {
    this.#loan = loan
    this.#name = name
    this.#signal = signal
  }

  async during<T>(work: (tx: JobTransaction) => Promise<T>): Promise<T> {
    const ended = new AbortController()
    const aborted = new Promise<never>((_, reject) => {
      const cut = () => {
        this.#loan.giveBack('in doubt')
        reject(this.#signal.reason)
      }
      if (this.#signal.aborted) cut()
      this.#signal.addEventListener('abort', cut, { signal: ended.signal })
    })
    aborted.catch(() => {})
    try {
      return await Promise.race([work({ query: (query, values) => this.#heard(query, values) }), aborted])
    } finally {
      // What is being committed is no longer cut.
      this.#over = true
      await Promise.allSettled(this.#asked)
      ended.abort()
    }
  }

  /** What an error means: thrown when it is the handler's own, answered as `failed` when calling it again may help. */
  judge(error: unknown): { failed: unknown } {
    const step = this.#name
    const { trouble } = this.#loan
    if (trouble !== undefined && sqlState(trouble) === '25P03') throw new RetomaError('transaction_idle', { step })
    if (trouble !== undefined) return { failed: error }
    if (/^40/.test(sqlState(this.#refused ?? error) ?? '')) return { failed: this.#refused ?? error }
    if (sqlState(error) === '25P02') throw this.aborted(error)
    throw error
  }

  /** A statement of it had failed, and whoever asked for it went on. */
  aborted(error: unknown): unknown {
    if (this.#refused === undefined) return error
    const problem = asText((this.#refused as Error).message)
    return new RetomaError('transaction_aborted', { step: this.#name, problem }, { cause: this.#refused })
  }

  /** One that nobody waits for must not end the process when it fails. */
  #heard(query: string | JobQuery, values?: readonly unknown[]): Promise<never> {
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
      const { command, rowCount, rows } = await this.#loan.query({
        text,
        values: values ?? asked.values ?? [],
        ...(rowMode === undefined ? {} : { rowMode }),
        ...(types === undefined ? {} : { types: guarded(types) }),
      })
      // Plain data, so that a handler may return it as it is.
      return { command, rowCount, rows }
    } catch (error) {
      this.#signal.throwIfAborted()
      if (sqlState(error) !== undefined) this.#refused ??= error
      throw error
    }
  }
}

/** The driver asks for parsers where an error ends the process, and calls them where it fails the statement. */
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
