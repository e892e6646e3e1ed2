/**
 * One life of a worker: an id, its row in the database, the attempts it holds (leases.ts) and runs. A worker that was
 * declared dead ends its life and begins another, so nothing of the old id can be mistaken for the new one's.
 *
 * Invariant: whatever starts here ends here, and is settled before its lease is let go: landed, lost, or left to the
 * watchdog.
 */
import { causeOf } from '../core/cause.ts'
import type { PauseReason } from '../core/hand-back.ts'
import type { AnyJob } from '../core/job.ts'
import type { Outcome, Trouble } from '../core/outcome.ts'
import { RetomaError } from '../errors.ts'
import type { Isolate } from '../isolation/calls.ts'
import type { Children } from '../isolation/children.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Random } from '../lib/random.ts'
import type { Claimed } from '../store/claim.ts'
import type { Db } from '../store/db.ts'
import type { Held } from '../store/heartbeat.ts'
import { type Asker, tellProvider } from '../store/provider.ts'
import type { MovedBatch } from '../store/provider-turn.ts'
import { papersFolder } from '../supervisor/papers.ts'
import { openStarts, type Starts } from '../supervisor/starts.ts'
import { Attempt, type AttemptOptions } from './attempt.ts'
import { type Committer, createCommitter } from './committer.ts'
import type { Copies } from './copies.ts'
import { Deadlines } from './deadlines.ts'
import type { AttemptEnd } from './ending.ts'
import type { Landed } from './group-commit.ts'
import { createKeeper } from './keeper.ts'
import { Leases } from './leases.ts'
import { LeftBehind } from './left-behind.ts'
import { Tally } from './tally.ts'

export interface LifeOptions {
  id: string
  db: Db
  clock: Clock
  log: Log
  random: Random
  graceMs: number
  children: Children
  copies: Copies
  isolate: Isolate
  memoryBytes?: number | undefined
  /** The handler has ended, after so many milliseconds if that says anything: its slot is free, once it has rested for so long. */
  ended: (claimed: Claimed, ms: number | undefined, restMs: number) => void
  /** An attempt of a job of a batch has failed, and that is written. */
  failed: (failed: { batch: string; id: string; cause: string; code: string | null; message: string }) => void
  /** An attempt of a job of that batch has succeeded, or was skipped. */
  succeeded: (batchId: string) => void
  /** It was handed back, because no child process was free for it. */
  waitsForChild: (claimed: Claimed) => void
  /** The outcome is in the database, the lease is lost, or nothing could be written; `delay`: it waits again, for that long. */
  settled: (claimed: Claimed, delay: number | undefined) => void
  /** Something of that queue was handed back unbegun, and is ready again after so many milliseconds. */
  gaveBack: (queue: string, delayMs: number) => void
  /** A handler starts. */
  started: (attempt: Attempt) => void
  /** Asked before anything is out of time: has the loop stood still? */
  isTime: () => void
  /** Whether every handler is followed. */
  follows: () => boolean
  /** A handler was given up, or one that was has ended after all. */
  abandoned: (more: 1 | -1) => void
  /** That batch was paused by one of its jobs. */
  paused: (batch: MovedBatch) => void
  /** A provider that had stopped answers again. */
  answered: () => Promise<void>
}

/** A slot whose job was handed back takes the next one after so long, or when its wait is over. */
const longestRestMs = 1000
/** Of what failed so much is kept with the batch. */
const mostMessage = 500
/** How long a child goes on whose job may run elsewhere. */
const lastWordMs = 500

export class Life {
  readonly id: string
  readonly #options: LifeOptions
  readonly #committer: Committer
  readonly #forAttempts: AttemptOptions
  /** For whoever finds us dead. */
  readonly #starts: Starts
  readonly leases: Leases
  /** How its attempts have ended. */
  readonly tally = new Tally()
  #running = 0
  #handling = 0
  readonly #leftBehind = new LeftBehind()
  /** Told when nothing runs. */
  #idlers: (() => void)[] = []
  #unsettled = 0
  readonly #deadlines: Deadlines

