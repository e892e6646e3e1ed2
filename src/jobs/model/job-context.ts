/** Defines `ctx`, the first argument of a handler. */

import type { OpenFile } from '../../files/model/file.ts'
import type { Duration } from '../../lib/values/duration.ts'
import type { Backoff } from './backoff.ts'
import type { CostAmount } from './cost.ts'

/** The first argument of a handler. */
export interface JobContext {
  readonly id: string
  readonly kind: string
  readonly queue: string
  /** `ref` of the enqueue, or of the item; null without one. */
  readonly ref: string | null
  /** `groupKey` of the enqueue; null without one. */
  readonly groupKey: string | null
  /** The batch of an item; null for a job without a batch. */
  readonly batchId: string | null
  /** Failed attempts so far that count against `maxAttempts`, this attempt not included. */
  readonly failures: number
  /** Number of this claim of the job. Every claim increases the number, also a claim that does not count against `maxAttempts`. */
  readonly attempt: number
  /** `version` of the kind in the code at the time of the enqueue. */
  readonly version: number
  /** Aborts at the deadline, at shutdown of the worker, or when the lease is lost; `reason` names the cause. */
  readonly signal: AbortSignal
  readonly log: JobLog
  /** Data of the last `checkpoint` call of an earlier attempt; undefined before the first call. */
  readonly resumeData: unknown
  /**
   * Runs a step: a named part with a saved result. Resolves once the checkpoint is committed. A later attempt returns the saved
   * result and does not run the step again. The result is plain data of at most 1 MB; Date, bigint, Map, Set and bytes are
   * allowed.
   */
  step<T>(name: string, run: (signal: AbortSignal) => T | Promise<T>, options?: StepOptions): Promise<T>
  /**
   * Runs a step for every element. The failure of an element becomes an entry of the returned list, at the position of the
   * element. The engine saves no failure: until the job ends, a later attempt runs the element again.
   */
  each<Item, Result>(
    name: string,
    items: Iterable<Item>,
    run: (item: Item, index: number, signal: AbortSignal) => Result | Promise<Result>,
    options: EachOptions<Item> & { collect: true },
  ): Promise<Collected<Result>[]>
  /** Runs a step for every element. A later attempt continues inside the list. Returns the results in the order of the list. */
  each<Item, Result>(
    name: string,
    items: Iterable<Item>,
    run: (item: Item, index: number, signal: AbortSignal) => Result | Promise<Result>,
    options?: EachOptions<Item>,
  ): Promise<Result[]>
  /**
   * Runs a step in a transaction of the engine's database. The writes of `run` and the checkpoint are committed together, exactly
   * once, and only while this attempt has the lease; otherwise nothing is written. `tx` also works in
   * `engine.enqueue(…, { tx })`. The engine may call `run` again if the connection breaks. `run` may use savepoints, but not
   * begin, commit or rollback.
   */
  transaction<T>(
    name: string,
    run: (tx: JobTransaction, signal: AbortSignal) => T | Promise<T>,
    options?: StepOptions,
  ): Promise<T>
  /**
   * Reads from the engine's database outside of any step. No result is saved: every attempt reads again. Writes are refused and
   * belong into `transaction`, which applies the fence of this attempt. Waits while the database is away; a statement fails after
   * 30 s.
   */
  query: JobTransaction['query']
  /** Saves `data` for code with a position of its own: `data` is the `resumeData` of the next attempt. */
  checkpoint(
    name: string,
    data?: unknown,
    options?: {
      /** Progress that is written with the checkpoint. Default: unchanged. */
      progress?: JobProgress
    },
  ): Promise<void>
  /** Reports progress for people; written at most once per second. */
  progress(progress: JobProgress): Promise<void>
  /**
   * Adds to the cost of the job and of its batch. Resolves once the cost is committed. Each call counts once, also in an attempt that fails
   * later; a call of an attempt that has lost the lease counts nothing. Call `cost` inside the step that spends the money: a saved step
   * does not run again, and costs nothing again.
   */
  cost(cost: CostAmount): Promise<void>
  /**
   * Sleeps without a slot: this attempt ends as soon as its open steps have ended, and a later attempt continues after the sleep.
   * The attempt is not counted. Not allowed inside a step, because the step could not end.
   */
  sleep(name: string, duration: Duration): Promise<void>
  /**
   * Calls a provider. If the provider waits or is stopped, in any process, this attempt ends with a deferral and is not counted.
   * `ask` reports a wait with `throw providerWait(…)` and a stop with `throw providerStop(…)`. Allowed inside a step.
   */
  provider<T>(name: string, ask: (signal: AbortSignal) => T | Promise<T>): Promise<T>
  /**
   * Runs a step in a child process. The function is the default export of `module`. The engine kills the process if the step
   * exceeds its timeout or its memory limit; then this call throws, and the handler decides. The rest of the handler stays in its
   * process.
   */
  isolated<T>(name: string, module: URL | string, input: unknown, options?: IsolatedOptions): Promise<T>
  /** Read access to the engine's files. */
  readonly files: JobFiles
}

