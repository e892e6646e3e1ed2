/**
 * A worker: a row in the database that beats (pulse.ts), and behind it the jobs of its queues, claimed for the kinds it has
 * handlers for and run (intake.ts takes them in, life.ts holds them). Declared dead, it starts over under a new id.
 *
 * Invariant: nothing is claimed under an id whose row is not known to be there and alive: such a claim would be an orphan
 * from its first moment. Once stop() was called nothing starts.
 */
import { hostname } from 'node:os'
import type { AnyJob } from '../core/job.ts'
import { type Takes, takesOf } from '../core/version.ts'
import { Calls } from '../isolation/calls.ts'
import { Children } from '../isolation/children.ts'
import { checkHandlers } from '../isolation/handler.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { identityOf, thisProcess } from '../lib/process-identity.ts'
import { type Random, randomName } from '../lib/random.ts'
import { temporaryPlace } from '../lib/temporary.ts'
import { claimJobs } from '../store/claim.ts'
import type { Db } from '../store/db.ts'
import { heldBy, leaveWorker, registerWorker, type WorkerProcess } from '../store/heartbeat.ts'
import type { MovedBatch } from '../store/provider-turn.ts'
import { settleJobs } from '../store/settle.ts'
import { papersFolder } from '../supervisor/papers.ts'
import { ChildWaiters } from './child-waiters.ts'
import { Copies, removeLeftCopies } from './copies.ts'
import { Intake } from './intake.ts'
import { Life, type LifeOptions } from './life.ts'
import { type HeartSettings, Pulse } from './pulse.ts'
import { Teller } from './teller.ts'
import { Wear } from './wear.ts'

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
  /** An attempt of a job of a batch has failed, and that is written. */
  failed: LifeOptions['failed']
  /** An attempt of a job of that batch has succeeded, or was skipped. */
  succeeded: (batchId: string) => void
  /** A job of that queue waits again, ready after so many milliseconds: others, here and elsewhere, may have a slot for it. */
  hint: (queue: string, delayMs: number) => void
  claimed: (queue: string, jobId: string) => void
  /** That batch was paused by one of its jobs. */
  paused: (batch: MovedBatch) => void
  /** A provider that had stopped answers again: what stood still for it goes on. */
  answered: () => Promise<void>
  /** Undefined: the main loop beats, as it does on a clock that a test moves. */
  heart?: HeartSettings | undefined
}

/** How much longer than a handler's grace a worker that stops waits for the database, and then for its goodbye. */
const lastWriteMs = 2000
const leaveMs = 1000
const beatsBetweenSearches = 12

/** Undefined: nobody could tell later that it has ended. */
function workerProcess(): WorkerProcess | undefined {
  const self = thisProcess()
  if (self === undefined || papersFolder() === undefined) return self && { ...self, supervisor: null }
  const supervisor = identityOf(process.ppid)
  return supervisor && { ...self, supervisor }
}

export class Worker {
  readonly #options: WorkerOptions
  readonly #takes: Required<Takes>
  readonly #intake: Intake
  readonly #children: Children
  readonly #copies = new Copies(temporaryPlace())
  readonly #calls: Calls
  readonly #waiters: ChildWaiters
  #life: Life
  /** The present one, and those declared dead whose handlers have not all ended. */
  readonly #lives = new Set<Life>()
  readonly #pulse: Pulse
  readonly #wear: Wear
  readonly #teller: Teller
  #stopping: Promise<void> | undefined
  #ended: () => void = () => {}
  /** Resolves when it has stopped, whoever asked for it. */
  readonly stopped = new Promise<void>(resolve => {
    this.#ended = resolve
  })
  #searches = 0
  #beatsSince = 0