  constructor(options: LifeOptions) {
    this.id = options.id
    this.#options = options
    this.leases = new Leases(options)
    this.#deadlines = new Deadlines({ ...options, attempts: this.leases })
    this.#starts = openStarts(papersFolder(), options.id)
    this.#committer = createCommitter({ ...options, worker: options.id })
    this.#forAttempts = {
      ...options,
      keeper: createKeeper({ ...options, worker: options.id, committer: this.#committer }),
      resumed: attempt => this.#deadlines.watch(attempt),
    }
  }

  /** Attempts whose handler has ended and whose outcome is on its way. */
  get unsettled(): number {
    return this.#unsettled
  }

  /** Handlers that run; those left behind not counted. */
  get handling(): number {
    return this.#handling
  }

  /** The one whose handler runs, when there is just one. */
  get sole(): Attempt | undefined {
    if (this.#handling !== 1) return undefined
    for (const attempt of this.leases) if (attempt.running) return attempt
    return undefined
  }

  /** When the first of them is out of time, at the earliest. */
  get due(): number {
    return this.#deadlines.first
  }

  /**
   * When whoever could block the loop is out of time, whichever it is: of those that run here the last. One that was given
   * up, and goes on, has been already. Undefined: nobody could.
   */
  allDue(now: number): number | undefined {
    const last = this.#deadlines.lastHere(now)
    return this.#leftBehind.size > 0 ? Math.max(last ?? 0, now) : last
  }

  get unwrittenMs(): number {
    return this.#committer.unwrittenMs
  }

  /** The loop stood still for so long, because of that attempt if it is known: the time of the others did, too. */
  stoodStill(ms: number, culprit: string | undefined): void {
    // Who runs alone has nobody else to blame.
    if (this.#handling > 1) this.#deadlines.stoodStill(ms, culprit)
  }

  /** The whole process stood still for so long: that is nobody's doing. */
  stopped(ms: number): void {
    this.#deadlines.stoodStill(ms)
  }

  /**
   * This worker cannot be heard, and will be taken for dead: what runs in a child of its own must not go on beside its
   * next attempt elsewhere.
   */
  cannotBeat(): void {
    for (const attempt of this.leases) {
      if (!attempt.isAway) continue
      attempt.abort(new RetomaError('worker_stopping', { job: attempt.claimed.id }), false)
      void attempt.killChild(lastWordMs)
    }
  }

  /** Undefined: its lease is not ours any more. */
  hold(claimed: Claimed, job: AnyJob): Attempt | undefined {
    const attempt = new Attempt(claimed, job, this.#forAttempts)
    return this.leases.add(attempt) ? attempt : undefined
  }

  /** `follow`: its code is known as its own after its first await, too. */
  start(attempt: Attempt, follow: boolean): void {
    this.#running++
    this.#handling++
    const place = this.#starts.note(attempt.name)
    // Before the handler begins: its first synchronous part may block the loop for ever, and its deadline must be known by then.
    attempt.allow()
    this.#deadlines.watch(attempt)
    this.#options.started(attempt)
    void this.#run(attempt, follow || this.#options.follows(), place)
  }

  async #run(attempt: Attempt, follow: boolean, place: number): Promise<void> {
    const { claimed } = attempt
    const { log, clock, ended, settled } = this.#options
    const startedAt = clock.elapsed()
    let delay: number | undefined
    let how: Landed | undefined
    try {
      // It always ends, and never throws.
      const end = await attempt.run(follow)
      this.#handling--
      void this.#options.copies.drop(attempt.name)
      const ms = clock.elapsed() - startedAt
      // Before its slot is free: who must be alone waits for its outcome, too.
      this.#unsettled++
      // One that was handed back has not shown how long its kind takes.
      const isBack = end.state === 'handed_back'
      const took = isBack ? undefined : ms
      // Its neighbours in line would most likely go back as well: for as long as they wait the slot need not hurry.
      const rest = isBack && !end.forChild ? Math.min(end.delay, longestRestMs) : 0
      if (attempt.isLeftBehind) void this.#leftBehind.outlive(attempt).then(() => ended(claimed, took, rest))
      else ended(claimed, took, rest)
      try {
        how = await this.#settle(claimed, end)
      } finally {
        this.#unsettled--
      }
      if (how === 'landed') this.tally.ended(claimed, end, ms)
      if (how === 'lost') this.tally.ended(claimed, { state: 'lost' }, ms)
      if (how === 'landed' && (end.state === 'waiting' || end.state === 'handed_back')) delay = end.delay
      if (how === 'landed' && end.state === 'released') delay = 0
      if (how === 'landed') this.#tellBatch(claimed, end)
      if (how === 'landed' && isBack && end.forChild) this.#options.waitsForChild(claimed)
      if (how === 'lost') {
        const facts = {
          job: claimed.id,
          kind: claimed.kind,
          attempt: claimed.attempt,
          code: 'lease_lost',
          worker: this.id,
        }
        log.warn(facts, 'lease lost; the outcome of this attempt was not accepted')
      }
    } catch (error) {
      // A mistake of ours must not end the process: a later beat finds the job unheld and gives it back.
      log.error({ job: claimed.id, attempt: claimed.attempt, err: error }, 'this attempt could not be ended')
    }
    // What could not be written is still ours: handed back it would run again, and nobody would count it.
    if (how !== 'left' && how !== 'refused') {
      this.leases.delete(attempt)
      this.#starts.free(place)
    }
    settled(claimed, delay)
    if (--this.#running > 0) return
    for (const told of this.#idlers.splice(0)) told()
  }

  #tellBatch({ id, batch_id: batch }: Claimed, end: AttemptEnd): void {
    if (batch === null) return
    if (end.state === 'succeeded' || end.state === 'skipped') this.#options.succeeded(batch)
    if (!('failure' in end) || end.failure === null) return
    const { code, message } = end.failure
    const cause = causeOf(end.failure)
    this.#options.failed({ batch, id, cause, code, message: message.slice(0, mostMessage) })
  }

  #settle(claimed: Claimed, end: AttemptEnd): Promise<Landed> | 'lost' {
    if (end.state === 'lost') return 'lost'
    if (end.state === 'handed_back') return this.#handBack(claimed, end)
    return this.#committer.settle({ id: claimed.id, attempt: claimed.attempt, outcome: end })
  }

  async #handBack({ id, attempt, kind }: Claimed, end: Extract<Outcome, { state: 'handed_back' }>): Promise<Landed> {
    if (end.trouble) await this.#tell({ job: id, kind }, end.trouble)
    if (end.pause !== null) return this.#pause({ id, attempt }, end, end.pause)
    return this.#committer.settle({ id, attempt, outcome: end })
  }

  /** If it can be: who is let through next meets the same. */
  async #tell(asker: Asker, { provider, message }: Trouble): Promise<void> {
    const { db, clock, log } = this.#options
    await tellProvider(db, provider, asker, { how: 'silent', message }, clock.instant()).catch(error =>
      log.debug({ provider, err: error }, 'what a stopped provider was met with was not written'),
    )
  }

  /** The batch first: once its job waits again it may be claimed again. Should we die in between, it is the orphan of a batch that stands. */
  async #pause(held: Held, outcome: Outcome, pause: PauseReason): Promise<Landed> {
    const how = await this.#committer.pause({ ...held, reason: JSON.stringify(pause) })
    return how === 'left' ? how : this.#committer.settle({ ...held, outcome })
  }

