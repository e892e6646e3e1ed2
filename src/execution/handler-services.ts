/**
 * Serves the context of a handler: steps and progress, both built on first use. All writes go through the attempt's storage
 * (timed-storage.ts).
 *
 * Invariant: `close()` waits for everything the handler has begun. The attempt's time pauses during waits for the database.
 */

import type { ClaimedJob } from '../claiming/sql/claim.ts'
import type { QueryResult } from '../database/leased-connection.ts'
import { RetomaError } from '../errors/errors.ts'
import { opened } from '../files/model/file.ts'
import type { IsolatedCall } from '../isolation/model/isolated-call.ts'
import type { CostAmount } from '../jobs/model/cost.ts'
import type { JobFiles, JobQuery } from '../jobs/model/job-context.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import type { Random } from '../lib/random.ts'
import type { ProviderPermission, ProviderWord } from '../providers/model/provider.ts'
import type { AttemptHost } from './attempt.ts'
import type { AttemptClock } from './attempt-clock.ts'
import type { ContextHost } from './handler-context.ts'
import type { AttemptStorage } from './model/attempt-storage-calls.ts'
import type { WriteResult } from './model/write-result.ts'
import { ProgressWriter } from './progress-writer.ts'
import { Steps } from './steps.ts'

/** The attempt, as this file uses the attempt. */
interface Of {
  readonly claimed: ClaimedJob
  /** Estimates the database clock without a query, in milliseconds. */
  readonly databaseNow: number
  readonly time: AttemptClock
  readonly signal: AbortSignal
  readonly running: boolean
  readonly isolate: (call: IsolatedCall, signal: AbortSignal) => Promise<string>
  /** Pauses the time of the attempt during each wait. */
  readonly storage: AttemptStorage
}

interface KeptOptions {
  clock: Clock
  random: Random
  host: Pick<AttemptHost, 'checkLoop'>
  /** Ends the attempt. The next attempt starts after `ms` milliseconds. */
  rest: (ms: number) => void
  /** Ends the attempt because no child process is free. */
  goBack: (noChild: Error) => void
}

/** A bound for the names in a warning: `ctx.each` over a long list has many steps. */
const mostNames = 20

export class HandlerServices implements ContextHost {
  readonly #of: Of
  readonly #options: KeptOptions
  #progress: ProgressWriter | undefined
  #steps: Steps | undefined
  /** The costs under way. */
  #costs: Promise<unknown> | undefined
  readonly rest: (ms: number) => void
  readonly goBack: (noChild: Error) => void

  constructor(of: Of, options: KeptOptions) {
    this.#of = of
    this.#options = options
    this.rest = options.rest
    this.goBack = options.goBack
  }

  /** True if `close` has work to do. */
  get isUsed(): boolean {
    return this.#progress !== undefined || this.#costs !== undefined
  }

  get progress(): ProgressWriter {
    this.#progress ??= new ProgressWriter(this.#options.clock, note => this.#of.storage.note(note))
    return this.#progress
  }

  get steps(): Steps {
    this.#steps ??= this.#makeSteps(this.progress)
    return this.#steps
  }

  #makeSteps(progress: ProgressWriter): Steps {
    const of = this.#of
    const { claimed, time, storage } = of
    const { clock, random, host } = this.#options
    return new Steps({
      job: claimed.id,
      clock,
      random,
      get signal() {
        return of.signal
      },
      get pausedMs() {
        host.checkLoop()
        return time.blockedMs
      },
      load: () => storage.load(),
      async save(name, value) {
        const how = await storage.save(name, value)
        if (how === 'written') progress.mention({ checkpoint: name })
        return how
      },
      async transact(name, work, signal) {
        const done = await storage.transact(name, work, signal)
        if (done.how !== 'lease_lost') progress.mention({ checkpoint: name })
        return done
      },
    })
  }

  addCost({ currency, amount }: CostAmount): Promise<WriteResult> {
    const written = this.#of.storage.cost(currency, amount)
    this.#costs = Promise.allSettled([this.#costs, written])
    return written
  }

  readOnlyQuery(query: JobQuery): Promise<QueryResult> {
    return this.#of.storage.readOnlyQuery(query)
  }

  get signal(): AbortSignal {
    return this.#of.signal
  }

  record(name: string, word: ProviderWord): Promise<ProviderPermission> {
    return this.#of.storage.provider(name, word)
  }

  get files(): JobFiles {
    const of = this.#of
    const { claimed, storage } = of
    return {
      async open(id) {
        const file = await storage.file(id)
        return file && opened(file, n => storage.piece(id, n))
      },
      async path(id) {
        if (!of.running) throw new RetomaError('attempt_over', { job: claimed.id, step: 'files.path' })
        return storage.copy(id)
      },
    }
  }

  isolate(call: IsolatedCall, signal: AbortSignal): Promise<string> {
    return this.#of.isolate(call, signal)
  }

  now(): number {
    return this.#of.databaseNow
  }

  /** Accepts no more calls and waits for the writes under way; returns the steps without an `await`. */
  async close(): Promise<readonly string[]> {
    const left = await this.#steps?.close()
    await this.#progress?.close()
    await this.#costs
    return left ?? []
  }

  /**
   * Warns about saved steps of older attempts that this attempt did not use: the code has changed, or took another branch. Not a failure.
   */
  async tellUnused(log: Log): Promise<void> {
    const unused = (await this.#steps?.unused()) ?? []
    if (unused.length === 0) return
    const { claimed, storage } = this.#of
    const facts = { steps: unused.slice(0, mostNames), count: unused.length }
    log.warn(
      { job: claimed.id, kind: claimed.kind, ...facts },
      'the handler did not reach steps that an earlier attempt saved',
    )
    await storage
      .warn('unused_steps', facts)
      .catch(error => log.debug({ job: claimed.id, err: error }, 'cannot write a warning'))
  }
}
