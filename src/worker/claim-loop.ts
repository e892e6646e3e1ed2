/**
 * Claims jobs for a worker: as many as the slots can take. Starts the jobs, and releases jobs that wait too long. A single loop runs on
 * hints, on freed slots and at the instant of the next job; polling finds what the hints missed.
 *
 * Invariant: a queue never has more attempts at once than its concurrency. No attempt starts after `close()`: jobs from a claim under way
 * are released unstarted. Claimed jobs belong to the incarnation that sent the claim. Jobs suspected of a crash go through claiming/suspect-jobs.ts.
 */
import { setMaxListeners } from 'node:events'
import { BatchOverrideCache } from '../claiming/batch-overrides.ts'
import { Claimer } from '../claiming/claimer.ts'
import { LimitedClaimer } from '../claiming/limited-claimer.ts'
import { Lookahead } from '../claiming/lookahead.ts'
import { Slots } from '../claiming/slots.ts'
import type { ClaimedJob } from '../claiming/sql/claim.ts'
import { isSuspect, SuspectJobs } from '../claiming/suspect-jobs.ts'
import type { Db } from '../database/db.ts'
import type { Attempt } from '../execution/attempt.ts'
import type { IsolationMode } from '../isolation/isolation-mode.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import type { ClaimableKinds } from '../jobs/model/kind-version.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { type Loop, loop } from '../lib/loop.ts'
import type { Random } from '../lib/random.ts'
import { yieldThen } from '../lib/yield.ts'
import type { AttemptRunner, HandlerSlot } from './attempt-runner.ts'
import type { WorkerIncarnation } from './incarnation.ts'
import type { MainLoopHeartbeat } from './main-loop-heartbeat.ts'
import type { WorkerEvents } from './worker-events.ts'

export interface ClaimLoopOptions {
  db: Db
  clock: Clock
  log: Log
  random: Random
  jobs: ReadonlyMap<string, AnyJob>
  takes: ClaimableKinds
  /** Queue name to the number of jobs of this queue that run at once in this worker. */
  queues: Readonly<Record<string, number>>
  pollMs: number
  isolationMode: IsolationMode
  heartbeat: MainLoopHeartbeat
  events: WorkerEvents
}

interface Want {
  slots: Slots
  queue: string
  want: number
}

/** The answer of `untilEmpty`. */
export interface IdleQueues {
  /** Milliseconds until a rate allows the start of a ready job; undefined: no ready job waits for a rate. */
  rateMs: number | undefined
}

/** The bound of outcomes under way. Beyond this bound no attempt starts, so that work stops while the database is unreachable. */
const mostUnsettled = 1000
/**
 * After 64 starts the event loop turns once before the next start, so that claims and outcomes are sent, and answers read, while quick jobs
 * run. Otherwise PostgreSQL would wait until hundreds of jobs without I/O had ended.
 */
const startsPerTurn = 64
/** A claimed job not started after 1 s is released for other workers. */
const startWithinMs = 1000

export class ClaimLoop implements HandlerSlot {
  readonly #options: ClaimLoopOptions
  readonly #slots: Slots[]
  readonly #claimer: Claimer
  readonly #limitedClaimer: LimitedClaimer
  readonly #lookahead: Lookahead
  readonly #suspects: SuspectJobs
  /** The incarnation that claims; set by `claimFor`. */
  #incarnation!: WorkerIncarnation
  /** The number of running handlers. */
  #running = 0
  /** The number of starts until the event loop has to turn. */
  #startsLeft = startsPerTurn
  #pumpsSoon = false
  #loop: Loop | undefined
  #suspended = false
  /** The instant of the last claim round without an error. */
  #askedAt: number | undefined
  #givingBack = false
  /** Pending calls of `untilEmpty`. */
  #emptied: ((idle: IdleQueues) => void)[] = []
  #claimed: () => void = () => {}
  /** Resolves after the first claim round without an error. */
  readonly firstClaim = new Promise<void>(resolve => {
    this.#claimed = resolve
  })
  readonly #closing = new AbortController()

