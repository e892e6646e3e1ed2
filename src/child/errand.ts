/**
 * Runs what the parent sends, one errand at a time: an attempt as a worker runs it, but for where its steps are kept, or a
 * function alone (call.ts). How an attempt ended is decided here, by the same code and from the same facts; the parent
 * writes it down.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { isMainThread } from 'node:worker_threads'
import type { AnyJob } from '../core/job.ts'
import { decodeText } from '../core/value.ts'
import type { RetomaError } from '../errors.ts'
import {
  type Handler,
  importerOf,
  type Loader,
  lightImporterOf,
  loadCalled,
  loadHandler,
} from '../isolation/handler.ts'
import { packError, unpackError } from '../isolation/packed-error.ts'
import type { CallErrand, Errand, ToChild } from '../isolation/wire.ts'
import { systemClock } from '../lib/clock.ts'
import { systemRandom } from '../lib/random.ts'
import type { Claimed } from '../store/claim.ts'
import { Attempt } from '../worker/attempt.ts'
import { jobLog } from '../worker/context.ts'
import { Asking } from './asking.ts'
import { Call } from './call.ts'
import type { Line } from './line.ts'
import { logTo } from './log.ts'

/** For as long as its parent lets it: only that kills it. */
const graceMs = 2 ** 31

/** Whose code is running: a child that is used again may still run some of an earlier run's. */
const inRun = new AsyncLocalStorage<number>()
export const currentRun = (): number | undefined => inRun.getStore()

export class Errands {
  readonly #line: Line
  #current: { run: number; work: { abort(reason: RetomaError): void }; asking: Asking } | undefined
  /** Told before it was there. */
  #aborted = new Map<number, RetomaError>()

  /** Once its first errand was loaded: what is loaded is no leak. */
  #weight: number | undefined

  constructor(line: Line) {
    this.#line = line
  }

  hear(message: ToChild): void {
    const current = this.#current?.run === message.run ? this.#current : undefined
    if (message.type === 'run') void this.#run(message.run, message.errand)
    else if (message.type === 'abort') this.#abort(message.run, unpackError(message.reason) as RetomaError)
    else current?.asking.hear(message)
  }

  #abort(run: number, reason: RetomaError): void {
    if (this.#current?.run === run) this.#current.work.abort(reason)
    else this.#aborted.set(run, reason)
  }

  async #run(run: number, errand: Errand | CallErrand): Promise<void> {
    // Before anything of the job's: whoever dies without it died of something else.
    if (isMainThread) this.#line.lastWords({ how: 'begun', run })
    const asking = new Asking(this.#line, run)
    let work: Attempt | Call
    try {
      work = await inRun.run(run, () =>
        'call' in errand ? this.#call(run, errand) : this.#attempt(run, errand, asking),
      )
    } catch (error) {
      return this.#line.send({ type: 'unusable', run, error: packError(error) })
    }
    this.#weight ??= weight()
    this.#current = { run, work, asking }
    const ending = inRun.run(run, () => work.run(false))
    const told = this.#aborted.get(run)
    if (told !== undefined) work.abort(told)
    this.#aborted.clear()
    const end = await ending
    this.#current = undefined
    const spent = work instanceof Call && work.spent
    this.#line.send({ type: 'ended', run, end, grown: weight() - this.#weight, spent })
  }

  async #attempt(run: number, errand: Errand, asking: Asking): Promise<Attempt> {
    const work = await find(errand)
    return new Attempt(errand.claimed as Claimed, jobOf(errand, work), {
      id: 'child',
      clock: systemClock,
      log: logTo(this.#line, run),
      random: systemRandom,
      graceMs,
      keeper: asking,
      isolate: asking.isolate,
      isTime: () => {},
      resumed: () => {},
      abandoned: () => {},
    })
  }

  async #call(run: number, { call, work }: CallErrand): Promise<Call> {
    const called = await loadCalled(call.step, work.module, await lightImporterOf(work.loader))
    return new Call(call, called, jobLog(logTo(this.#line, run)))
  }
}

/** What is bounded: all of a process, the heap of a thread. */
const weight = (): number => (isMainThread ? process.memoryUsage.rss() : process.memoryUsage().heapUsed)

async function find({ job, work }: Errand): Promise<Handler> {
  if ('module' in work) return loadHandler(job.kind, work.module, await importerOf(work.loader))
  const { findHandler } = (await import(work.loader)) as Loader
  return findHandler(work.config.folder, work.config.file, job.kind)
}

/** Its input was checked by the parent, which has its schema. */
function jobOf({ job, input }: Errand, work: Handler): AnyJob {
  return {
    ...job,
    oldestVersion: 1,
    policy: { ...job.policy, isolation: 'inline' },
    parse: async () => ({ value: decodeText(input) }),
    run: async (context, value) => work(context, value),
    handler: null,
    internal: false,
    env: [],
  }
}
