/**
 * The workers of this process, and the ear for hints to them: whoever makes, moves or holds work tells the crew, and it tells
 * those here at once and those of other processes by a hint.
 *
 * Invariant: after stop() nothing of it runs. Every wait in it is bounded, so that a database that does not answer cannot
 * keep a process from ending.
 */
import { seconds } from '../core/duration.ts'
import { suggestion } from '../core/suggest.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { systemRandom } from '../lib/random.ts'
import type { Db } from '../store/db.ts'
import { recallJobs } from '../store/provider-clear.ts'
import { letBatchesGoOn, type MovedBatch } from '../store/provider-turn.ts'
import { anew, doors, type Listener, listen } from '../store/wake.ts'
import { papersFolder } from '../supervisor/papers.ts'
import { witness } from '../supervisor/witness.ts'
import { version } from '../version.ts'
import { notifyQueue } from '../watchdog/incidents.ts'
import { currentJob } from '../worker/current.ts'
import { Worker } from '../worker/worker.ts'
import type { BatchEnds } from './batch-ends.ts'
import type { Notify } from './notify.ts'
import type { Registry } from './registry.ts'
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

export class Crew {
  readonly #given: CrewOptions
  readonly #workers = new Set<Worker>()
  #listener: Listener | undefined
  #lookAway: (() => void) | undefined

  constructor(given: CrewOptions) {
    this.#given = given
  }

  async work(options: WorkOptions): Promise<WorkerHandle> {
    const papers = papersFolder()
    if (papers !== undefined) this.#lookAway ??= witness({ papers, current: currentJob })
    const worker = await this.begin(options, 'loops')
    this.#warnIfIdle(worker)
    this.listen()
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
        failed: failed => ends.failed(failed),
        succeeded: batch => ends.answered(batch),
        hint: (queue, delayMs) => this.tell(queue, delayMs),
        claimed: this.#given.claimed,
        paused: batch => this.paused(batch),
        answered: () => this.goOn(),
        // None on a clock that a test moves.
        heart: clock.instant() === null ? heartSettings(options, directUrl, registry) : undefined,
      },
      mode,
    )
    this.#workers.add(worker)
    void worker.stopped.then(() => this.#workers.delete(worker))
    return worker
  }

  /** Once, when it begins: a worker that has nothing to run looks just like one that waits for work. */
  #warnIfIdle(worker: Worker): void {
    const { registry, log } = this.#given
    const home = new Set(Array.from(registry.jobs.values(), job => job.queue))
    const facts = { worker: worker.id, kinds: [...registry.jobs.keys()] }
    if (worker.queues.length === 0)
      log.warn(
        facts,
        'this worker serves no queue and will run nothing: give createEngine its jobs before work(), or work({ queues }) a queue',
      )
    for (const queue of worker.queues.filter(each => !home.has(each))) {
      const hint = suggestion(queue, [...home]).en
      log.warn({ ...facts, queue }, `this worker serves queue "${queue}", but no job of this engine is in it${hint}`)
    }
  }

  /** From now on this process hears what others tell. */
  listen(): void {
    this.#listener ??= listen({
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

  /** One of its jobs has said so, or too many of them failed the same way. */
  paused({ id, queue }: MovedBatch): void {
    const { held, waiters, log } = this.#given
    this.holdBack(queue, id)
    held(queue, id)
    waiters.settled(id)
    log.warn({ batch: id, queue }, 'a batch was paused by one of its jobs')
  }

  /** What stood still, or waits, for a provider that does not any more. */
  async goOn(): Promise<void> {
    const { db, clock, ends, waiters, unheld, log } = this.#given
    const moved = await letBatchesGoOn(db, clock.instant())
    for (const { id, queue } of moved) {
      this.unheld(queue)
      unheld(queue)
      waiters.settled(id)
      log.info({ batch: id }, 'its provider answers again; this batch goes on')
    }
    if (moved.length > 0) await ends.ask(moved.map(each => each.id))
    for (const queue of await recallJobs(db, clock.instant())) this.tell(queue)
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

  /** Seconds since each worker here could last ask for jobs, the longest of them; null: none works here. */
  claimLag(): number | null {
    const lags = Array.from(this.#workers, worker => worker.unaskedMs).filter(ms => ms !== undefined)
    return lags.length === 0 ? null : Math.max(...lags) / 1000
  }

  /** Whether nobody works here. */
  get isEmpty(): boolean {
    return this.#workers.size === 0
  }

  /**
   * What is ready of the notices, once and here. Shorter than it takes to be declared dead, since this worker does not beat:
   * what is not done by then is handed back.
   */
  async deliver(): Promise<void> {
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
    await Promise.all([...workers, this.#listener?.stop()])
    this.#lookAway?.()
  }
}