  constructor(options: ClaimLoopOptions) {
    const { db, clock, random, takes, queues, pollMs, isolationMode } = options
    this.#options = options
    // Every paused slot waits for this signal.
    setMaxListeners(0, this.#closing.signal)
    this.#suspects = new SuspectJobs(clock, random, isolationMode)
    this.#slots = Object.entries(queues).map(([queue, size]) => new Slots(queue, size))
    const overrides = new BatchOverrideCache(db)
    this.#claimer = new Claimer(db, clock, takes, overrides)
    this.#limitedClaimer = new LimitedClaimer(db, clock, takes, overrides)
    this.#lookahead = new Lookahead(db, clock, this.queues, pollMs)
  }

  get queues(): readonly string[] {
    return this.#slots.map(slots => slots.queue)
  }

  /** The number of further jobs of this queue that could start now. */
  free(queue: string): number {
    const slots = this.#slotsOf(queue)
    return slots === undefined || this.#suspects.holds ? 0 : Math.max(slots.free - slots.waiting, 0)
  }

  start(): void {
    const { clock, log, pollMs, heartbeat } = this.#options
    const failed = (error: unknown) => {
      log.warn({ err: error }, 'claiming failed; trying again')
      // The claim may be committed although the answer is lost.
      heartbeat.unsure()
    }
    this.#askedAt = this.#now()
    this.#loop = loop({ clock, every: pollMs, tick: () => this.#tick(), failed })
  }

  /** Milliseconds since the last claim round, or since no slot was free; undefined: the loop has not started or has closed. */
  get unaskedMs(): number | undefined {
    return this.#askedAt === undefined || this.#isClosed ? undefined : this.#now() - this.#askedAt
  }

  /** Stops claiming at once; resolves when no claim is under way. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#loop?.stop()
  }

  /** Stops claiming until `claimFor`: the worker was declared dead. */
  suspend(): void {
    this.#suspended = true
  }

  /** Claims under this worker id from now on. Empty claims by a dead worker do not mean empty queues, so the claim cursors are reset. */
  claimFor(incarnation: WorkerIncarnation): void {
    this.#incarnation = incarnation
    for (const queue of this.queues) this.#claimer.forget(queue)
    this.#suspended = false
    this.#loop?.wake()
  }

  /** See Worker.wake. */
  wake(queue?: string, delayMs = 0): boolean {
    const slots = queue === undefined ? undefined : this.#slotsOf(queue)
    if (this.#loop === undefined || (queue !== undefined && slots === undefined)) return false
    if (delayMs <= 0) this.#loop.wake()
    else if (this.#lookahead.dueIn(delayMs)) this.#loop.sleepAtMost(delayMs)
    return slots !== undefined && slots.free > slots.waiting && !this.#suspects.holds && !this.#isClosed
  }

  /** Jobs of this queue with blocked claims, skipped by earlier claims, may be claimable again. */
  claimsUnblocked(queue: string): void {
    this.#lookahead.forget()
    this.wake(queue)
  }

  /** Releases the claimed, unstarted jobs of this batch. No further job of the batch may start. */
  async returnUnstarted(queue: string, batch: string): Promise<void> {
    const isOfIt = ({ claimed }: Attempt) => claimed.batch_id === batch
    await this.#release([...(this.#slotsOf(queue)?.takeOut(isOfIt) ?? []), ...this.#suspects.takeOut(isOfIt)])
    this.#pump()
  }

  /** A job of this queue waits again and is ready after `delayMs`. */
  released(queue: string, delayMs: number): void {
    const { events, pollMs } = this.#options
    this.wake(queue, delayMs)
    // Every worker finds later jobs in time by polling.
    if (delayMs < pollMs) events.released(queue, delayMs)
  }

  handlerEnded(claimed: ClaimedJob, ms: number | undefined, restMs: number): void {
    this.#running--
    if (claimed.crash_suspicion === null || !this.#suspects.ended(claimed)) {
      const slots = this.#slotsOf(claimed.queue)
      if (restMs > 0 && slots !== undefined && this.#loop !== undefined) void this.#rest(slots, restMs)
      else slots?.ended(claimed.kind, ms)
    }
    this.#pumpSoon()
    this.#askIfEmpty()
  }

  async #rest(slots: Slots, ms: number): Promise<void> {
    slots.rest()
    await this.#options.clock.sleep(ms, this.#closing.signal)
    slots.rested()
    this.#pump()
  }

  /** A lease has ended. If the lease counted against a limit, another job may start, here or elsewhere. */
  #leaseEnded(queue: string): void {
    const slots = this.#slotsOf(queue)
    if (slots?.counted) {
      slots.more = true
      this.#options.events.released(queue, 0)
    }
    this.#pumpSoon()
    this.#askIfEmpty()
  }

  /** Resolves after a claim round, begun after this call, that could start no job while no attempt ran. */
  untilEmpty(): Promise<IdleQueues> {
    return new Promise(resolve => {
      this.#emptied.push(resolve)
      this.#loop?.wake()
    })
  }

  /** The end of the last attempt is a reason for a claim round if a caller waits for the answer. */
  #askIfEmpty(): void {
    if (this.#emptied.length > 0 && this.#isIdle) this.#loop?.wake()
  }

  get #isIdle(): boolean {
    return this.#running === 0 && !this.#someWait && this.#incarnation.runner.unsettled === 0
  }

  /** Claims and runs jobs until none is ready; for tests, which own the clock. */
  async drain(): Promise<number> {
    await this.#lookAhead()
    for (let total = 0; ; ) {
      const claimed = await this.#claim()
      total += claimed
      if (claimed === 0 && !this.#someWait) return total
      await this.#incarnation.runner.idle()
    }
  }

  async #tick(): Promise<number | undefined> {
    if (this.#suspended) return undefined
    // Look ahead before the claim: a job due between the two statements is then either ready for the claim or known to be due.
    if (this.#now() >= this.#lookahead.dueAt) await this.#lookAhead()
    // A queue whose slots rest is not part of the claim and may have ready jobs.
    // An attempt that is not settled before the claim may make its job ready again after the claim.
    const asked = this.#isIdle && this.#slots.every(slots => this.#want(slots) > 0) ? this.#emptied.length : 0
    const claimed = await this.#claim()
    this.#askedAt = this.#now()
    if (asked > 0 && claimed === 0 && this.#isIdle) {
      const rateMs = await this.#rateMs()
      for (const resolve of this.#emptied.splice(0, asked)) resolve({ rateMs })
    }
    this.#claimed()
    if (this.#isWorthAsking()) return 0
    if (this.#suspects.holds || this.#slots.every(slots => slots.free <= 0)) {
      // No lookahead happens meanwhile, not even for due jobs: the first freed slot triggers a claim.
      for (const slots of this.#slots) slots.more = true
      return undefined
    }
    return Math.max(Math.min(this.#lookahead.dueAt, this.#claimer.sweepAt) - this.#now(), 1)
  }

  /** Milliseconds until a rate allows the start of a ready job; undefined: no ready job waits for a rate. A rate may be used up without any further job. */
  async #rateMs(): Promise<number | undefined> {
    const waits: number[] = []
    for (const { queue, rateMs } of this.#slots)
      if (rateMs < Number.POSITIVE_INFINITY && (await this.#limitedClaimer.hasReady(queue))) waits.push(rateMs)
    return waits.length === 0 ? undefined : Math.min(...waits)
  }

  async #lookAhead(): Promise<void> {
    const { limited, counted, keyed, anew } = await this.#lookahead.run()
    for (const queue of anew) this.#claimer.forget(queue)
    for (const slots of this.#slots) {
      slots.limited = limited.includes(slots.queue)
      slots.counted = counted.includes(slots.queue)
      slots.keyed = keyed.includes(slots.queue)
    }
  }

  async #claim(): Promise<number> {
    const all = this.#slots.map(slots => ({ slots, queue: slots.queue, want: this.#want(slots) }))
    const wants = all.filter(each => each.want > 0)
    // This queue is not part of the claim: the first freed slot triggers a claim.
    for (const { slots, want } of all) if (want <= 0) slots.more = true
    if (wants.length === 0 || this.#isClosed) return 0
    // `more` is set again by the answer. Until then, this claim is no reason for another claim.
    for (const { slots } of wants) {
      slots.more = false
      slots.rateMs = Number.POSITIVE_INFINITY
    }
    const incarnation = this.#incarnation
    const taken = new Map<string, number>()
    const late: ClaimedJob[] = []
    const refused: Attempt[] = []
    let delayMs = 0
    // Start jobs per statement: if a later statement fails, the jobs of an earlier statement run anyway.
    const took = (claimed: readonly ClaimedJob[]) => {
      if (this.#isClosed) return void late.push(...claimed)
      for (const each of claimed) {
        this.#options.events.claimed(each.queue, each.id)
        taken.set(each.queue, (taken.get(each.queue) ?? 0) + 1)
        const attempt = incarnation.hold(each, this.#options.jobs.get(each.kind)!)
        if (attempt === undefined) continue
        if (!isSuspect(each.crash_suspicion)) {
          this.#slotsOf(each.queue)?.add(attempt, each.input_bytes)
          continue
        }
        const notBefore = this.#suspects.admit(attempt, this.#running === 0)
        if (notBefore === undefined) continue
        refused.push(attempt)
        delayMs = Math.max(delayMs, notBefore)
      }
      this.#pump()
    }
    try {
      const seen = this.#lookahead.seen
      await this.#ask(incarnation.id, wants, took)
      for (const { slots, queue, want } of wants) {
        slots.more = taken.get(queue) === want
        if (!slots.more && !slots.limited && seen !== undefined) this.#claimer.sawAll(queue, seen)
      }
    } finally {
      await incarnation.leases.refuse(late)
      await this.#release(refused, delayMs)
      if (this.#someWait) void this.#releaseLate()
    }
    return [...taken.values()].reduce((sum, count) => sum + count, 0)
  }

  async #ask(worker: string, wants: readonly Want[], took: (claimed: readonly ClaimedJob[]) => void): Promise<void> {
    const open = wants.filter(each => !each.slots.limited)
    if (open.length > 0) took(await this.#claimer.claim(worker, open))
    for (const { slots, queue, want } of wants) {
      if (!slots.limited || this.#isClosed) continue
      const { nextMs, rateMs } = await this.#limitedClaimer.claim(worker, { queue, want, keyed: slots.keyed }, took)
      slots.rateMs = rateMs
      this.#lookahead.dueIn(nextMs)
    }
  }

  /** Runs `#pump` once for all handlers and outcomes that end in the same turn of the loop: there may be hundreds. */
  #pumpSoon(): void {
    // Without a loop (`drain`), the caller reads the running attempts at once.
    if (this.#loop === undefined) return void this.#pump()
    if (this.#pumpsSoon) return
    this.#pumpsSoon = true
    queueMicrotask(() => {
      this.#pumpsSoon = false
      this.#pump()
    })
  }

  /** Starts the jobs that wait for a slot, and claims more before the slots run empty. */
  #pump(): void {
    if (this.#isClosed || (this.#startsLeft <= 0 && this.#loop !== undefined)) return
    const incarnation = this.#incarnation
    if (this.#suspects.waiting.length > 0) this.#startSuspects(incarnation)
    for (const slots of this.#slots) {
      while (incarnation.runner.unsettled < mostUnsettled && !this.#suspects.holds) {
        const attempt = slots.take()
        if (attempt === undefined) break
        if (incarnation.leases.has(attempt)) this.#start(incarnation, attempt, !slots.isQuick(attempt.job.kind))
        else slots.release()
        if (this.#startsLeft <= 0 && this.#loop !== undefined) break
      }
    }
    if (this.#isWorthAsking()) this.#loop?.wake()
  }

  #startSuspects(incarnation: WorkerIncarnation): void {
    for (;;) {
      const attempt = this.#suspects.next(this.#running === 0 && incarnation.runner.unsettled === 0)
      if (attempt === undefined) return
      if (incarnation.leases.has(attempt)) this.#start(incarnation, attempt, true)
      else this.#suspects.ended(attempt.claimed)
    }
  }

  #start({ runner }: WorkerIncarnation, attempt: Attempt, trackAsync: boolean): void {
    this.#running++
    void this.#run(runner, attempt, trackAsync)
    if (--this.#startsLeft === 0 && this.#loop !== undefined) yieldThen(this.#options.clock, () => this.#turned())
  }

  /** Runs a claimed job to the end. `handlerEnded` frees the slot before the outcome is written. */
  async #run(runner: AttemptRunner, attempt: Attempt, trackAsync: boolean): Promise<void> {
    const { queue } = attempt.claimed
    const { delay } = await runner.run(attempt, trackAsync, this)
    if (delay !== undefined) this.released(queue, delay)
    this.#leaseEnded(queue)
  }

  #turned(): void {
    this.#startsLeft = startsPerTurn
    this.#pump()
  }

  /** Once a second while claimed jobs wait: releases the jobs that have waited too long. */
  async #releaseLate(): Promise<void> {
    if (this.#givingBack || this.#loop === undefined) return
    this.#givingBack = true
    while (!this.#isClosed && this.#someWait) {
      await this.#options.clock.sleep(startWithinMs, this.#closing.signal)
      await this.#release(this.#slots.flatMap(slots => slots.overdue(this.#now() - startWithinMs)))
      await this.#tendSuspects()
    }
    this.#givingBack = false
  }

  /**
   * Handles the suspected jobs that wait: drops jobs with a lost lease, releases jobs that waited too long, and restarts the age of the
   * other claims.
   */
  async #tendSuspects(): Promise<void> {
    const incarnation = this.#incarnation
    const gone = this.#suspects.takeOut(each => !incarnation.leases.has(each))
    const { late, delayMs } = this.#suspects.overdue()
    await this.#release(late, delayMs)
    if (gone.length + late.length > 0) this.#pump()
    await incarnation.leases
      .restartAges(this.#suspects.waiting)
      .catch(error => this.#options.log.debug({ err: error }, 'cannot restart the age of claims'))
  }

  async #release(attempts: readonly Attempt[], delayMs = 0): Promise<void> {
    const { heartbeat, log } = this.#options
    await this.#incarnation.leases.release(attempts, delayMs).catch(error => {
      log.warn({ err: error }, 'cannot release jobs; trying again')
      heartbeat.unsure()
    })
  }

  /** The number of jobs of a queue to claim now; 0 while too many outcomes are under way. */
  #want(slots: Slots): number {
    return this.#incarnation.runner.unsettled < mostUnsettled && !this.#suspects.holds ? slots.want() : 0
  }

  #isWorthAsking(): boolean {
    return this.#slots.some(slots => slots.more && this.#want(slots) > 0)
  }

  get #someWait(): boolean {
    return this.#suspects.waiting.length > 0 || this.#slots.some(slots => slots.waiting > 0)
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  #slotsOf(queue: string): Slots | undefined {
    return this.#slots.find(each => each.queue === queue)
  }

  #now(): number {
    return this.#options.clock.elapsed()
  }
}
