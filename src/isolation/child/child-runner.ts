/**
 * Executes the runs sent by the parent, a single run at a time: an attempt with the parent's storage for its steps, or an isolated function
 * (called-function.ts). The same code as in a worker decides the outcome of an attempt, from the same facts; the parent settles the attempt.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { isMainThread } from 'node:worker_threads'
import type { ClaimedJob } from '../../claiming/sql/claim.ts'
import type { RetomaError } from '../../errors/errors.ts'
import { Attempt, type AttemptHost } from '../../execution/attempt.ts'
import type { AttemptEnd } from '../../execution/attempt-outcome.ts'
import { CurrentJobTracker } from '../../execution/current-job.ts'
import { jobLog } from '../../execution/handler-context.ts'
import { NestedCallCheck } from '../../execution/nested-call-check.ts'
import type { AnyJob } from '../../jobs/model/job.ts'
import { systemClock } from '../../lib/clock.ts'
import { systemRandom } from '../../lib/random.ts'
import { decodeText } from '../../lib/values/value-codec.ts'
import type { CallEnd, CallTask, ChildTask, ToChild } from '../child-protocol.ts'
import { packError, unpackError } from '../error-wire.ts'
import { type Handler, importerOf, type Loader, lightImporterOf, loadCalled, loadHandler } from '../handler-module.ts'
import { IsolationMode } from '../isolation-mode.ts'
import { CalledFunction } from './called-function.ts'
import type { Channel } from './channel.ts'
import { logTo } from './child-log.ts'
import { RemoteAttemptStorage } from './remote-attempt-storage.ts'

/** No bound here: only the parent kills a handler. */
const graceMs = 2 ** 31

export class ChildRunner {
  readonly #channel: Channel
  readonly #runs = new AsyncLocalStorage<number>()
  readonly #isolationMode = new IsolationMode()
  readonly #currentJob = new CurrentJobTracker()
  readonly #nestedCalls = new NestedCallCheck()
  #current: { run: number; work: { abort(reason: RetomaError): void }; asking: RemoteAttemptStorage } | undefined
  /** Abort reasons that arrived before the run was loaded. */
  #aborted = new Map<number, RetomaError>()

  /** Memory after the first run was loaded: loaded modules are not a leak. */
  #weight: number | undefined

  constructor(channel: Channel) {
    this.#channel = channel
  }

  /** The run of the running code: a reused child may still execute code of an earlier run. */
  get currentRun(): number | undefined {
    return this.#runs.getStore()
  }

  receive(message: ToChild): void {
    const current = this.#current?.run === message.run ? this.#current : undefined
    if (message.type === 'run') void this.#run(message.run, message.childTask)
    else if (message.type === 'abort') this.#abort(message.run, unpackError(message.reason) as RetomaError)
    else current?.asking.receive(message)
  }

  #abort(run: number, reason: RetomaError): void {
    if (this.#current?.run === run) this.#current.work.abort(reason)
    else this.#aborted.set(run, reason)
  }

  async #run(run: number, childTask: ChildTask | CallTask): Promise<void> {
    // Report the run before any code of the job: a crash without this report has another cause.
    if (isMainThread) this.#channel.lastWords({ how: 'begun', run })
    const asking = new RemoteAttemptStorage(this.#channel, run)
    let work: Attempt | CalledFunction
    try {
      work = await this.#runs.run(run, () =>
        'call' in childTask ? this.#call(run, childTask) : this.#attempt(run, childTask, asking),
      )
    } catch (error) {
      return this.#channel.send({ type: 'unusable', run, error: packError(error) })
    }
    this.#weight ??= weight()
    this.#current = { run, work, asking }
    const ending = this.#runs.run(run, () => ends(work))
    const reason = this.#aborted.get(run)
    if (reason !== undefined) work.abort(reason)
    this.#aborted.clear()
    const end = await ending
    this.#current = undefined
    const spent = work instanceof CalledFunction && work.spent
    this.#channel.send({ type: 'ended', run, end, grown: weight() - this.#weight, spent })
  }

  async #attempt(run: number, childTask: ChildTask, asking: RemoteAttemptStorage): Promise<Attempt> {
    const work = await find(childTask)
    return new Attempt(childTask.claimed as ClaimedJob, jobOf(childTask, work), {
      id: 'child',
      clock: systemClock,
      log: logTo(this.#channel, run),
      random: systemRandom,
      graceMs,
      storages: asking,
      isolator: asking,
      isolationMode: this.#isolationMode,
      currentJob: this.#currentJob,
      nestedCalls: this.#nestedCalls,
      host: parentDecides,
    })
  }

  async #call(run: number, { call, work }: CallTask): Promise<CalledFunction> {
    const called = await loadCalled(call.step, work.module, await lightImporterOf(work.loader))
    const log = logTo(this.#channel, run)
    const write = jobLog((level, facts, message) => log[level](facts, message))
    return new CalledFunction(call, called, write)
  }
}

/** The parent watches the time of the attempt, and ends the child if necessary. */
const parentDecides: AttemptHost = { checkLoop() {}, resumed() {}, abandoned() {} }

async function ends(work: Attempt | CalledFunction): Promise<AttemptEnd | CallEnd> {
  return work instanceof Attempt ? work.judge(await work.run(false)) : work.run()
}

/** The bounded memory: the whole process, or the heap of a thread. */
const weight = (): number => (isMainThread ? process.memoryUsage.rss() : process.memoryUsage().heapUsed)

async function find({ job, work }: ChildTask): Promise<Handler> {
  if ('module' in work) return loadHandler(job.kind, work.module, await importerOf(work.loader))
  const { findHandler } = (await import(work.loader)) as Loader
  return findHandler(work.config.folder, work.config.file, job.kind)
}

/** The parent has the schema and has checked the input. */
function jobOf({ job, input }: ChildTask, work: Handler): AnyJob {
  return {
    ...job,
    oldestVersion: 1,
    policy: { ...job.policy, isolation: 'inline' },
    retention: null,
    parse: async () => ({ value: decodeText(input) }),
    run: async (context, value) => work(context, value),
    handler: null,
    internal: false,
    private: false,
    env: [],
  }
}
