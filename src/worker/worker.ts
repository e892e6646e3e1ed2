/**
 * A worker: claims jobs of its queues for the kinds it has handlers for, runs them, beats. Loops are ticks; the claim
 * loop is woken by hints, by freed slots and by the time the next job is due, and polls as the truth behind them.
 *
 * Invariant: never more attempts at once in a queue than its concurrency. Nothing is claimed under an id whose row is not
 * known to be there and alive: such a claim would be an orphan from its first moment. Once stop() was called nothing starts:
 * what a claim on its way still brings goes back unbegun.
 */
import { hostname } from 'node:os'
import type { AnyJob } from '../core/job.ts'
import { beatEvery } from '../core/policy.ts'
import { type Takes, takesOf } from '../core/version.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { type Random, randomName } from '../lib/random.ts'
import { type Loop, loop } from '../lib/service.ts'
import { type Claimed, lookAhead } from '../store/claim.ts'
import type { Db } from '../store/db.ts'
import { beatWorker, heldBy, leaveWorker, registerWorker } from '../store/heartbeat.ts'
import { Claimer } from './claimer.ts'
import { GatedClaimer } from './gated-claimer.ts'
import { Life } from './life.ts'
import { Slots } from './slots.ts'

export interface WorkerOptions {
  db: Db
  clock: Clock
  log: Log
  random: Random
  version: string
  jobs: ReadonlyMap<string, AnyJob>
  /** Queue name to how many of its jobs run at once here. */
  queues: Readonly<Record<string, number>>
  graceMs: number
  pollMs: number
  settled: (jobId: string) => void
  /** A job of that batch has ended, or may have. */
  batchMoved: (batchId: string) => void
  /** A job of that queue waits again, ready after so many milliseconds: others, here and elsewhere, may have a slot for it. */
  hint: (queue: string, delayMs: number) => void
}

/** Outcomes on their way at once: beyond it nothing is started, so that a database that is away stops the work. */
const mostUnsettled = 1000
/** How much longer than a handler's grace a worker that stops waits for the database, and then for its goodbye. */
const lastWriteMs = 2000
const leaveMs = 1000
/** A claimed job that has not started by then is handed back, so that others may run it. */
const startWithinMs = 1000
const beatsBetweenSearches = 12

export class Worker {
  readonly #options: WorkerOptions
  readonly #slots: Slots[]
  readonly #takes: Required<Takes>
  readonly #claimer: Claimer
  readonly #gatedClaimer: GatedClaimer
  #life: Life
  /** The present one, and those declared dead whose handlers have not all ended. */
  readonly #lives = new Set<Life>()
  #claims: Loop | undefined
  #beats: Loop | undefined
  #stopping: Promise<void> | undefined
  #ended: () => void = () => {}
  /** Resolves when it has stopped, whoever asked for it. */
  readonly stopped = new Promise<void>(resolve => {
    this.#ended = resolve
  })
  #dead = false
  /** When the next scheduled job is due, as far as we know, and when we last asked; this process's milliseconds. */
  #dueAt = Number.POSITIVE_INFINITY
  #askedAt = Number.NEGATIVE_INFINITY
  /** From the last look ahead, which every later claim is later than. */
  #seen: string | undefined
  #unheld: Record<string, number> = {}
  #givingBack = false
  #searches = 0
  #beatsSince = 0
  readonly #goodbye = new AbortController()

  /** Resolves once the worker's row is there, so that its first claim is never an orphan's. */
  static async begin(options: WorkerOptions, mode: 'loops' | 'by hand' = 'loops'): Promise<Worker> {
    const worker = new Worker(options)
    await worker.#register(worker.id)
    if (mode === 'loops') worker.#startLoops()
    return worker
  }

  private constructor(options: WorkerOptions) {
    this.#options = options
    this.#slots = Object.entries(options.queues).map(([queue, size]) => new Slots(queue, size))
    this.#takes = takesOf(options.jobs)
    this.#claimer = new Claimer(options.db, options.clock, this.#takes)
    this.#gatedClaimer = new GatedClaimer(options.db, options.clock, this.#takes)
    this.#life = this.#newLife()
    this.#lives.add(this.#life)
  }

