/** Gives a handler the context of its attempt. The context builds its parts on first use, because most jobs use none. */

import type { QueryResult } from '../database/leased-connection.ts'
import { type LocalizedText, localized, RetomaError } from '../errors/errors.ts'
import { refuseOption, refuseUnknownOptions } from '../errors/invalid-option.ts'
import { checkIsolated, type IsolatedCall } from '../isolation/model/isolated-call.ts'
import { type CostAmount, checkCost } from '../jobs/model/cost.ts'
import { isNoChildFree } from '../jobs/model/deferral.ts'
import type {
  EachOptions,
  IsolatedOptions,
  JobContext,
  JobFiles,
  JobLog,
  JobProgress,
  JobQuery,
  JobTransaction,
} from '../jobs/model/job-context.ts'
import { doNotRetry } from '../jobs/model/outcome.ts'
import type { Log } from '../lib/logging/log.ts'
import { type Duration, longestDuration } from '../lib/values/duration.ts'
import { shownValue } from '../lib/values/json.ts'
import { decodeText, decodeValue, encodeStored, encodeValue, Sleep } from '../lib/values/value-codec.ts'
import { askProvider, type ProviderHost } from '../providers/ask-provider.ts'
import { each } from './each.ts'
import { checkStepFunction, checkStepName } from './model/step.ts'
import type { WriteResult } from './model/write-result.ts'
import type { NestedCallCheck } from './nested-call-check.ts'
import type { ProgressWriter } from './progress-writer.ts'
import type { Steps } from './steps.ts'

/** The attempt, as the context sees it. `host` is called on the first use of steps, files, progress or providers. */
interface Running {
  readonly claimed: {
    readonly id: string
    readonly attempt: number
    readonly kind: string
    readonly queue: string
    readonly ref: string | null
    readonly group_key: string | null
    readonly batch_id: string | null
    readonly failures: number
    readonly crashes: number
    readonly checkpoint_data: unknown
    readonly version: number | null
  }
  readonly signal: AbortSignal
  readonly nestedCalls: NestedCallCheck
  /** Writes a line of the handler to the log, and keeps the line. */
  writeLine(log: Log, level: LogLevel, facts: Record<string, unknown>, message: string): void
  host(): ContextHost
}

export interface ContextHost extends ProviderHost {
  readonly steps: Steps
  readonly progress: ProgressWriter
  readonly files: JobFiles
  /** Estimates the database clock without a query, in milliseconds. */
  now(): number
  addCost(cost: CostAmount): Promise<WriteResult>
  readOnlyQuery(query: JobQuery): Promise<QueryResult>
  /** Returns the result of the isolated function, encoded by lib/values/value-codec.ts. */
  isolate(call: IsolatedCall, signal: AbortSignal): Promise<string>
  /** Ends the attempt. The next attempt starts after `ms` milliseconds. */
  rest(ms: number): void
  /** Ends the attempt because no child process is free. */
  goBack(noChild: Error): void
}

export class Context implements JobContext {
  readonly #running: Running
  readonly #log: Log
  #jobLog: JobLog | undefined
  #made: ContextHost | undefined

  constructor(running: Running, log: Log) {
    this.#running = running
    this.#log = log
  }

