/**
 * Declares the storage of an attempt: everything that the handler's context asks of the database. A worker implements the storage on the
 * database (worker/attempt-storage.ts). A child implements the storage by calls to the parent (isolation/child/remote-attempt-storage.ts):
 * a method of the table below is a message with the name and the arguments, and needs no code of its own on either side.
 */

import type { FileView } from '../../files/model/file.ts'
import type { JobQuery, JobTransaction, QueryResult } from '../../jobs/model/job-context.ts'
import type { ProviderPermission, ProviderWord } from '../../providers/model/provider.ts'
import type { WriteResult } from './write-result.ts'

export interface ProgressNote {
  checkpoint?: string
  checkpointData?: string
  progress?: string
}

/** 'there': a transaction of this name is already committed; `value` is its checkpoint. */
export type StepTransactionResult = { how: 'written' } | { how: 'lease_lost' } | { how: 'there'; value: unknown }

/** The storage of one attempt. Reads wait while the database is unreachable, until the signal of the attempt aborts. */
export interface AttemptStorage {
  /** Loads the checkpoints of earlier attempts. */
  load(): Promise<ReadonlyMap<string, unknown>>
  save(name: string, value: string): Promise<WriteResult>
  note(note: ProgressNote): Promise<WriteResult>
  /** Adds a cost, in the order of the calls. */
  cost(currency: string, amount: string): Promise<WriteResult>
  /** Runs a read-only query for the handler. */
  readOnlyQuery(query: JobQuery): Promise<QueryResult>
  /** The state of the provider after `word`. The report of an answer does not wait for the database. */
  provider(name: string, word: ProviderWord): Promise<ProviderPermission>
  /** null: no such file. */
  file(id: string): Promise<FileView | null>
  /** Throws `file_gone`. */
  piece(id: string, n: number): Promise<Uint8Array>
  /** The path of a local copy of the file, kept until the attempt ends; null: no such file. */
  copy(id: string): Promise<string | null>
  /** Writes a warning to the job's history. */
  warn(what: string, facts: Readonly<Record<string, unknown>>): Promise<void>
  /** Like `save`, with the queries of `work` in the same transaction; `work` returns the text to save. */
  transact(
    name: string,
    work: (tx: JobTransaction) => Promise<string>,
    signal: AbortSignal,
  ): Promise<StepTransactionResult>
}

/** The methods that a child calls by name. `transact` takes a function, which cannot be sent (isolation/child-run.ts). */
export type RemoteMethod = Exclude<keyof AttemptStorage, 'transact'>

/** 'anything': an id, which the storage itself checks. */
type ArgumentType = 'string' | 'number' | 'object' | 'anything'

/** The types of the arguments. The parent checks every call of a child against this table. */
const argumentTypes: Readonly<Record<RemoteMethod, readonly ArgumentType[]>> = {
  load: [],
  save: ['string', 'string'],
  note: ['object'],
  cost: ['string', 'string'],
  readOnlyQuery: ['object'],
  provider: ['string', 'object'],
  file: ['anything'],
  piece: ['string', 'number'],
  copy: ['anything'],
  warn: ['string', 'object'],
}

export const remoteMethods = Object.keys(argumentTypes) as readonly RemoteMethod[]

/** Calls a method that a child has sent. Rejects for an unknown method and for arguments of other types. */
export async function callStorageMethod(
  storage: AttemptStorage,
  method: string,
  args: readonly unknown[],
): Promise<unknown> {
  if (!isRemoteMethod(method)) throw new TypeError(`the storage of an attempt has no method "${method}"`)
  const types = argumentTypes[method]
  const fits = args.length === types.length && types.every((type, n) => isOf(type, args[n]))
  if (!fits) throw new TypeError(`the method "${method}" takes (${types.join(', ')})`)
  const call = storage[method] as (...args: readonly unknown[]) => Promise<unknown>
  return call.call(storage, ...args)
}

const isRemoteMethod = (method: string): method is RemoteMethod => Object.hasOwn(argumentTypes, method)

const isOf = (type: ArgumentType, value: unknown): boolean =>
  type === 'anything' || (value !== null && typeof value === type)
