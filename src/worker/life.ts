/**
 * One life of a worker: an id, its row in the database, the attempts it holds. A worker that was declared dead ends its
 * life and begins another, so nothing of the old id can be mistaken for the new one's.
 *
 * Invariant: an attempt is in `held` from its claim until its outcome has landed, it was given back, or its lease is
 * known to be lost.
 */
import type { PauseReason } from '../core/hand-back.ts'
import type { AnyJob } from '../core/job.ts'
import type { Outcome, Trouble } from '../core/outcome.ts'
import { RetomaError } from '../errors.ts'
import type { Isolate } from '../isolation/calls.ts'
import type { Children } from '../isolation/children.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Random } from '../lib/random.ts'
import { type Claimed, giveBackClaims, renewClaims } from '../store/claim.ts'
import type { Db } from '../store/db.ts'
import { type Held, nameOf } from '../store/heartbeat.ts'
import { type Asker, tellProvider } from '../store/provider.ts'
import type { MovedBatch } from '../store/provider-turn.ts'
import { papersFolder } from '../supervisor/papers.ts'
import { openStarts, type Starts } from '../supervisor/starts.ts'
import { Alarm } from './alarm.ts'
import { Attempt, type AttemptEnd, type AttemptOptions } from './attempt.ts'
import { type Committer, createCommitter } from './committer.ts'
import type { Copies } from './copies.ts'
import type { Landed } from './group-commit.ts'
import { createKeeper } from './keeper.ts'
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
  /** The handler has ended, after so many milliseconds if that says anything: its slot is free. */
  ended: (claimed: Claimed, ms: number | undefined) => void
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

/** How long a child goes on whose job may run elsewhere. */
const lastWordMs = 500

export class Life {
  readonly id: string
  readonly #options: LifeOptions
  readonly #committer: Committer
  readonly #forAttempts: AttemptOptions
  /** For whoever finds us dead. */
  readonly #starts: Starts
  readonly #held = new Map<string, Attempt>()
  /** How its attempts have ended. */
  readonly tally = new Tally()
  #running = 0
  #handling = 0
  readonly #leftBehind = new LeftBehind()
  /** Told when nothing runs. */
  #idlers: (() => void)[] = []
  #unsettled = 0
  #over = false
  /** What the database said we hold and we did not know, when last compared. */
  #unknown = new Set<string>()
  readonly #handedBack = new Set<string>()
  /** Rings when the first of them is out of time. */
  readonly #alarm: Alarm