  get #host(): ContextHost {
    this.#made ??= this.#running.host()
    return this.#made
  }

  get id(): string {
    return this.#running.claimed.id
  }

  get kind(): string {
    return this.#running.claimed.kind
  }

  get queue(): string {
    return this.#running.claimed.queue
  }

  get ref(): string | null {
    return this.#running.claimed.ref
  }

  get groupKey(): string | null {
    return this.#running.claimed.group_key
  }

  get batchId(): string | null {
    return this.#running.claimed.batch_id
  }

  get failures(): number {
    const { failures, crashes } = this.#running.claimed
    return failures + crashes
  }

  get attempt(): number {
    return this.#running.claimed.attempt
  }

  get version(): number {
    return this.#running.claimed.version ?? 1
  }

  get signal(): AbortSignal {
    return this.#running.signal
  }

  get log(): JobLog {
    const { id, attempt, kind } = this.#running.claimed
    if (this.#jobLog === undefined) {
      const log = this.#log.child({ job: id, kind, attempt })
      this.#jobLog = jobLog((level, facts, message) => this.#running.writeLine(log, level, facts, message))
    }
    return this.#jobLog
  }

  get resumeData(): unknown {
    const { checkpoint_data } = this.#running.claimed
    return checkpoint_data === null ? undefined : decodeValue(checkpoint_data)
  }

  // Methods are getters, so that a handler can destructure the context: `run: ({ step }) => step(…)`.

  get step(): JobContext['step'] {
    return (name, run, options) => this.#outside('step', () => this.#host.steps.step(name, run, options))
  }

  get each(): JobContext['each'] {
    return <Item, Result>(
      name: string,
      items: Iterable<Item>,
      run: (item: Item, index: number, signal: AbortSignal) => Result | Promise<Result>,
      options?: EachOptions<Item>,
    ) => this.#outside('each', () => each(this.#host.steps, name, items, run, options)) as Promise<never>
  }

  get transaction(): JobContext['transaction'] {
    return (name, run, options) => {
      const inside = (tx: JobTransaction, signal: AbortSignal) =>
        this.#running.nestedCalls.runInsideTransaction(this.#running, name, async () => run(tx, signal))
      return this.#outside('transaction', async () => {
        checkStepName(name)
        checkStepFunction(run)
        return this.#host.steps.transaction(name, inside, options)
      })
    }
  }

  get query(): JobContext['query'] {
    return (query, values) => {
      const asked = typeof query === 'string' ? { text: query } : query
      const all = values ?? asked.values ?? []
      return this.#outside('query', () => this.#host.readOnlyQuery({ ...asked, values: all })) as Promise<never>
    }
  }

  get checkpoint(): JobContext['checkpoint'] {
    return (name, data, options = {}) => this.#outside('checkpoint', () => this.#checkpoint(name, data, options))
  }

  async #checkpoint(name: string, data: unknown, options: { progress?: JobProgress }): Promise<void> {
    if (options === null || typeof options !== 'object')
      refuseOption('options', 'it is an object, or left out', 'é um objeto, ou nada')
    refuseUnknownOptions(options, ['progress'])
    const { progress } = options
    const encoded = encodeValue(data, { root: 'data' })
    if (!encoded.ok) throw unkept(dataOf(name), encoded.problem)
    const noted = { checkpoint: checkStepName(name), checkpointData: encoded.text }
    const how = await this.#host.progress.keep(
      progress === undefined ? noted : { ...noted, progress: progressText(progress) },
    )
    this.#checkWritten(how, name, dataOf(name))
  }

  #checkWritten(how: WriteResult, step: string, what: LocalizedText): void {
    if (how === 'rejected') throw unkept(what, localized('PostgreSQL refuses it', 'o PostgreSQL recusa'))
    if (how !== 'written') throw this.signal.reason ?? new RetomaError('attempt_over', { job: this.id, step })
  }

  get progress(): JobContext['progress'] {
    return progress =>
      this.#outside('progress', async () => this.#host.progress.note({ progress: progressText(progress) }))
  }

  get cost(): JobContext['cost'] {
    return cost =>
      this.#outside('cost', async () =>
        this.#checkWritten(await this.#host.addCost(checkCost(cost)), 'cost', localized('the cost', 'o custo')),
      )
  }

  get sleep(): JobContext['sleep'] {
    return (name, duration) => this.#outside('sleep', () => this.#sleep(name, duration))
  }

  async #sleep(name: string, duration: Duration): Promise<void> {
    if (!(duration >= 0 && duration <= longestDuration)) {
      const problem = localized(
        `it is a duration from zero to 100 years, such as minutes(5), not ${shownValue(duration)}`,
        `é uma duração de zero a 100 anos, como minutes(5), não ${shownValue(duration)}`,
      )
      throw new RetomaError('bad_option', { option: 'sleep', problem })
    }
    const { until } = await this.#host.steps.step(name, () => new Sleep(this.#host.now() + duration))
    const left = until - this.#host.now()
    if (left <= 0) return
    this.#host.rest(left)
    // This promise never resolves: the attempt is over, and the next attempt reaches this sleep again.
    await new Promise<never>(() => {})
  }

  get provider(): JobContext['provider'] {
    return (name, ask) => this.#outside('provider', () => askProvider(this.#host, name, ask))
  }

  get isolated(): JobContext['isolated'] {
    return (name, module, input, options) =>
      this.#outside('isolated', () => this.#isolated(name, module, input, options)) as Promise<never>
  }

  async #isolated(name: string, module: URL | string, input: unknown, given?: IsolatedOptions): Promise<unknown> {
    const { call, options } = checkIsolated(name, module, input, given)
    const work = async (signal: AbortSignal) => decodeText(await this.#host.isolate(call, signal))
    try {
      return await this.#host.steps.keep(call.step, work, options)
    } catch (error) {
      if (isNoChildFree(error)) this.#host.goBack(error as Error)
      throw error
    }
  }

  get files(): JobContext['files'] {
    const { open, path } = this.#host.files
    return { open: id => settlesAlone(open(id)), path: id => settlesAlone(path(id)) }
  }

  /** Runs a call of the handler. A step without `await` is reported when the handler ends. */
  #outside<T>(what: string, begin: () => Promise<T>): Promise<T> {
    const work = async () => {
      this.#running.nestedCalls.refuseInsideTransaction(this.#running, what)
      return begin()
    }
    return settlesAlone(work())
  }
}

/** Keeps an unhandled rejection from ending the process if the handler does not await `work`. */
function settlesAlone<T>(work: Promise<T>): Promise<T> {
  work.catch(() => {})
  return work
}

function progressText(progress: JobProgress): string {
  if (typeof progress !== 'object' || progress === null || Array.isArray(progress))
    refuseOption(
      'progress',
      `it is an object, such as { done, total, note }, not ${shownValue(progress)}`,
      `é um objeto, como { done, total, note }, não ${shownValue(progress)}`,
    )
  const checked = encodeStored(progress, 'progress')
  if (!checked.ok) throw unkept(localized('the progress', 'o progresso'), checked.problem)
  return checked.text
}

const dataOf = (name: string) => localized(`the data of checkpoint "${name}"`, `o dado do checkpoint "${name}"`)

const unkept = (what: LocalizedText, problem: LocalizedText) =>
  doNotRetry(new RetomaError('bad_value', { what, problem }))

type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export function jobLog(write: (level: LogLevel, facts: Record<string, unknown>, message: string) => void): JobLog {
  const at =
    (level: LogLevel) =>
    (...line: [facts: Record<string, unknown>, message: string] | [message: string]) =>
      typeof line[0] === 'string' ? write(level, Object(line[1]), line[0]) : write(level, line[0], line[1] as string)
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