  /** Resolves once the worker's row is there, so that its first claim is never an orphan's. */
  static async begin(options: WorkerOptions, mode: 'loops' | 'by hand' = 'loops'): Promise<Worker> {
    await checkHandlers(options.jobs.values())
    const worker = new Worker(options)
    const registered = worker.#register(worker.id)
    if (mode === 'loops') worker.#prepare()
    await registered
    worker.#tidy()
    if (mode === 'loops') worker.#startLoops()
    return worker
  }

  private constructor(options: WorkerOptions) {
    this.#options = options
    this.#takes = takesOf(options.jobs)
    this.#children = new Children(options.log)
    this.#calls = new Calls(this.#children, calls => this.#waiters.recall(calls))
    this.#waiters = new ChildWaiters({ ...options, recalled: queue => this.#comesBack(queue, 0) })
    const life = () => this.#life
    const slots = Object.values(options.queues).reduce((sum, size) => sum + size, 0)
    this.#wear = new Wear({ log: options.log, id: () => this.id, slots, stop: () => this.stop() })
    this.#teller = new Teller({ ...options, life })
    this.#intake = new Intake({ ...options, takes: this.#takes, life, unsure: () => this.#unsure() })
    this.#pulse = new Pulse({
      ...options,
      heart: options.heart,
      queues: this.#intake.queues,
      life,
      free: queue => this.#intake.free(queue),
      abandoned: () => this.#wear.abandoned,
      search: present => this.#search(present),
      startOver: dead => this.#startOver(dead),
    })
    this.#life = this.#newLife()
    this.#lives.add(this.#life)
  }

  get id(): string {
    return this.#life.id
  }

  /** Resolves when half of its slots were taken by handlers that do not end, and it has stopped for another to take its place. */
  get worn(): Promise<void> {
    return this.#wear.out
  }

  get queues(): readonly string[] {
    return this.#intake.queues
  }

  /** Milliseconds since it could last ask for jobs, or had no slot to ask for; undefined: it does not ask by itself. */
  get unaskedMs(): number | undefined {
    return this.#intake.unaskedMs
  }

  /**
   * There may be work: in that queue, or anywhere; at once, or after so many milliseconds. Answers whether it has a free slot
   * for it.
   */
  wake(queue?: string, delayMs = 0): boolean {
    return this.#intake.wake(queue, delayMs)
  }

  /** What was held in that queue, and passed by, may be claimed again. */
  unheld(queue: string): void {
    this.#intake.unheld(queue)
  }

  /** Nothing more of that batch may start: what is claimed of it and not begun goes back. */
  async holdBack(queue: string, batch: string): Promise<void> {
    await this.#intake.holdBack(queue, batch)
  }

  /** One that is worked by hand beats too, with its clock: time that a test moves on is no silence of the worker's. */
  beat(): void {
    this.#pulse.start()
  }

  /** Claims and runs until nothing is ready; for tests, which own the clock. */
  drain(): Promise<number> {
    return this.#intake.drain()
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
    const over = new AbortController()
    const late = clock.sleep(graceMs + lastWriteMs, over.signal).then(() => 'late' as const)
    // At once: handlers hear it while a claim is still on its way. The beat goes on until the last attempt is settled: a
    // slow goodbye must not look like a death.
    const all = Promise.all([this.#intake.close(), ...Array.from(this.#lives, life => life.stop())])
    const ended = all.then(() => this.#teller.last()).then(() => this.#pulse.stop())
    if ((await Promise.race([ended, late])) === 'late') {
      for (const life of this.#lives) life.giveUp()
      void this.#pulse.stop()
      log.warn(
        { worker: this.id },
        'the database does not answer; what this worker still holds is left to the watchdog',
      )
    }
    over.abort()
    await Promise.all([this.#calls.close(), this.#children.close()])
    await this.#copies.close()
    await leaveWorker(db, this.id, leaveMs, clock.instant()).catch(error =>
      log.debug({ err: error }, 'the worker row stays; the watchdog removes it'),
    )
    log.info({ worker: this.id }, 'worker stopped')
  }

  #newLife(): Life {
    const { settled, batchMoved } = this.#options
    return new Life({
      ...this.#options,
      id: randomName('w'),
      children: this.#children,
      copies: this.#copies,
      isolate: this.#calls.call,
      memoryBytes: this.#options.heart?.memoryBytes,
      ended: (claimed, ms, restMs) => this.#intake.ended(claimed, ms, restMs),
      settled: ({ id, queue, batch_id }, delay) => {
        settled(id)
        if (delay !== undefined) this.#comesBack(queue, delay)
        else if (batch_id !== null) batchMoved(batch_id)
        this.#intake.leaseEnded(queue)
      },
      waitsForChild: claimed => {
        this.#waiters.add(claimed)
        this.#waiters.recall(this.#calls.room)
      },
      gaveBack: (queue, delay) => this.#comesBack(queue, delay),
      started: attempt => this.#pulse.started(attempt),
      isTime: () => this.#pulse.turn(),
      follows: () => this.#pulse.followAll,
      abandoned: more => this.#wear.count(more),
    })
  }

  #comesBack(queue: string, delay: number): void {
    const { hint, pollMs } = this.#options
    this.wake(queue, delay)
    // What is further off, every worker sees in time when it polls.
    if (delay < pollMs) hint(queue, delay)
  }

  /**
   * Sends the two statements of every job, for no job, while the row of this worker is written: PostgreSQL opens connections and
   * makes plans meanwhile, and the first jobs do not wait for that. Whoever needs them hears of what goes wrong.
   */
  #prepare(): void {
    const { db, clock, log } = this.#options
    const claimed = claimJobs(db, { wants: [], worker: this.id, ...this.#takes }, clock.instant())
    const settled = settleJobs(db, this.id, [], clock.instant())
    for (const each of [claimed, settled])
      each.catch(error => log.debug({ err: error }, 'statements could not be prepared'))
  }

  /** Nobody waits for it. */
  #tidy(): void {
    const { log } = this.#options
    removeLeftCopies(temporaryPlace()).catch(error =>
      log.debug({ err: error }, 'copies of files were left where they are'),
    )
  }

  async #register(id: string): Promise<void> {
    const { db, version, queues, clock, jobs } = this.#options
    const { versions } = this.#takes
    const facts = { id, host: hostname(), pid: process.pid, version, queues, kinds: [...jobs.keys()], versions }
    await registerWorker(db, { ...facts, process: workerProcess() }, clock.instant())
  }

  #startLoops(): void {
    const { log, queues, jobs } = this.#options
    // The heart first: the first job may block the loop.
    this.#pulse.start()
    this.#intake.start()
    log.info({ worker: this.id, queues, kinds: [...jobs.keys()] }, 'worker ready')
  }

  /** Something of ours may be in the database that we do not know of: an answer was lost. */
  #unsure(): void {
    this.#searches = 2
    this.#pulse.wake()
  }

  /** Looks for it at the next two beats, and once a minute anyway. */
  async #search(life: Life): Promise<void> {
    this.#teller.beat()
    if (++this.#beatsSince >= beatsBetweenSearches) this.#searches = Math.max(this.#searches, 2)
    if (this.#searches === 0) return
    this.#beatsSince = 0
    await life.leases.reconcile(await heldBy(this.#options.db, life.id))
    this.#searches--
  }

  async #startOver(life: Life): Promise<void> {
    const attempts = life.leases.held.length
    this.#intake.suspend()
    this.#options.log.error(
      { worker: life.id, attempts },
      'this worker was declared dead (paused too long?); it starts over under a new id',
    )
    life.end()
    void life.over().then(() => this.#lives.delete(life))
    const next = this.#newLife()
    await this.#register(next.id).catch(error => {
      // It has a file of its own, and would leave one behind at each try.
      next.end()
      throw error
    })
    this.#life = next
    this.#lives.add(next)
    this.#pulse.live(next.id)
    this.#intake.beginAnew()
  }
}