  constructor(options: LifeOptions) {
    this.id = options.id
    this.#options = options
    this.#alarm = new Alarm(options.clock, () => this.#timeOut())
    this.#starts = openStarts(papersFolder(), options.id)
    this.#committer = createCommitter({ ...options, worker: options.id })
    this.#forAttempts = {
      ...options,
      keeper: createKeeper({ ...options, worker: options.id, committer: this.#committer }),
      resumed: attempt => this.#alarm.set(attempt.time.deadline),
    }
  }

  get held(): Held[] {
    return Array.from(this.#held.values(), ({ claimed }) => ({ id: claimed.id, attempt: claimed.attempt }))
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
    for (const attempt of this.#held.values()) if (attempt.running) return attempt
    return undefined
  }

  /** When the first of them is out of time, at the earliest. */
  get due(): number {
    return this.#alarm.due
  }

  /**
   * When whoever could block the loop is out of time, whichever it is: of those that run here the last. One that was given
   * up, and goes on, has been already. Undefined: nobody could.
   */
  allDue(now: number): number | undefined {
    let last = this.#leftBehind.size > 0 ? now : undefined
    for (const attempt of this.#held.values())
      if (attempt.running && !attempt.isAway) last = Math.max(last ?? 0, now + attempt.time.leftMs)
    return last
  }

  get unwrittenMs(): number {
    return this.#committer.unwrittenMs
  }

  find(held: Held): Attempt | undefined {
    return this.#held.get(nameOf(held))
  }

  /** The loop stood still for so long, because of that attempt if it is known: the time of the others did, too. */
  stoodStill(ms: number, culprit: string | undefined): void {
    // Who runs alone has nobody else to blame.
    if (this.#handling <= 1) return
    for (const attempt of this.#held.values())
      if (attempt.running && attempt.name !== culprit) attempt.time.stoodStill(ms)
  }

  /** The whole process stood still for so long: that is nobody's doing. */
  stopped(ms: number): void {
    for (const attempt of this.#held.values()) if (attempt.running) attempt.time.stoodStill(ms)
  }

  /**
   * This worker cannot be heard, and will be taken for dead: what runs in a child of its own must not go on beside its
   * next attempt elsewhere.
   */
  cannotBeat(): void {
    for (const attempt of this.#held.values()) {
      if (!attempt.isAway) continue
      attempt.abort(new RetomaError('worker_stopping', { job: attempt.claimed.id }), false)
      void attempt.killChild(lastWordMs)
    }
  }

  /**
   * Undefined: the claim was on its way while this life was declared dead, and the watchdog gives the job back; or for so
   * long that it was handed back as one whose answer was lost.
   */
  hold(claimed: Claimed, job: AnyJob): Attempt | undefined {
    const attempt = new Attempt(claimed, job, this.#forAttempts)
    if (this.#over || this.#handedBack.delete(attempt.name)) return undefined
    this.#held.set(attempt.name, attempt)
    return attempt
  }

  /** `follow`: its code is known as its own after its first await, too. */
  start(attempt: Attempt, follow: boolean): void {
    this.#running++
    this.#handling++
    void this.#run(attempt, follow || this.#options.follows(), this.#starts.note(attempt.name))
    this.#alarm.set(attempt.time.deadline)
    this.#options.started(attempt)
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
      const took = end.state === 'handed_back' ? undefined : ms
      if (attempt.isLeftBehind) void this.#leftBehind.outlive(attempt).then(() => ended(claimed, took))
      else ended(claimed, took)
      try {
        how = await this.#settle(claimed, end)
      } finally {
        this.#unsettled--
      }
      if (how === 'landed') this.tally.ended(claimed, end, ms)
      if (how === 'lost') this.tally.ended(claimed, { state: 'lost' }, ms)
      if (how === 'landed' && (end.state === 'waiting' || end.state === 'handed_back')) delay = end.delay
      if (how === 'landed' && end.state === 'released') delay = 0
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
      this.#held.delete(attempt.name)
      this.#starts.free(place)
    }
    settled(claimed, delay)
    if (--this.#running > 0) return
    for (const told of this.#idlers.splice(0)) told()
  }

  async #settle({ id, attempt, kind }: Claimed, end: AttemptEnd): Promise<Landed> {
    if (end.state === 'lost') return 'lost'
    if (end.state === 'handed_back' && end.trouble) await this.#tell({ job: id, kind }, end.trouble)
    if (end.state === 'handed_back' && end.pause !== null) return this.#pause({ id, attempt }, end, end.pause)
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

  /** Hands back attempts that have not begun: nothing of them is counted. */
  async giveBack(attempts: readonly Attempt[], delayMs = 0): Promise<void> {
    const claims = attempts.filter(each => !each.started).map(each => each.claimed)
    if (claims.length === 0) return
    for (const claim of claims) this.#held.delete(nameOf(claim))
    // When this fails, beats find them unheld and give them back.
    await this.#handBack(claims, delayMs)
  }

  /** They wait for their turn: until then no time of theirs is counted. */
  async renew(attempts: readonly Attempt[]): Promise<void> {
    const { db, clock } = this.#options
    const claims = attempts.map(each => each.claimed)
    if (claims.length > 0) await renewClaims(db, this.id, claims, clock.instant())
  }

  /** What a claim brought when nothing more may start. */
  async refuse(claims: readonly Held[]): Promise<void> {
    if (claims.length > 0) await this.#handBack(claims)
  }

  async #handBack(claims: readonly Held[], delayMs = 0): Promise<void> {
    const { db, clock, gaveBack } = this.#options
    for (const queue of await giveBackClaims(db, this.id, claims, clock.instant(), delayMs)) gaveBack(queue, delayMs)
  }

  /**
   * What the database says we hold and we do not know of, twice in a row so that it is no claim or settle on its way: the
   * answer to a claim was lost, and the job goes back.
   */
  async reconcile(held: readonly Held[]): Promise<void> {
    const unknown = held.filter(each => !this.#held.has(nameOf(each)))
    const lost = unknown.filter(each => this.#unknown.has(nameOf(each)))
    this.#unknown = new Set(unknown.map(nameOf))
    if (lost.length === 0) return
    for (const each of lost) this.#handedBack.add(nameOf(each))
    await this.#handBack(lost)
    this.#options.log.warn({ jobs: lost.map(each => each.id) }, 'the answer to a claim was lost; these jobs go back')
  }

  /** Cancelled or recovered: the handlers hear it. */
  lose(lost: readonly Held[]): void {
    for (const each of lost) {
      const attempt = this.#held.get(nameOf(each))
      if (attempt !== undefined) this.#lose(attempt)
    }
  }

  /** Declared dead: every attempt hears that its lease is gone. */
  end(): void {
    this.#over = true
    this.#alarm.off()
    for (const each of this.#held.values()) this.#lose(each)
    void this.idle().then(() => this.#starts.close())
    this.#killChildren()
  }

  /** Their jobs may run elsewhere soon: whatever runs in a child hears it, and is dead a moment later. */
  #killChildren(): void {
    for (const each of this.#held.values()) {
      if (!each.isAway) continue
      this.#lose(each)
      void each.killChild(lastWordMs)
    }
  }

  /** One that has not begun never will: whoever would start it looks here first. */
  isHeld(attempt: Attempt): boolean {
    return this.#held.get(attempt.name) === attempt
  }

  #lose(attempt: Attempt): void {
    const { id, attempt: number } = attempt.claimed
    if (attempt.running) attempt.abort(new RetomaError('lease_lost', { job: id, attempt: number, worker: this.id }))
    else this.#held.delete(attempt.name)
  }

  /** Answers when the first of the others is out of time. */
  #timeOut(): number {
    this.#options.isTime()
    const now = this.#options.clock.elapsed()
    let next = Number.POSITIVE_INFINITY
    for (const attempt of this.#held.values()) {
      if (attempt.time.deadline <= now) attempt.timeOut()
      // Or it has more time now.
      if (attempt.time.deadline > now) next = Math.min(next, attempt.time.deadline)
    }
    return next
  }

  /** Tells every handler to stop and resolves when each has ended or been handed back. */
  async stop(): Promise<void> {
    for (const attempt of this.#held.values()) {
      if (attempt.started) attempt.abort(new RetomaError('worker_stopping', { job: attempt.claimed.id }))
    }
    await this.giveBack([...this.#held.values()]).catch(error =>
      this.#options.log.warn({ err: error }, 'claimed jobs were not handed back; the watchdog does'),
    )
    await this.idle()
    this.#alarm.off()
    this.#leftBehind.forget()
    this.#starts.close()
  }

  /** The database is no longer waited for: what is unwritten is left to the watchdog. */
  giveUp(): void {
    this.#alarm.off()
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