/** Options of `ctx.isolated`. */
export interface IsolatedOptions extends StepOptions {
  /** Memory limit of the child process. Default 512 MB. */
  memory?: number
  /**
   * Environment variables of the child process besides PATH, HOME, the locale and the like: names, or `'all'`. Default: none,
   * because a malicious file that takes over a parser must find no password and no key.
   */
  env?: readonly string[] | 'all'
  /**
   * Niceness of the child process, from 0 to 19: the higher, the more the other processes of the machine come first. With 10 a function
   * that computes for seconds has a tenth of a core beside a busy server, and hardly delays the server. Default 0.
   */
  nice?: number
  /**
   * A long computation that may wait, such as OCR: at most one fewer than the cores run at once, at least one, beside the other functions
   * and not in their place. Give the function a niceness too. Default false.
   */
  background?: boolean
}

/** Operations of `ctx.files`. */
export interface JobFiles {
  /** null: no such file, or the file is erased. */
  open(id: string): Promise<OpenFile | null>
  /** Returns the path of a local copy for code with path arguments; the copy exists until the attempt ends. null: no such file. */
  path(id: string): Promise<string | null>
}

export interface QueryResult {
  rows: unknown[]
  rowCount: number | null
  /** The command tag of PostgreSQL: INSERT, COMMIT, ROLLBACK … */
  command: string
}

/** Transaction of `ctx.transaction`. Values have the types of the pg driver. */
export interface JobTransaction {
  /** Runs a statement; `values` are $1, $2 and so on. */
  query<Row = Record<string, unknown>>(
    query: string | JobQuery,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number | null; command: string }>
}

/** Query in the form of query builders; always a single statement. */
export interface JobQuery {
  text: string
  /** The values of $1, $2 and so on. Default: none. */
  values?: readonly unknown[]
  /** `array`: each row is a list of values. Default: an object by column. */
  rowMode?: 'array'
  /** Parsers of values. Default: the parsers of the pg driver. */
  types?: { getTypeParser(id: number, format?: string): (value: string) => unknown }
}

/** Options of `ctx.each`. */
export interface EachOptions<Item> extends StepOptions {
  /** Identifies an element. With `key` the list may change between attempts. Default: the position in the list. */
  key?: (item: Item, index: number) => string
  /** Number of elements that run at the same time. Default 1. */
  concurrency?: number
  /**
   * A failed element does not stop the others; every entry of the result says how its element ended. Default: throw the first
   * failure.
   */
  collect?: boolean
}

/** Result of an element, when `each` collects. */
export type Collected<Result> = { ok: true; value: Result } | { ok: false; error: Error }

/** Shown unchanged; `done` and `total` make a percentage. */
export interface JobProgress {
  /** Finished parts. Default: not shown. */
  done?: number
  /** All parts. Default: not shown. */
  total?: number
  /** A text for people. Default: not shown. */
  note?: string
  [more: string]: unknown
}

/** Writes a log line of a handler: facts first, as in pino and in the engine's own `log`; or only the message. */
export interface JobLog {
  /** For developers. */
  debug(facts: Record<string, unknown>, message: string): void
  debug(message: string): void
  /** What happened. */
  info(facts: Record<string, unknown>, message: string): void
  info(message: string): void
  /** Not as it should be, but the handler continues. */
  warn(facts: Record<string, unknown>, message: string): void
  warn(message: string): void
  /** A failure. */
  error(facts: Record<string, unknown>, message: string): void
  error(message: string): void
}

/** Options of `ctx.step` and `ctx.transaction`. */
export interface StepOptions {
  /** Runs of the step in total, within this attempt of the job. Default 1. */
  maxAttempts?: number
  /** The delays between the runs. Default: 5 s, doubled each time, 10 minutes at most, 10 % jitter. */
  backoff?: Partial<Backoff>
  /** Longest duration of a single run. Default: the timeout of the job. */
  timeout?: Duration
  /**
   * Largest size of the result as JSON: `megabytes(4)`. Default 1 MB, at most 8 MB; larger data belongs elsewhere, with a
   * reference here.
   */
  maxBytes?: number
}
