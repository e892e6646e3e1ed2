/**
 * What runs in this process: its workers, the ear for hints, watchdog, janitor, sampler, scheduler and guards.
 *
 * Invariant: after stop() nothing of it runs. Every wait in it is bounded, so that a database that does not answer cannot
 * keep a process from ending.
 */
import { type Duration, seconds } from '../core/duration.ts'
import type { Guard } from '../core/guard.ts'
import { watchEvery } from '../core/policy.ts'
import type { Schedule } from '../core/schedule.ts'
import type { FinalState } from '../core/state.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { systemRandom } from '../lib/random.ts'
import { type Loop, loop } from '../lib/service.ts'
import { createScheduler, lookEveryMs, type Scheduler } from '../scheduler/scheduler.ts'
import type { Db } from '../store/db.ts'
import { type FindingView, viewFindings } from '../store/finding.ts'
import type { Overdue } from '../store/overdue.ts'
import { armProbes, letBatchesGoOn, type MovedBatch } from '../store/provider-turn.ts'
import { anew, doors, type Listener, listen } from '../store/wake.ts'
import { papersFolder } from '../supervisor/papers.ts'
import { witness } from '../supervisor/witness.ts'
import { version } from '../version.ts'
import type { StalledBatch } from '../watchdog/batch-stall.ts'
import { batchTick } from '../watchdog/batches.ts'
import { createGuards, type Guards, lookEveryMs as guardEveryMs } from '../watchdog/guards.ts'
import { Incidents, lookEveryMs as incidentEveryMs, notifyQueue } from '../watchdog/incidents.ts'
import { janitorTick } from '../watchdog/janitor.ts'
import { type Tick, Watchdog } from '../watchdog/watchdog.ts'
import { currentJob } from '../worker/current.ts'
import { Worker } from '../worker/worker.ts'
import type { BatchEnds } from './batch-ends.ts'
import { buryTheDead } from './burials.ts'
import type { Notify } from './notify.ts'
import type { Registry } from './registry.ts'
import { Sampler } from './sampler.ts'
import type { Waiters } from './waiters.ts'
import { checkQueues, heartSettings, type WorkOptions } from './work-options.ts'

/** A running worker; `await using worker = await engine.work()` stops it at the end of the block. */
export interface WorkerHandle extends AsyncDisposable {
  readonly id: string
  /** Resolves when it has stopped by itself, for another process to take its place: too many of its handlers do not end. */
  readonly worn: Promise<void>
  stop(): Promise<void>
}

const defaultConcurrency = 10
const pollMs = 5000
const janitorMs = 60_000
/** Notices that are posted at once. */
const notices = 10
const deliverMs = 12_000

export interface CrewOptions {
  db: Db
  /** For the heart of a worker: past any pooler. */
  directUrl: string
  clock: Clock
  log: Log
  registry: Registry
  waiters: Waiters
  ends: BatchEnds
  retention: Record<FinalState, Duration>
  schedules: readonly Schedule[]
  guards: readonly Guard[]
  /** Undefined: nobody is told of anything. */
  notify: Notify | undefined
  /** Names this engine in the hints it sends. */
  sender: string
  /** Tells workers of other processes that there is work in that queue: see Hinter. */
  hint: (queue: string, delayMs?: number, taken?: boolean, job?: string) => void
  /** A worker here has claimed a job of that queue. */
  claimed: (queue: string, job: string) => void
  /** Tells workers of other processes that nothing more of that batch may start. */
  held: (queue: string, batch: string) => void
  /** And that what was held in that queue is no more. */
  unheld: (queue: string) => void
  /** Who may come in may have changed, in another process. */
  doors: () => void
}

/** What one pass of everything that ticks has done, and what it found. */
export interface Passed {
  /** Workers that were declared dead. */
  dead: string[]
  /** Jobs whose worker was dead. */
  recovered: string[]
  /** Jobs whose attempt was out of time, or made no progress. */
  timedOut: string[]
  stalled: string[]
  /** Jobs older than their maxAge. */
  overdue: string[]
  batches: StalledBatch[]
  findings: FindingView[]
}

const idsOf = (jobs: readonly { id: string }[]): string[] => jobs.map(each => each.id)

export class Crew {
  readonly #given: CrewOptions
  readonly #workers = new Set<Worker>()
  #listener: Listener | undefined
  #watchdog: Loop | undefined
  #janitor: Loop | undefined
  readonly #dog: Watchdog
  readonly #scheduler: Scheduler
  #schedules: Loop | undefined
  readonly #guards: Guards
  #guarding: Loop | undefined
  readonly #incidents: Incidents | undefined
  #notifying: Loop | undefined
  readonly #sampler: Sampler
  #sampling: Promise<void> | undefined
  #lookAway: (() => void) | undefined

