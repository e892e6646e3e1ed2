/** What a handler gets besides its input, as its author sees it. */
import type { Duration } from './duration.ts'
import type { OpenFile } from './file.ts'
import type { StepOptions } from './step.ts'

export interface JobContext {
  readonly id: string
  /** Which claim of the job this is: grows with every one, also with those that cost no try. */
  readonly attempt: number
  /** The `version` that its kind had in the code that enqueued it. */
  readonly version: number
  /** Aborts when the time is up, the worker shuts down, or the lease is lost; `reason` says which. */
  readonly signal: AbortSignal
  readonly log: JobLog
  /** What `checkpoint` noted last, in this attempt's past; undefined: nothing yet. */
  readonly resumeData: unknown
  /**
   * A named part whose result is kept: it resolves once that is committed, and on a later attempt gives the kept result
   * without running again. What it returns is plain data, Date, bigint, Map, Set and bytes included, up to 1 MB.
   */
  step<T>(name: string, run: (signal: AbortSignal) => T | Promise<T>, options?: StepOptions): Promise<T>
  /**
   * A step for every element, and one that fails is an answer like the others, in its place. It is not kept: while the job is
   * not over, a later attempt tries it again.
   */
  each<Item, Result>(
    name: string,
    items: Iterable<Item>,
    run: (item: Item, index: number, signal: AbortSignal) => Result | Promise<Result>,
    options: EachOptions<Item> & { collect: true },
  ): Promise<Collected<Result>[]>
  /** A step for every element; a later attempt goes on inside the list. Results in the order of the list. */
  each<Item, Result>(
    name: string,
    items: Iterable<Item>,
    run: (item: Item, index: number, signal: AbortSignal) => Result | Promise<Result>,
    options?: EachOptions<Item>,
  ): Promise<Result[]>
  /**
   * A step in a transaction of the engine's database: what it wrote and its checkpoint are committed together, once, and only
   * while this attempt holds the job; otherwise none of it is there. `tx` goes into `engine.enqueue(…, { tx })` as well. It
   * may be called again when the link was cut under it. Savepoints are yours; begin, commit and rollback are not.
   */
  transaction<T>(
    name: string,
    run: (tx: JobTransaction, signal: AbortSignal) => T | Promise<T>,
    options?: StepOptions,
  ): Promise<T>
  /**
   * Reads from the engine's database, outside of any step: nothing is kept of it, and every attempt asks anew. Only reads:
   * what writes belongs into `transaction`, which holds it to this attempt. A database that is away is waited for; a statement
   * that takes more than 30 s fails.
   */
  query: JobTransaction['query']
  /** For code that keeps its own place: the data is `resumeData` of the next attempt. */
  checkpoint(name: string, data?: unknown, options?: { progress?: Progress }): Promise<void>
  /** How far it is, for people; written at most once a second. */
  progress(progress: Progress): Promise<void>
  /**
   * Sleeps without a slot: this attempt ends once its open steps have, and a later one goes on after the sleep. Costs no try.
   * Not inside a step, which could not end.
   */
  sleep(name: string, duration: Duration): Promise<void>
  /**
   * Asks a service outside, unless it waits or is stopped, for whichever process: then this attempt is handed back, and costs no
   * try. Inside `ask` say so with `throw providerWait(…)` and `throw providerStop(…)`. May stand inside a step.
   */
  provider<T>(name: string, ask: (signal: AbortSignal) => T | Promise<T>): Promise<T>
  /**
   * A step whose function is the default export of a module and runs in a process of its own, which is killed when it takes too
   * long or too much memory: then this throws, and the handler decides. The rest of the handler stays where it is.
   */
  isolated<T>(name: string, module: URL, input: unknown, options?: IsolatedOptions): Promise<T>
  /** The engine's files, to read. */
  readonly files: JobFiles
}

export interface IsolatedOptions extends StepOptions {
  /** Of its process. Default 512 MB. */
  memory?: number
  /**
   * Environment variables that its process gets beside PATH, HOME, the locale and the like: their names, or `'all'`. Default: none,
   * so that what a stranger's file does to a parser finds no password and no key.
   */
  env?: readonly string[] | 'all'
}

/** What `ctx.files` can do. */
export interface JobFiles {
  /** null: there is none, or it is erased. */
  open(id: string): Promise<OpenFile | null>
  /** A copy on this machine's disk until the attempt ends, for what wants a path; null: there is none. */
  path(id: string): Promise<string | null>
}

/** What `ctx.transaction` hands out. Values come and go as the pg driver has them. */
export interface JobTransaction {
  query<Row = Record<string, unknown>>(
    query: string | JobQuery,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number | null; command: string }>
}

/** As query builders write it; always one statement. */
export interface JobQuery {
  text: string
  values?: readonly unknown[]
  rowMode?: 'array'
  types?: { getTypeParser(id: number, format?: string): (value: string) => unknown }
}

export interface EachOptions<Item> extends StepOptions {
  /** What tells an element from the others; with it the list may change between attempts. */
  key?: (item: Item, index: number) => string
  /** How many at once. Default 1. */
  concurrency?: number
  /** One that fails does not stop the others: the answers say of each how it ended. Default: the first failure is thrown. */
  collect?: boolean
}

/** One element's end, where `each` collects. */
export type Collected<Result> = { ok: true; value: Result } | { ok: false; error: Error }

/** Shown as it is; `done` of `total` makes a percentage. */
export interface Progress {
  done?: number
  total?: number
  note?: string
  [more: string]: unknown
}

/** A line of a handler's log: facts first, as pino and the engine's own `log` have it; or only the message. */
type JobLine = {
  (facts: Record<string, unknown>, message: string): void
  (message: string): void
}

export interface JobLog {
  debug: JobLine
  info: JobLine
  warn: JobLine
  error: JobLine
}
