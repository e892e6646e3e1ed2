/**
 * A worker: claims jobs of its queues for the kinds it has handlers for, runs them, beats. Loops are ticks; the claim
 * loop is woken by hints, by freed slots and by the time the next job is due, and polls as the truth behind them.
 *
 * Invariant: never more attempts at once in a queue than its concurrency. Nothing is claimed under an id whose row is not
 * known to be there and alive: such a claim would be an orphan from its first moment.
 */
import { hostname } from 'node:os'
import type { AnyJob } from '../core/job.ts'
import { beatEvery } from '../core/policy.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { type Random, randomName } from '../lib/random.ts'
import { type Loop, loop } from '../lib/service.ts'
import { claimJobs, untilNext } from '../store/claim.ts'
import type { Db } from '../store/db.ts'
import { beatWorker, leaveWorker, registerWorker } from '../store/heartbeat.ts'
import { Life } from './life.ts'

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
}

interface Slots {
  queue: string
  size: number
  used: number
  /** The last claim took all it asked for: there may be more, so a freed slot is worth another claim. */
  more: boolean
}

export class Worker {
  readonly #options: WorkerOptions
  readonly #slots: Slots[]
  readonly #kinds: string[]
  #life: Life
  /** The present one, and those declared dead whose handlers have not all ended. */
  readonly #lives = new Set<Life>()
  #loops: Loop[] = []
  #claims: Loop | undefined
  #stopping: Promise<void> | undefined
  #ended: () => void = () => {}
  /** Resolves when it has stopped, whoever asked for it. */
  readonly stopped = new Promise<void>(resolve => {
    this.#ended = resolve
  })
  #dead = false

  /** Resolves once the worker's row is there, so that its first claim is never an orphan's. */
  static async begin(options: WorkerOptions, mode: 'loops' | 'by hand' = 'loops'): Promise<Worker> {
    const worker = new Worker(options)
    await worker.#register(worker.id)
    if (mode === 'loops') worker.#startLoops()
    return worker
  }

  private constructor(options: WorkerOptions) {
    this.#options = options
    this.#slots = Object.entries(options.queues).map(([queue, size]) => ({ queue, size, used: 0, more: false }))
    this.#kinds = [...options.jobs.keys()]
    this.#life = this.#newLife()
    this.#lives.add(this.#life)
  }

  get id(): string {
    return this.#life.id
  }

  get queues(): readonly string[] {
    return this.#slots.map(slots => slots.queue)
  }

  /** There may be work: in that queue, or anywhere. */
  wake(queue?: string): void {
    if (queue === undefined || this.#slots.some(slots => slots.queue === queue)) this.#claims?.wake()
  }

  /** Claims and runs until nothing is ready; for tests, which own the clock. */
  async drain(): Promise<number> {
    for (let total = 0; ; ) {
      const claimed = await this.#claim()
      if (claimed === 0) return total
      total += claimed
      await this.#life.idle()
    }
  }

  /** Takes nothing new, tells the handlers, hands back what does not end within the grace. Safe to call twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop().finally(this.#ended)
    return this.#stopping
  }

  async #stop(): Promise<void> {
    // The beat goes on until the last attempt is settled: a slow goodbye must not look like a death.
    const [claims, beats] = this.#loops
    await claims?.stop()
    await Promise.all([...this.#lives].map(life => life.stop()))
    await beats?.stop()
    await leaveWorker(this.#options.db, this.id).catch(error =>
      this.#options.log.debug({ err: error }, 'the worker row stays; the watchdog removes it'),
    )
    this.#options.log.info({ worker: this.id }, 'worker stopped')
  }

  #newLife(): Life {
    const { settled } = this.#options
    return new Life({
      ...this.#options,
      id: randomName('w'),
      freed: ({ id, queue }, back) => {
        const slots = this.#slots.find(each => each.queue === queue)
        if (slots) slots.used--
        settled(id)
        if (slots?.more || back) this.#claims?.wake()
      },
    })
  }

  async #register(id: string): Promise<void> {
    const { db, version, queues, clock } = this.#options
    const facts = { id, host: hostname(), pid: process.pid, version, queues, kinds: this.#kinds }
    await registerWorker(db, facts, clock.instant())
  }

  #startLoops(): void {
    const { clock, log, pollMs } = this.#options
    const failed = (what: string) => (error: unknown) => log.warn({ err: error }, `${what} failed; trying again`)
    this.#claims = loop({ clock, every: pollMs, tick: () => this.#claimTick(), failed: failed('claiming') })
    const beats = loop({ clock, every: beatEvery, tick: () => this.#beat(), failed: failed('the heartbeat') })
    this.#loops = [this.#claims, beats]
    log.info({ worker: this.id, queues: this.#options.queues, kinds: this.#kinds }, 'worker ready')
  }

  async #claimTick(): Promise<number | undefined> {
    if (this.#dead) return undefined
    await this.#claim()
    if (this.#slots.every(slots => slots.used >= slots.size)) return undefined
    if (this.#slots.some(slots => slots.more && slots.used < slots.size)) return 0
    const due = await untilNext(this.#options.db, this.queues, this.#options.clock.instant())
    return due === undefined ? undefined : Math.min(Math.max(due, 1), this.#options.pollMs)
  }

  async #claim(): Promise<number> {
    const { db, clock, jobs } = this.#options
    const life = this.#life
    let total = 0
    for (const slots of this.#slots) {
      const want = slots.size - slots.used
      if (want <= 0) continue
      const claimed = await claimJobs(
        db,
        { queue: slots.queue, want, kinds: this.#kinds, worker: life.id },
        clock.instant(),
      )
      slots.more = claimed.length === want
      for (const each of claimed) {
        slots.used++
        life.start(each, jobs.get(each.kind)!)
      }
      total += claimed.length
    }
    return total
  }

  async #beat(): Promise<undefined> {
    const { db, clock, log } = this.#options
    const before = this.#life.held
    const { alive, held } = await beatWorker(db, this.id, process.memoryUsage.rss(), beatEvery - 500, clock.instant())
    if (alive) {
      await this.#life.reconcile(before, held)
      return
    }
    this.#dead = true
    log.error(
      { worker: this.id, attempts: before.length },
      'this worker was declared dead (paused too long?); it starts over under a new id',
    )
    const last = this.#life
    last.end()
    void last.idle().then(() => this.#lives.delete(last))
    const next = this.#newLife()
    await this.#register(next.id)
    this.#life = next
    this.#lives.add(next)
    this.#dead = false
    this.#claims?.wake()
  }
}
