/** Implements the storage of an attempt in a child by calls to the parent. */

import type { QueryResult } from '../../database/leased-connection.ts'
import { localized, RetomaError } from '../../errors/errors.ts'
import type { AttemptStorages } from '../../execution/attempt.ts'
import {
  type AttemptStorage,
  type RemoteMethod,
  remoteMethods,
  type StepTransactionResult,
} from '../../execution/model/attempt-storage-calls.ts'
import type { JobQuery, JobTransaction } from '../../jobs/model/job-context.ts'
import { doNotRetry } from '../../jobs/model/outcome.ts'
import type { ToChild } from '../child-protocol.ts'
import { originOf, packError, unpackError } from '../error-wire.ts'
import type { Isolator } from '../isolated-calls.ts'
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

export class RemoteAttemptStorage implements AttemptStorages, Isolator {
  readonly #channel: Channel
  readonly #run: number
  readonly #waiting = new Map<number, Waiting>()
  readonly #open = new Map<number, Open>()
  #calls = 0

  constructor(channel: Channel, run: number) {
    this.#channel = channel
    this.#run = run
  }

  /** The storage of the attempt of this run: each method is a call to the parent, which knows the attempt. */
  of(): AttemptStorage {
    const calls = remoteMethods.map(method => [method, (...args: unknown[]) => this.#call(method, args)] as const)
    return {
      ...(Object.fromEntries(calls) as Pick<AttemptStorage, RemoteMethod>),
      readOnlyQuery: query => this.#readOnlyQuery(query),
      transact: (name, work, signal) => this.#transact(name, work, signal),
    }
  }

  receive(message: Extract<ToChild, { type: 'answer' | 'work' }>): void {
    if (message.type === 'work') return void this.#work(message.tx)
    const waiting = this.#waiting.get(message.call)
    this.#waiting.delete(message.call)
    if (message.error === undefined) waiting?.resolve(message.value as never)
    else waiting?.reject(unpackError(message.error))
  }

  readonly isolate = (call: IsolatedCall) => this.#call<string>('isolate', [call])

  async #readOnlyQuery({ types, ...query }: JobQuery): Promise<QueryResult> {
    if (types !== undefined) throw parsersStayHere()
    const answer = await this.#call<QueryResult>('readOnlyQuery', [query])
    for (const row of answer.rows) asBuffers(row as Record<string, unknown>)
    return answer
  }

  async #transact(
    name: string,
    work: (tx: JobTransaction) => Promise<string>,
    signal: AbortSignal,
  ): Promise<StepTransactionResult> {
    const tx = ++this.#calls
    const open: Open = { work }
    this.#open.set(tx, open)
    const cut = () => this.#channel.send({ type: 'cut', run: this.#run, tx, reason: packError(signal.reason) })
    signal.addEventListener('abort', cut, { once: true })
    try {
      return await this.#call<StepTransactionResult>('transact', [name, tx])
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
    const all = values ?? rest.values ?? []
    const answer = await this.#call<{ rows: unknown[] }>('query', [tx, { ...rest, values: all }])
    for (const row of answer.rows) asBuffers(row as Record<string, unknown>)
    return answer as never
  }

  #call<Answer>(method: string, args: readonly unknown[]): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      const call = ++this.#calls
      this.#waiting.set(call, { resolve, reject })
      try {
        this.#channel.send({ type: 'call', run: this.#run, call, method, args })
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