  constructor(given: CrewOptions) {
    this.#given = given
    this.#dog = new Watchdog(given.db, given.clock, given.log)
    this.#scheduler = createScheduler({ ...given, fired: queue => this.tell(queue) })
    this.#guards = createGuards({ ...given, fired: queue => this.tell(queue) })
    if (given.notify !== undefined) this.#incidents = new Incidents({ ...given, writing: given.notify.writing })
    this.#sampler = new Sampler(given)
  }

  async work(options: WorkOptions): Promise<WorkerHandle> {
    await this.#bury()
    const papers = papersFolder()
    if (papers !== undefined) this.#lookAway ??= witness({ papers, current: currentJob })
    const worker = await this.begin(options, 'loops')
    this.watch()
    const stop = () => worker.stop()
    return {
      get id() {
        return worker.id
      },
      worn: worker.worn,
      stop,
      [Symbol.asyncDispose]: stop,
    }
  }

  async begin(options: WorkOptions, mode: 'loops' | 'by hand'): Promise<Worker> {
    const { queues, grace = seconds(5) } = options
    const { db, directUrl, clock, log, registry, waiters, ends, notify } = this.#given
    const { jobs } = registry
    const all = Object.fromEntries([...jobs.values()].map(job => [job.queue, defaultConcurrency]))
    const worker = await Worker.begin(
      {
        db,
        clock,
        log,
        random: systemRandom,
        version,
        jobs,
        queues: { ...(notify === undefined ? {} : { [notifyQueue]: notices }), ...checkQueues(queues ?? all) },
        graceMs: grace,
        pollMs,
        settled: id => waiters.settled(id),
        batchMoved: id => ends.touched(id),
        hint: (queue, delayMs) => this.tell(queue, delayMs),
        claimed: this.#given.claimed,
        paused: batch => this.#paused(batch),
        answered: () => this.#letGoOn(),
        // None on a clock that a test moves.
        heart: clock.instant() === null ? heartSettings(options, directUrl, registry) : undefined,
      },
      mode,
    )
    this.#workers.add(worker)
    void worker.stopped.then(() => this.#workers.delete(worker))
    return worker
  }

  #listen(): Listener {
    return listen({
      ...this.#given,
      woken: (queue, delayMs, held) => {
        // Without a queue: also after each connect, when any hint may have been missed.
        if (queue === undefined) this.#given.doors()
        if (held === doors) return
        if (queue !== undefined && held === anew) this.unheld(queue)
        else if (queue !== undefined && held !== undefined) this.holdBack(queue, held)
        else this.#wake(queue, delayMs)
      },
    })
  }

  /** There may be work: in that queue, or anywhere; at once, or after so many milliseconds. Answers whether a slot is free. */
  #wake(queue?: string, delayMs = 0): boolean {
    return Array.from(this.#workers, worker => worker.wake(queue, delayMs)).includes(true)
  }