  get id(): string {
    return this.#life.id
  }

  get queues(): readonly string[] {
    return this.#slots.map(slots => slots.queue)
  }

  /**
   * There may be work: in that queue, or anywhere; at once, or after so many milliseconds. Answers whether it has a free slot
   * for it.
   */
  wake(queue?: string, delayMs = 0): boolean {
    const slots = queue === undefined ? undefined : this.#slotsOf(queue)
    if (this.#claims === undefined || (queue !== undefined && slots === undefined)) return false
    const dueAt = this.#now() + delayMs
    if (delayMs <= 0) this.#claims.wake()
    else if (dueAt < this.#dueAt) {
      this.#dueAt = dueAt
      this.#claims.sleepAtMost(delayMs)
    }
    return slots !== undefined && slots.free > slots.waiting && !this.#goodbye.signal.aborted
  }

  /** What was held in that queue, and passed by, may be claimed again. */
  unheld(queue: string): void {
    this.#askedAt = Number.NEGATIVE_INFINITY
    this.wake(queue)
  }

  /** Nothing more of that batch may start: what is claimed of it and not begun goes back. */
  async holdBack(queue: string, batch: string): Promise<void> {
    const out = this.#slotsOf(queue)?.takeOut(each => each.claimed.batch_id === batch) ?? []
    await this.#life.giveBack(out).catch(error => {
      this.#options.log.warn({ err: error }, 'handing jobs back failed; trying again')
      this.#unsure()
    })
  }

  /** Claims and runs until nothing is ready; for tests, which own the clock. */
  async drain(): Promise<number> {
    await this.#lookAhead()
    for (let total = 0; ; ) {
      const claimed = await this.#claim()
      total += claimed
      if (claimed === 0 && this.#slots.every(slots => slots.waiting === 0)) return total
      await this.#life.idle()
    }
  }

  /**
   * Takes nothing new, tells the handlers, hands back what does not end within the grace. Resolves within the grace and
   * three seconds, whatever the database does. Safe to call twice.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop().finally(this.#ended)
    return this.#stopping
  }

  async #stop(): Promise<void> {
    const { clock, graceMs, db, log } = this.#options
    this.#goodbye.abort()
    const over = new AbortController()
    const late = clock.sleep(graceMs + lastWriteMs, over.signal).then(() => 'late' as const)
    // At once: handlers hear it while a claim is still on its way. The beat goes on until the last attempt is settled: a
    // slow goodbye must not look like a death.
    const all = Promise.all([this.#claims?.stop(), ...Array.from(this.#lives, life => life.stop())])
    const ended = all.then(() => this.#beats?.stop())
    if ((await Promise.race([ended, late])) === 'late') {
      for (const life of this.#lives) life.giveUp()
      void this.#beats?.stop()
      log.warn(
        { worker: this.id },
        'the database does not answer; what this worker still holds is left to the watchdog',
      )
    }
    over.abort()
    await leaveWorker(db, this.id, leaveMs, clock.instant()).catch(error =>
      log.debug({ err: error }, 'the worker row stays; the watchdog removes it'),
    )
    log.info({ worker: this.id }, 'worker stopped')
  }

  #newLife(): Life {
    const { settled, batchMoved, hint, pollMs } = this.#options
    const comesBack = (queue: string, delay: number) => {
      this.wake(queue, delay)
      // What is further off, every worker sees in time when it polls.
      if (delay < pollMs) hint(queue, delay)
    }
    return new Life({
      ...this.#options,
      id: randomName('w'),
      ended: ({ queue, kind }, ms) => {
        this.#slotsOf(queue)?.ended(kind, ms)
        this.#pump()
      },
      settled: ({ id, queue, batch_id }, delay) => {
        settled(id)
        if (delay !== undefined) comesBack(queue, delay)
        else if (batch_id !== null) batchMoved(batch_id)
        this.#passedGate(queue)
        this.#pump()
      },
      gaveBack: queue => comesBack(queue, 0),
    })
  }

  #slotsOf(queue: string): Slots | undefined {
    return this.#slots.find(each => each.queue === queue)
  }

  /** A lease has ended: where it counted against a limit, another job may start, here or elsewhere. */
  #passedGate(queue: string): void {
    const slots = this.#slotsOf(queue)
    if (!slots?.gated) return
    slots.more = true
    this.#options.hint(queue, 0)
  }

  /** Starts what waits for a slot, and asks for more before it runs out. */
  #pump(): void {
    if (this.#goodbye.signal.aborted) return
    const life = this.#life
    for (const slots of this.#slots) {
      while (life.unsettled < mostUnsettled) {
        const attempt = slots.take()
        if (attempt === undefined) break
        if (life.isHeld(attempt)) life.start(attempt)
        else slots.release()
      }
    }
    if (this.#isWorthAsking()) this.#claims?.wake()
  }

  /** How many of a queue to claim now; none while outcomes pile up. */
  #want(slots: Slots): number {
    return this.#life.unsettled < mostUnsettled ? slots.want() : 0
  }

  #isWorthAsking(): boolean {
    return this.#slots.some(slots => slots.more && this.#want(slots) > 0)
  }

  async #register(id: string): Promise<void> {
    const { db, version, queues, clock, jobs } = this.#options
    const { versions } = this.#takes
    const facts = { id, host: hostname(), pid: process.pid, version, queues, kinds: [...jobs.keys()], versions }
    await registerWorker(db, facts, clock.instant())
  }

  #startLoops(): void {
    const { clock, log, pollMs } = this.#options
    const failed = (what: string) => (error: unknown) => log.warn({ err: error }, `${what} failed; trying again`)
    const claimFailed = (error: unknown) => {
      failed('claiming')(error)
      // Its answer may be lost and not its commit.
      this.#unsure()
    }
    this.#claims = loop({ clock, every: pollMs, tick: () => this.#claimTick(), failed: claimFailed })
    this.#beats = loop({ clock, every: beatEvery, tick: () => this.#beat(), failed: failed('the heartbeat') })
    log.info({ worker: this.id, queues: this.#options.queues, kinds: [...this.#options.jobs.keys()] }, 'worker ready')
  }

  async #claimTick(): Promise<number | undefined> {
    if (this.#dead) return undefined
    // Before the claim: what falls due between the two is then ready for the claim, or known to be due.
    if (this.#now() >= this.#lookAt()) await this.#lookAhead()
    await this.#claim()
    if (this.#isWorthAsking()) return 0
    if (this.#slots.every(slots => slots.free <= 0)) {
      // Nothing is looked for meanwhile, what falls due included: the first slot that is freed asks.
      for (const slots of this.#slots) slots.more = true
      return undefined
    }
    return Math.max(Math.min(this.#lookAt(), this.#claimer.sweepAt) - this.#now(), 1)
  }

  /** When the next scheduled job is due, as far as we know; and by polling, whatever we know. */
  #lookAt(): number {
    return Math.min(this.#dueAt, this.#askedAt + this.#options.pollMs)
  }

  async #lookAhead(): Promise<void> {
    const { db, clock } = this.#options
    const at = this.#now()
    this.#dueAt = Number.POSITIVE_INFINITY
    const { dueMs, gated, seen, unheld } = await lookAhead(db, this.queues, clock.instant())
    // After a failover to a clock that runs behind, what comes in lies before everything seen so far.
    const back = this.#seen !== undefined && seen < this.#seen
    this.#seen = seen
    for (const queue of this.queues) if (back || unheld[queue] !== this.#unheld[queue]) this.#claimer.forget(queue)
    this.#unheld = unheld
    if (dueMs !== null) this.#dueAt = Math.min(this.#dueAt, this.#now() + dueMs)
    for (const slots of this.#slots) slots.gated = gated.includes(slots.queue)
    this.#askedAt = at
  }

  async #claim(): Promise<number> {
    const all = this.#slots.map(slots => ({ slots, queue: slots.queue, want: this.#want(slots) }))
    const wants = all.filter(each => each.want > 0)
    // Not asked: whatever woke us is asked for when a slot is free.
    for (const { slots, want } of all) if (want <= 0) slots.more = true
    if (wants.length === 0 || this.#goodbye.signal.aborted) return 0
    // Known again when it is answered. Meanwhile what this claim brings, or does not bring, is no reason for another.
    for (const { slots } of wants) slots.more = false
    const life = this.#life
    const taken = new Map<string, number>()
    const late: Claimed[] = []
    // As it comes: when a later statement fails, what an earlier one brought runs all the same.
    const took = (claimed: readonly Claimed[]) => {
      if (this.#goodbye.signal.aborted) return void late.push(...claimed)
      for (const each of claimed) {
        taken.set(each.queue, (taken.get(each.queue) ?? 0) + 1)
        const attempt = life.hold(each, this.#options.jobs.get(each.kind)!)
        if (attempt) this.#slotsOf(each.queue)?.add(attempt, each.input_bytes)
      }
      this.#pump()
    }
    try {
      const seen = this.#seen
      await this.#ask(life.id, wants, took)
      for (const { slots, queue, want } of wants) {
        slots.more = taken.get(queue) === want
        if (!slots.more && !slots.gated && seen !== undefined) this.#claimer.sawAll(queue, seen)
      }
    } finally {
      await life.refuse(late)
      if (this.#slots.some(slots => slots.waiting > 0)) void this.#giveBackLate()
    }
    return [...taken.values()].reduce((sum, count) => sum + count, 0)
  }

  async #ask(
    worker: string,
    wants: readonly { slots: Slots; queue: string; want: number }[],
    took: (claimed: readonly Claimed[]) => void,
  ): Promise<void> {
    const open = wants.filter(each => !each.slots.gated)
    if (open.length > 0) took(await this.#claimer.claim(worker, open))
    for (const { slots, queue, want } of wants) {
      if (!slots.gated || this.#goodbye.signal.aborted) continue
      const nextMs = await this.#gatedClaimer.claim(worker, queue, want, took)
      this.#dueAt = Math.min(this.#dueAt, this.#now() + nextMs)
    }
  }

  /** While anything is claimed and not started: once a second, what has waited too long goes back. */
  async #giveBackLate(): Promise<void> {
    if (this.#givingBack || this.#claims === undefined) return
    this.#givingBack = true
    const { clock, log } = this.#options
    while (!this.#goodbye.signal.aborted && this.#slots.some(slots => slots.waiting > 0)) {
      await clock.sleep(startWithinMs, this.#goodbye.signal)
      const late = this.#slots.flatMap(slots => slots.overdue(this.#now() - startWithinMs))
      await this.#life.giveBack(late).catch(error => {
        log.warn({ err: error }, 'handing jobs back failed; trying again')
        this.#unsure()
      })
    }
    this.#givingBack = false
  }

  #now(): number {
    return this.#options.clock.elapsed()
  }

  /** Something of ours may be in the database that we do not know of: an answer was lost. */
  #unsure(): void {
    this.#searches = 2
    this.#beats?.wake()
  }

  /** Looks for it at the next two beats, and once a minute anyway. */
  async #search(life: Life): Promise<void> {
    if (++this.#beatsSince >= beatsBetweenSearches) this.#searches = Math.max(this.#searches, 2)
    if (this.#searches === 0) return
    this.#beatsSince = 0
    await life.reconcile(await heldBy(this.#options.db, life.id))
    this.#searches--
  }

  async #beat(): Promise<undefined> {
    const { db, clock, log } = this.#options
    const life = this.#life
    const inFlight = life.held
    const facts = { id: life.id, memoryBytes: process.memoryUsage.rss(), inFlight }
    const { alive, lost } = await beatWorker(db, facts, beatEvery - 500, clock.instant())
    if (alive) {
      life.lose(lost)
      await this.#search(life)
      return
    }
    this.#dead = true
    log.error(
      { worker: this.id, attempts: inFlight.length },
      'this worker was declared dead (paused too long?); it starts over under a new id',
    )
    life.end()
    void life.idle().then(() => this.#lives.delete(life))
    const next = this.#newLife()
    await this.#register(next.id)
    this.#life = next
    this.#lives.add(next)
    // The dead are given nothing, which says nothing of what waits.
    for (const queue of this.queues) this.#claimer.forget(queue)
    this.#dead = false
    this.#claims?.wake()
  }
}