  /** Declared dead: every attempt hears that its lease is gone. */
  end(): void {
    this.#deadlines.off()
    this.leases.loseAll()
    void this.idle().then(() => this.#starts.close())
    // Their jobs may run elsewhere soon: whatever runs in a child has heard it, and is dead a moment later.
    for (const each of this.leases) if (each.isAway) void each.killChild(lastWordMs)
  }

  /** Tells every handler to stop and resolves when each has ended or been handed back. */
  async stop(): Promise<void> {
    for (const attempt of this.leases) {
      if (attempt.started) attempt.abort(new RetomaError('worker_stopping', { job: attempt.claimed.id }))
    }
    await this.leases
      .giveBack([...this.leases])
      .catch(error => this.#options.log.warn({ err: error }, 'claimed jobs were not handed back; the watchdog does'))
    await this.idle()
    this.#deadlines.off()
    this.#leftBehind.forget()
    this.#starts.close()
  }

  /** The database is no longer waited for: what is unwritten is left to the watchdog. */
  giveUp(): void {
    this.#deadlines.off()
    this.#committer.giveUp()
    this.#leftBehind.forget()
  }

  /** Resolves when nothing runs, and nothing that was left behind is looked after. */
  async over(): Promise<void> {
    await this.idle()
    await this.#leftBehind.over()
  }

  /** Resolves when nothing runs. */
  async idle(): Promise<void> {
    while (this.#running > 0) await new Promise<void>(resolve => void this.#idlers.push(resolve))
  }
}
