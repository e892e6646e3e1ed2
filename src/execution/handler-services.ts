/**
 * Serves the context of a handler: steps and progress, both built on first use. All writes go through the attempt's storage (`Keeper`), and
 * a write that finds the lease lost aborts the handler's signal (`told`).
 *
 * Invariant: `close()` waits for everything the handler has begun. The attempt's time pauses during waits for the database.
 */

import type { ClaimedJob } from '../claiming/sql/claim.ts'
import type { QueryResult } from '../database/leased-connection.ts'
import { RetomaError } from '../errors/errors.ts'
import { type FileView, opened } from '../files/model/file.ts'
import type { IsolatedCall } from '../isolation/model/isolated-call.ts'
import type { JobFiles, JobQuery, JobTransaction } from '../jobs/model/job-context.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import type { Random } from '../lib/random.ts'
import type { ProviderStand, ProviderWord } from '../providers/model/provider.ts'
import type { AttemptHost } from './attempt.ts'
import type { AttemptClock, Awake } from './attempt-clock.ts'
import type { ContextHost } from './handler-context.ts'
import type { WriteResult } from './model/write-result.ts'
import { type ProgressNote, ProgressWriter } from './progress-writer.ts'
import type { StepTransactionResult } from './step-transaction.ts'
import { Steps } from './steps.ts'

/** The storage of an attempt: checkpoints, progress, files, providers and warnings. */
export interface AttemptStorage {
  /** Loads the checkpoints of earlier attempts; waits while the database is unreachable. */
  load(claimed: ClaimedJob, signal: AbortSignal): Promise<ReadonlyMap<string, unknown>>
  save(claimed: ClaimedJob, name: string, value: string): Promise<WriteResult>
  transact(
    claimed: ClaimedJob,
    name: string,
    work: (tx: JobTransaction) => Promise<string>,
    signal: AbortSignal,
  ): Promise<StepTransactionResult>
  note(claimed: ClaimedJob, note: ProgressNote): Promise<WriteResult>
  /** Runs a read-only query for the handler; waits while the database is unreachable. */
  look(query: JobQuery, signal: AbortSignal): Promise<QueryResult>
  /** The state of the provider after `word`. Waits while the database is unreachable, except for the report of an answer. */
  provider(claimed: ClaimedJob, name: string, word: ProviderWord, signal: AbortSignal): Promise<ProviderStand>
  /** null: no such file. Waits while the database is unreachable; so do `piece` and `copy`. */
  file(claimed: ClaimedJob, id: string, signal: AbortSignal): Promise<FileView | null>
  /** Throws `file_gone`. */
  piece(claimed: ClaimedJob, id: string, n: number, signal: AbortSignal): Promise<Uint8Array>
  /** The path of a local copy of the file, kept until the attempt ends; null: no such file. */
  copy(claimed: ClaimedJob, id: string, signal: AbortSignal): Promise<string | null>
  /** Writes a warning to the job's history. */
  warn(claimed: ClaimedJob, what: string, facts: Readonly<Record<string, unknown>>): Promise<void>
}

/** The attempt, as this file uses the attempt. */
interface Of {
  readonly claimed: ClaimedJob
  /** The instant of the claim, in milliseconds of this process. */
  readonly claimedAt: number
  readonly time: AttemptClock
  readonly signal: AbortSignal
  readonly running: boolean
  readonly isolate: (call: IsolatedCall, signal: AbortSignal) => Promise<string>
  readonly tellProvider: (name: string, word: ProviderWord) => Promise<ProviderStand>
  readonly told: <Answer extends WriteResult | StepTransactionResult>(
    ask: (awake: Awake) => Promise<Answer>,
  ) => Promise<Answer>
}

interface KeptOptions {
  clock: Clock
  random: Random
  storage: AttemptStorage
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
    return this.#progress !== undefined
  }

  get progress(): ProgressWriter {
    const { clock, storage } = this.#options
    const { claimed, told } = this.#of
    this.#progress ??= new ProgressWriter(clock, note => told(() => storage.note(claimed, note)))
    return this.#progress
  }

  get steps(): Steps {
    this.#steps ??= this.#makeSteps(this.progress)
    return this.#steps
  }

  #makeSteps(progress: ProgressWriter): Steps {
    const of = this.#of
    const { claimed, time, told } = of
    const { clock, random, storage, host } = this.#options
    return new Steps({
      job: claimed.id,
      clock,
      random,
      get signal() {
        return of.signal
      },
      get stoodMs() {
        host.checkLoop()
        return time.blockedMs
      },
      load: () => time.waiting(() => storage.load(claimed, of.signal)),
      async save(name, value) {
        const how = await told(() => storage.save(claimed, name, value))
        if (how === 'written') progress.mention({ checkpoint: name })
        return how
      },
      async transact(name, work, signal) {
        const done = await told(awake => storage.transact(claimed, name, tx => awake(() => work(tx)), signal))
        if (done.how !== 'lease_lost') progress.mention({ checkpoint: name })
        return done
      },
    })
  }

  look(query: JobQuery): Promise<QueryResult> {
    return this.#of.time.waiting(() => this.#options.storage.look(query, this.#of.signal))
  }

  get signal(): AbortSignal {
    return this.#of.signal
  }

  tell(name: string, word: ProviderWord): Promise<ProviderStand> {
    return this.#of.tellProvider(name, word)
  }

  get files(): JobFiles {
    const of = this.#of
    const { claimed, time } = of
    const { storage } = this.#options
    return {
      async open(id) {
        const file = await time.waiting(() => storage.file(claimed, id, of.signal))
        return file && opened(file, n => time.waiting(() => storage.piece(claimed, id, n, of.signal)))
      },
      async path(id) {
        if (!of.running) throw new RetomaError('attempt_over', { job: claimed.id, step: 'files.path' })
        return time.waiting(() => storage.copy(claimed, id, of.signal))
      },
    }
  }

  isolate(call: IsolatedCall, signal: AbortSignal): Promise<string> {
    return this.#of.isolate(call, signal)
  }

  now(): number {
    return this.#of.claimed.started_ms + this.#options.clock.elapsed() - this.#of.claimedAt
  }

  /** Accepts no more calls and waits for the writes under way; returns the steps without an `await`. */
  async close(): Promise<readonly string[]> {
    const left = await this.#steps?.close()
    await this.#progress?.close()
    return left ?? []
  }

  /**
   * Warns about saved steps of older attempts that this attempt did not use: the code has changed, or took another branch. Not a failure.
   */
  async tellUnused(log: Log): Promise<void> {
    const unused = (await this.#steps?.unused()) ?? []
    if (unused.length === 0) return
    const { claimed } = this.#of
    const facts = { steps: unused.slice(0, mostNames), count: unused.length }
    log.warn({ job: claimed.id, kind: claimed.kind, ...facts }, 'steps that were saved were not asked for again')
    await this.#options.storage
      .warn(claimed, 'unused_steps', facts)
      .catch(error => log.debug({ job: claimed.id, err: error }, 'a warning was not written'))
  }
}
