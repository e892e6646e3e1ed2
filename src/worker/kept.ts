/**
 * What one attempt keeps on its way: its steps and its place, both made when its handler first asks. They go through the
 * attempt's keeper, and whoever finds the lease lost there tells the handler (`told`).
 *
 * Invariant: what is begun is waited for by close(), and its time stands still while it waits for the database.
 */
import type { JobFiles, JobQuery, JobTransaction } from '../core/context.ts'
import { type FileView, opened } from '../core/file.ts'
import type { IsolatedCall } from '../core/isolated.ts'
import type { ProviderStand, ProviderWord } from '../core/provider.ts'
import { RetomaError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Random } from '../lib/random.ts'
import type { Claimed } from '../store/claim.ts'
import type { Answer } from '../store/loan.ts'
import type { AttemptClock, Awake } from './attempt-clock.ts'
import type { ContextHost } from './context.ts'
import type { Landed } from './group-commit.ts'
import { type Noted, Place } from './place.ts'
import { Steps } from './steps.ts'
import type { Transacted } from './transact.ts'

/** Where an attempt's checkpoints are. */
export interface Keeper {
  /** What earlier attempts have saved; waits for a database that is away. */
  load(claimed: Claimed, signal: AbortSignal): Promise<ReadonlyMap<string, unknown>>
  save(claimed: Claimed, name: string, value: string): Promise<Landed>
  transact(
    claimed: Claimed,
    name: string,
    work: (tx: JobTransaction) => Promise<string>,
    signal: AbortSignal,
  ): Promise<Transacted>
  note(claimed: Claimed, note: Noted): Promise<Landed>
  /** Reads for the handler; waits for a database that is away. */
  look(query: JobQuery, signal: AbortSignal): Promise<Answer>
  /** How that provider stands now, after that word. Waits for a database that is away, but for the news of an answer. */
  provider(claimed: Claimed, name: string, word: ProviderWord, signal: AbortSignal): Promise<ProviderStand>
  /** null: there is none. Waits for a database that is away, as do the other two. */
  file(claimed: Claimed, id: string, signal: AbortSignal): Promise<FileView | null>
  /** Throws file_gone. */
  piece(claimed: Claimed, id: string, n: number, signal: AbortSignal): Promise<Uint8Array>
  /** Where a copy of it is on this machine's disk until the attempt ends; null: there is none. */
  copy(claimed: Claimed, id: string, signal: AbortSignal): Promise<string | null>
  /** Into the job's history. */
  warn(claimed: Claimed, what: string, facts: Readonly<Record<string, unknown>>): Promise<void>
}

/** The attempt it belongs to. */
interface Of {
  readonly claimed: Claimed
  /** When it was claimed, in this process's milliseconds. */
  readonly claimedAt: number
  readonly time: AttemptClock
  readonly signal: AbortSignal
  readonly running: boolean
  readonly isolate: (call: IsolatedCall, signal: AbortSignal) => Promise<string>
  readonly tellProvider: (name: string, word: ProviderWord) => Promise<ProviderStand>
  readonly told: <Answer extends Landed | Transacted>(ask: (awake: Awake) => Promise<Answer>) => Promise<Answer>
}

interface KeptOptions {
  clock: Clock
  random: Random
  keeper: Keeper
  /** Asked before anything is out of time: has the loop stood still? */
  isTime: () => void
  /** Ends the attempt, to begin again after so many milliseconds. */
  rest: (ms: number) => void
  /** Ends the attempt, because no child process is free. */
  goBack: (noChild: Error) => void
}

/** A list may have been long. */
const mostNames = 20

export class Kept implements ContextHost {
  readonly #of: Of
  readonly #options: KeptOptions
  #place: Place | undefined
  #steps: Steps | undefined
  readonly rest: (ms: number) => void
  readonly goBack: (noChild: Error) => void

  constructor(of: Of, options: KeptOptions) {
    this.#of = of
    this.#options = options
    this.rest = options.rest
    this.goBack = options.goBack
  }

  /** There is something to close. */
  get isUsed(): boolean {
    return this.#place !== undefined
  }

  get place(): Place {
    const { clock, keeper } = this.#options
    const { claimed, told } = this.#of
    this.#place ??= new Place(clock, note => told(() => keeper.note(claimed, note)))
    return this.#place
  }

  get steps(): Steps {
    this.#steps ??= this.#makeSteps(this.place)
    return this.#steps
  }

  #makeSteps(place: Place): Steps {
    const of = this.#of
    const { claimed, time, told } = of
    const { clock, random, keeper, isTime } = this.#options
    return new Steps({
      job: claimed.id,
      clock,
      random,
      get signal() {
        return of.signal
      },
      get stoodMs() {
        isTime()
        return time.stoodMs
      },
      load: () => time.waiting(() => keeper.load(claimed, of.signal)),
      async save(name, value) {
        const how = await told(() => keeper.save(claimed, name, value))
        if (how === 'landed') place.mention({ checkpoint: name })
        return how
      },
      async transact(name, work, signal) {
        const done = await told(awake => keeper.transact(claimed, name, tx => awake(() => work(tx)), signal))
        if (done.how !== 'lost') place.mention({ checkpoint: name })
        return done
      },
    })
  }

  look(query: JobQuery): Promise<Answer> {
    return this.#of.time.waiting(() => this.#options.keeper.look(query, this.#of.signal))
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
    const { keeper } = this.#options
    return {
      async open(id) {
        const file = await time.waiting(() => keeper.file(claimed, id, of.signal))
        return file && opened(file, n => time.waiting(() => keeper.piece(claimed, id, n, of.signal)))
      },
      async path(id) {
        if (!of.running) throw new RetomaError('attempt_over', { job: claimed.id, step: 'files.path' })
        return time.waiting(() => keeper.copy(claimed, id, of.signal))
      },
    }
  }

  isolate(call: IsolatedCall, signal: AbortSignal): Promise<string> {
    return this.#of.isolate(call, signal)
  }

  now(): number {
    return this.#of.claimed.started_ms + this.#options.clock.elapsed() - this.#of.claimedAt
  }

  /** Nothing more comes in, and what was begun has landed; answers the steps that nobody had awaited. */
  async close(): Promise<readonly string[]> {
    const left = await this.#steps?.close()
    await this.#place?.close()
    return left ?? []
  }

  /** The code has changed, or goes another way: what an older attempt saved was of no use. Nothing to fail for. */
  async tellUnused(log: Log): Promise<void> {
    const unused = (await this.#steps?.unused()) ?? []
    if (unused.length === 0) return
    const { claimed } = this.#of
    const facts = { steps: unused.slice(0, mostNames), count: unused.length }
    log.warn({ job: claimed.id, kind: claimed.kind, ...facts }, 'steps that were saved were not asked for again')
    await this.#options.keeper
      .warn(claimed, 'unused_steps', facts)
      .catch(error => log.debug({ job: claimed.id, err: error }, 'a warning was not written'))
  }
}