  /** One of its jobs has said so. */
  #paused({ id, queue }: MovedBatch): void {
    const { held, waiters, log } = this.#given
    this.holdBack(queue, id)
    held(queue, id)
    waiters.settled(id)
    log.warn({ batch: id, queue }, 'a batch was paused by one of its jobs')
  }

  /** What stood still for a provider that does not any more. */
  async #letGoOn(): Promise<void> {
    const { db, clock, ends, waiters, unheld, log } = this.#given
    const moved = await letBatchesGoOn(db, clock.instant())
    for (const { id, queue } of moved) {
      this.unheld(queue)
      unheld(queue)
      waiters.settled(id)
      log.info({ batch: id }, 'its provider answers again; this batch goes on')
    }
    if (moved.length > 0) await ends.ask(moved.map(each => each.id))
  }

  /** Nothing more of that batch may start here. */
  holdBack(queue: string, batch: string): void {
    for (const worker of this.#workers) void worker.holdBack(queue, batch)
  }

  /** What was held in that queue is no more. */
  unheld(queue: string): void {
    for (const worker of this.#workers) if (worker.queues.includes(queue)) worker.unheld(queue)
  }

  /** There is work in that queue, now or in so many milliseconds, perhaps just that job: for the workers here and elsewhere. */
  readonly tell = (queue: string, delayMs = 0, job?: string): void => {
    const taken = this.#wake(queue, delayMs)
    this.#given.hint(queue, delayMs, taken, job)
  }

  /** Watchdog (and with it the sampler) and janitor tick in this process from now on, scheduler and guards where there are any. */
  watch(): void {
    const { clock, log, schedules, guards, notify } = this.#given
    const ticking = (what: string, every: number, tick: () => Promise<number | undefined>): Loop =>
      loop({
        clock,
        every,
        tick,
        failed: error => log.warn({ err: error }, `the ${what} could not do its round; trying again`),
      })
    this.#listener ??= this.#listen()
    this.#watchdog ??= ticking('watchdog', watchEvery, () => this.tick())
    this.#janitor ??= ticking('janitor', janitorMs, async () => void (await this.clean()))
    if (schedules.length > 0) this.#schedules ??= ticking('scheduler', lookEveryMs, () => this.schedule())
    if (guards.length > 0) this.#guarding ??= ticking('guards', guardEveryMs, () => this.guard())
    if (notify !== undefined) this.#notifying ??= ticking('look for incidents', incidentEveryMs, () => this.notify())
  }

  #bury(): Promise<void> {
    return buryTheDead({ ...this.#given, tell: this.tell, crashed: jobs => this.#sampler.count({ crashed: jobs }) })
  }

  async tick(): Promise<undefined> {
    await this.#bury()
    await this.#follow(await this.#dog.tick())
  }

  /** What follows from a tick; answers the batches that made no progress. */
  async #follow({ recovered, timedOut, stalled, batches, stopped, sample }: Tick): Promise<StalledBatch[]> {
    // What is not given back may have freed a place under its queue's limit.
    this.#moved([...recovered, ...timedOut, ...stalled])
    await this.#sampler.count({ orphaned: recovered, timeout: timedOut, stalled })
    // Aside: it may take seconds, and the next look must not wait for it.
    if (sample && this.#watchdog !== undefined)
      this.#sampling ??= this.sample().finally(() => {
        this.#sampling = undefined
      })
    const { db, clock, ends, log } = this.#given
    if (stopped) {
      await this.#letGoOn()
      for (const queue of await armProbes(db, clock.instant())) this.tell(queue)
    }
    if (!batches) return []
    const still = await batchTick({ db, clock, ask: ids => ends.ask(ids) })
    for (const { id, state, reason, queue } of still) {
      log.warn({ batch: id, state, ...reason }, 'a batch made no progress')
      if (queue !== null) this.tell(queue)
      this.#given.waiters.settled(id)
    }
    return still
  }

  #moved(jobs: readonly { id: string; queue: string }[]): void {
    for (const queue of new Set(jobs.map(each => each.queue))) this.tell(queue)
    for (const { id } of jobs) this.#given.waiters.settled(id)
  }

  async clean(): Promise<Overdue[]> {
    const { db, log, clock, retention } = this.#given
    const overdue = await janitorTick(db, log, retention, clock.instant())
    this.#moved(overdue)
    await this.#sampler.count({ overdue })
    return overdue
  }

  /** One pass of everything that ticks, for who comes by only now and then. */
  async once(): Promise<Passed> {
    const { db, schedules, guards } = this.#given
    const tick = await this.#dog.once()
    const batches = await this.#follow(tick)
    const overdue = await this.clean()
    await this.sample()
    if (schedules.length > 0) await this.schedule()
    if (guards.length > 0) await this.guard()
    await this.notify('at once')
    return {
      dead: tick.dead,
      recovered: idsOf(tick.recovered),
      timedOut: idsOf(tick.timedOut),
      stalled: idsOf(tick.stalled),
      overdue: idsOf(overdue),
      batches,
      findings: await viewFindings(db),
    }
  }

  /** Never throws. */
  sample(): Promise<void> {
    return this.#sampler.tick()
  }

  /** Seconds since each worker here could last ask for jobs, the longest of them; null: none works here. */
  claimLag(): number | null {
    const lags = Array.from(this.#workers, worker => worker.unaskedMs).filter(ms => ms !== undefined)
    return lags.length === 0 ? null : Math.max(...lags) / 1000
  }

  /** Answers the milliseconds until it has something to do again. */
  async schedule(): Promise<number> {
    return this.#scheduler.tick(this.#given.clock.instant())
  }

  /** Likewise. */
  async guard(): Promise<number> {
    return this.#guards.tick()
  }

  /**
   * One look for what a person should be told. Workers deliver it; what none has taken by the next look is delivered here: when
   * all workers are gone, somebody must say so.
   */
  async notify(when: 'in turn' | 'at once' = 'in turn'): Promise<undefined> {
    if (this.#incidents === undefined) return
    const { made, left } = await this.#incidents.look()
    if (made) this.tell(notifyQueue)
    if (this.#workers.size === 0 && (left || (made && when === 'at once'))) await this.#deliver()
  }

  /** Shorter than it takes to be declared dead, since this one does not beat. What is not done by then is handed back. */
  async #deliver(): Promise<void> {
    const { clock } = this.#given
    const worker = await this.begin({ queues: { [notifyQueue]: notices } }, 'by hand')
    const over = new AbortController()
    try {
      await Promise.race([worker.drain(), clock.sleep(deliverMs, over.signal)])
    } finally {
      over.abort()
      await worker.stop()
    }
  }

  async stop(): Promise<void> {
    const workers = Array.from(this.#workers, worker => worker.stop())
    const loops = [this.#watchdog, this.#janitor, this.#schedules, this.#guarding, this.#notifying, this.#listener]
    await Promise.all([...workers, ...loops.map(each => each?.stop())])
    await this.#sampling
    this.#lookAway?.()
  }
}
