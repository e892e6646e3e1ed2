/**
 * Defines the messages between a parent and a child. The parent owns the database: the child sends numbered requests, and the parent
 * answers by number. Every message names its run, so that leftovers of an earlier run in a reused child have no effect.
 *
 * Handler values travel in their stored encoding (lib/values/value-codec.ts), so that no value changes on the way.
 */

import type { ChildEnvironment } from '../jobs/model/environment-option.ts'
import type { JobPolicy } from '../jobs/model/policy.ts'
import type { PackedError } from './error-wire.ts'
import type { IsolatedCall } from './model/isolated-call.ts'

/** The attempt for a child to run. */
export interface ChildTask {
  readonly job: {
    readonly id: string
    readonly attempt: number
    readonly kind: string
    readonly queue: string
    readonly version: number
    readonly policy: JobPolicy
  }
  /** The claimed row without the input; `started_ms` is the database clock at the start of the run. */
  readonly claimed: object
  /** The input, checked by the schema of the kind and encoded by lib/values/value-codec.ts. */
  readonly input: string
  readonly work: Work
}

/** The location of the function: a module, or the jobs of the configuration that the parent was started from. */
export type Work = ModuleWork | { config: ConfigPlace; loader: string }

export interface ModuleWork {
  module: string
  loader: string | null
}

/** An isolated function for a child to call, on behalf of a handler elsewhere. */
export interface CallTask {
  readonly call: IsolatedCall
  readonly work: ModuleWork
}

/** The result, encoded by lib/values/value-codec.ts, or the error. */
export type CallEnd = { text: string } | { error: PackedError }

export interface ConfigPlace {
  folder: string
  /** Undefined: no configuration file; the kinds are the kinds of Retoma's own systems. */
  file?: string | undefined
}

/** The settings of a child. */
export interface Nature {
  isolation: 'thread' | 'process'
  memoryBytes: number | null
  environment: ChildEnvironment
  /** Niceness of a process. Default 0. */
  nice?: number
  /** After this time in the stopped state the parent may have been declared dead. */
  parentStoppedMs: number
}

export type ToChild =
  | { type: 'run'; run: number; childTask: ChildTask | CallTask }
  | { type: 'abort'; run: number; reason: PackedError }
  | { type: 'answer'; run: number; call: number; value?: unknown; error?: PackedError }
  /** The transaction is open: run its work. */
  | { type: 'work'; run: number; tx: number }

export type ToParent =
  | { type: 'ready' }
  /** Calls a method of the attempt's storage (execution/model/attempt-storage-calls.ts), or one of `transact`, `query` and `isolate`. */
  | { type: 'call'; run: number; call: number; method: string; args: readonly unknown[] }
  /** The work of a transaction is done: the text to save, or the error. */
  | { type: 'worked'; run: number; tx: number; text?: string; error?: PackedError }
  /** The work of a transaction timed out or was aborted. */
  | { type: 'cut'; run: number; tx: number; reason: PackedError }
  | {
      type: 'log'
      run: number
      level: 'debug' | 'info' | 'warn' | 'error'
      facts: Record<string, unknown>
      message: string
    }
  /** `grown`: the memory growth since the start of the child, in bytes. `spent`: the child must not be reused. */
  | { type: 'ended'; run: number; end: unknown; grown: number; spent?: boolean }
  /** The function could not be loaded. */
  | { type: 'unusable'; run: number; error: PackedError }
  /** Sent by a thread only; a process writes its last words to descriptor 4 (process-child.ts). */
  | { type: 'words'; words: LastMessage }

/** Reports of a child about itself and its end. `run`: the run of the code; undefined: unknown. */
export type LastMessage =
  /** The child has received this run; sent by a process only. */
  | { how: 'begun'; run: number }
  | { how: 'memory'; bytes: number; over: boolean }
  | { how: 'parent' }
  | { how: 'uncaught'; run: number | undefined; error: PackedError }
  | { how: 'exit'; run: number | undefined; code: number; stack: string }
