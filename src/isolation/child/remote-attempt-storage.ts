/** Implements the storage of attempts (`Keeper` of src/execution/handler-services.ts) in a child by requests to the parent. */

import type { QueryResult } from '../../database/leased-connection.ts'
import { localized, RetomaError } from '../../errors/errors.ts'
import type { AttemptStorage } from '../../execution/handler-services.ts'
import type { WriteResult } from '../../execution/model/write-result.ts'
import type { StepTransactionResult } from '../../execution/step-transaction.ts'
import type { FileView } from '../../files/model/file.ts'
import type { JobQuery, JobTransaction } from '../../jobs/model/job-context.ts'
import { doNotRetry } from '../../jobs/model/outcome.ts'
import type { ProviderStand } from '../../providers/model/provider.ts'
import type { StorageRequest, ToChild } from '../child-protocol.ts'
import { originOf, packError, unpackError } from '../error-wire.ts'
import type { IsolatedCall } from '../model/isolated-call.ts'
import type { Channel } from './channel.ts'

interface Waiting {
  resolve: (value: never) => void
  reject: (error: unknown) => void
}

interface Open {
  work: (tx: JobTransaction) => Promise<string>
  /** The error thrown by the transaction's work, if any. */
  thrown?: { error: unknown }
}

export class RemoteAttemptStorage implements AttemptStorage {
  readonly #channel: Channel
  readonly #run: number
  readonly #waiting = new Map<number, Waiting>()
  readonly #open = new Map<number, Open>()
  #calls = 0

  constructor(channel: Channel, run: number) {
    this.#channel = channel
    this.#run = run
  }

  hear(message: Extract<ToChild, { type: 'answer' | 'work' }>): void {
    if (message.type === 'work') return void this.#work(message.tx)
    const waiting = this.#waiting.get(message.call)
    this.#waiting.delete(message.call)
    if (message.error === undefined) waiting?.resolve(message.value as never)
    else waiting?.reject(unpackError(message.error))
  }

  load: AttemptStorage['load'] = () => this.#ask<ReadonlyMap<string, unknown>>({ verb: 'load' })

  save: AttemptStorage['save'] = (_, name, value) => this.#ask<WriteResult>({ verb: 'save', name, value })

  note: AttemptStorage['note'] = (_, note) => this.#ask<WriteResult>({ verb: 'note', note })

  file: AttemptStorage['file'] = (_, id) => this.#ask<FileView | null>({ verb: 'file', id })

  piece: AttemptStorage['piece'] = (_, id, n) => this.#ask<Uint8Array>({ verb: 'piece', id, n })

  copy: AttemptStorage['copy'] = (_, id) => this.#ask<string | null>({ verb: 'copy', id })

  warn: AttemptStorage['warn'] = (_, what, facts) => this.#ask<void>({ verb: 'warn', what, facts })

  look: AttemptStorage['look'] = async ({ types, ...query }) => {
    if (types !== undefined) throw parsersStayHere()
    const answer = await this.#ask<QueryResult>({ verb: 'look', query })
    for (const row of answer.rows) asBuffers(row as Record<string, unknown>)
    return answer
  }

  provider: AttemptStorage['provider'] = (_, name, word) => this.#ask<ProviderStand>({ verb: 'provider', name, word })

  isolate = (call: IsolatedCall) => this.#ask<string>({ verb: 'isolate', call })

  transact: AttemptStorage['transact'] = async (_, name, work, signal) => {
    const tx = ++this.#calls
    const open: Open = { work }
    this.#open.set(tx, open)
    const cut = () => this.#channel.send({ type: 'cut', run: this.#run, tx, reason: packError(signal.reason) })
    signal.addEventListener('abort', cut, { once: true })
    try {
      return await this.#ask<StepTransactionResult>({ verb: 'transact', name, tx })
    } catch (error) {
      signal.throwIfAborted()
      // Throw the original error object of the handler.
      if (open.thrown !== undefined && isSame(error, open.thrown.error)) throw open.thrown.error
      throw error
    } finally {
      signal.removeEventListener('abort', cut)
      this.#open.delete(tx)
    }
  }

  async #work(tx: number): Promise<void> {
    const open = this.#open.get(tx)
    if (open === undefined) return
    delete open.thrown
    try {
      const text = await open.work({ query: (query, values) => this.#query(tx, query, values) })
      this.#channel.send({ type: 'worked', run: this.#run, tx, text })
    } catch (error) {
      open.thrown = { error }
      this.#channel.send({ type: 'worked', run: this.#run, tx, error: packError(error) })
    }
  }

  /** Keeps an unhandled rejection from ending the process if the handler does not await the query. */
  #query(tx: number, query: string | JobQuery, values?: readonly unknown[]): Promise<never> {
    const asked = this.#asked(tx, query, values)
    asked.catch(() => {})
    return asked
  }

  async #asked(tx: number, query: string | JobQuery, values: readonly unknown[] | undefined): Promise<never> {
    const { types, ...rest }: JobQuery = typeof query === 'string' ? { text: query } : query
    if (types !== undefined) throw parsersStayHere()
    const answer = await this.#ask<{ rows: unknown[] }>({
      verb: 'query',
      tx,
      query: { ...rest, values: values ?? rest.values ?? [] },
    })
    for (const row of answer.rows) asBuffers(row as Record<string, unknown>)
    return answer as never
  }

  #ask<Answer>(asked: StorageRequest): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      const call = ++this.#calls
      this.#waiting.set(call, { resolve, reject })
      try {
        this.#channel.send({ type: 'call', run: this.#run, call, asked })
      } catch (error) {
        this.#waiting.delete(call)
        reject(error)
      }
    })
  }
}

/** Between threads a Buffer arrives as a Uint8Array. */
function asBuffers(row: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(row)) {
    if (value instanceof Uint8Array && !Buffer.isBuffer(value))
      row[name] = Buffer.from(value.buffer, value.byteOffset, value.length)
  }
}

/** True if the returned error is the error sent before: compared by origin, else by name and message. */
function isSame(back: unknown, thrown: unknown): boolean {
  const [one, other] = [packError(back), packError(thrown)]
  if ('value' in one || 'value' in other) return JSON.stringify(one) === JSON.stringify(other)
  const origin = originOf(one)
  return origin === undefined ? one.message === other.message && one.name === other.name : origin === originOf(other)
}

const parsersStayHere = () =>
  doNotRetry(
    new RetomaError('bad_option', {
      option: 'types',
      problem: localized(
        'parsers are functions, which cannot be handed to the parent; parse the rows in the handler',
        'parsers são funções, que não podem ser entregues ao processo pai; converta as linhas no handler',
      ),
    }),
  )
