/**
 * Declares the storage of an attempt: everything that the handler's context asks of the database. A worker implements the storage on the
 * database (worker/attempt-storage.ts). A child implements the storage by calls to the parent (isolation/child/remote-attempt-storage.ts):
 * a verb of the table below is a message with the verb and its arguments, and needs no code of its own on either side.
 */

import type { FileView } from '../../files/model/file.ts'
import type { JobQuery, JobTransaction, QueryResult } from '../../jobs/model/job-context.ts'
import type { ProviderStand, ProviderWord } from '../../providers/model/provider.ts'
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
  /** Runs a read-only query for the handler. */
  look(query: JobQuery): Promise<QueryResult>
  /** The state of the provider after `word`. The report of an answer does not wait for the database. */
  provider(name: string, word: ProviderWord): Promise<ProviderStand>
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

/** The verbs that a child calls by name. `transact` takes a function, which cannot be sent (isolation/child-run.ts). */
export type RemoteVerb = Exclude<keyof AttemptStorage, 'transact'>

/** 'anything': an id, which the storage itself checks. */
type ArgumentType = 'string' | 'number' | 'object' | 'anything'

/** The types of the arguments. The parent checks every call of a child against this table. */
const argumentTypes: Readonly<Record<RemoteVerb, readonly ArgumentType[]>> = {
  load: [],
  save: ['string', 'string'],
  note: ['object'],
  look: ['object'],
  provider: ['string', 'object'],
  file: ['anything'],
  piece: ['string', 'number'],
  copy: ['anything'],
  warn: ['string', 'object'],
}

export const remoteVerbs = Object.keys(argumentTypes) as readonly RemoteVerb[]

/** Calls a verb that a child has sent. Rejects for an unknown verb and for arguments of other types. */
export async function callVerb(storage: AttemptStorage, verb: string, args: readonly unknown[]): Promise<unknown> {
  if (!isRemoteVerb(verb)) throw new TypeError(`the storage of an attempt has no verb "${verb}"`)
  const types = argumentTypes[verb]
  const fits = args.length === types.length && types.every((type, n) => isOf(type, args[n]))
  if (!fits) throw new TypeError(`the verb "${verb}" takes (${types.join(', ')})`)
  const method = storage[verb] as (...args: readonly unknown[]) => Promise<unknown>
  return method.call(storage, ...args)
}

const isRemoteVerb = (verb: string): verb is RemoteVerb => Object.hasOwn(argumentTypes, verb)

const isOf = (type: ArgumentType, value: unknown): boolean =>
  type === 'anything' || (value !== null && typeof value === type)
