/**
 * What a parent and its child tell each other. The parent owns the database: the child asks for what it needs of it, by
 * number, and gets an answer to that number. Every message names its run, so that what is left of an earlier one in a child
 * that is used again reaches nothing.
 *
 * Values of a handler's travel as the text they are kept as (core/value.ts), so that none arrives as something else.
 */
import type { JobQuery } from '../core/context.ts'
import type { ChildEnvironment } from '../core/environment.ts'
import type { IsolatedCall } from '../core/isolated.ts'
import type { Policy } from '../core/policy.ts'
import type { ProviderWord } from '../core/provider.ts'
import type { PackedError } from './packed-error.ts'

/** What a child is told to run. */
export interface Errand {
  readonly job: {
    readonly id: string
    readonly attempt: number
    readonly kind: string
    readonly queue: string
    readonly version: number
    readonly policy: Policy
  }
  /** The claimed row without its input; its clock as it is when the errand begins. */
  readonly claimed: object
  /** Checked by its kind's schema already; as core/value.ts writes it. */
  readonly input: string
  readonly work: Work
}

/** Where the function is: in a module, or among the jobs of the configuration that the parent was started from. */
export type Work = ModuleWork | { config: ConfigPlace; loader: string }

export interface ModuleWork {
  module: string
  loader: string | null
}

/** A function to be called, for a handler that runs elsewhere. */
export interface CallErrand {
  readonly call: IsolatedCall
  readonly work: ModuleWork
}

/** What it returned, as core/value.ts writes it, or threw. */
export type CallEnd = { text: string } | { error: PackedError }

export interface ConfigPlace {
  folder: string
  /** Undefined: there is none, and the kinds are those of Retoma's own systems. */
  file?: string | undefined
}

/** What a child is made with. */
export interface Nature {
  isolation: 'thread' | 'process'
  memoryBytes: number | null
  environment: ChildEnvironment
  /** A parent that has been stopped for so long may have been declared dead. */
  parentStoppedMs: number
}

export type ToChild =
  | { type: 'run'; run: number; errand: Errand | CallErrand }
  | { type: 'abort'; run: number; reason: PackedError }
  | { type: 'answer'; run: number; call: number; value?: unknown; error?: PackedError }
  /** Its transaction is open: do what belongs into it. */
  | { type: 'work'; run: number; tx: number }

export type Asked =
  | { verb: 'load' }
  | { verb: 'save'; name: string; value: string }
  | { verb: 'note'; note: object }
  | { verb: 'file'; id: string }
  | { verb: 'piece'; id: string; n: number }
  | { verb: 'copy'; id: string }
  | { verb: 'warn'; what: string; facts: Readonly<Record<string, unknown>> }
  | { verb: 'look'; query: Omit<JobQuery, 'types'> }
  | { verb: 'provider'; name: string; word: ProviderWord }
  | { verb: 'transact'; name: string; tx: number }
  | { verb: 'isolate'; call: IsolatedCall }
  | { verb: 'query'; tx: number; query: Omit<JobQuery, 'types'> }

export type ToParent =
  | { type: 'ready' }
  | { type: 'call'; run: number; call: number; asked: Asked }
  /** What belongs into a transaction is done: what to keep of it, or why not. */
  | { type: 'worked'; run: number; tx: number; text?: string; error?: PackedError }
  /** Its time is up. */
  | { type: 'cut'; run: number; tx: number; reason: PackedError }
  | {
      type: 'log'
      run: number
      level: 'debug' | 'info' | 'warn' | 'error'
      facts: Record<string, unknown>
      message: string
    }
  /** `grown`: by how many bytes since the child began. `spent`: it is not to be used again. */
  | { type: 'ended'; run: number; end: unknown; grown: number; spent?: boolean }
  /** Its function could not be loaded. */
  | { type: 'unusable'; run: number; error: PackedError }
  /** From a thread; a process writes them where they arrive though it dies (process-child.ts). */
  | { type: 'words'; words: Words }

/** What a child says of itself while it can, and of its end. `run`: whose code it was; undefined: nobody knows. */
export type Words =
  /** It has this run in its hands; from a process only. */
  | { how: 'begun'; run: number }
  | { how: 'memory'; bytes: number; over: boolean }
  | { how: 'parent' }
  | { how: 'uncaught'; run: number | undefined; error: PackedError }
  | { how: 'exit'; run: number | undefined; code: number; stack: string }
