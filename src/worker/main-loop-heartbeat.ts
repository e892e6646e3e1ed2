/**
 * Proves from the main loop that a worker lives. The main loop writes each turn to shared memory, so that the heartbeat thread notices a
 * blocked loop; checks which leases are lost, and which attempts the database lists that are unknown here; and writes heartbeats itself if there is no heartbeat thread, or if the thread cannot.
 *
 * Invariant: while the database is reachable, a living worker writes a heartbeat within two intervals, even if one of both writers fails.
 */

import type { ConnectionTarget } from '../database/connection-target.ts'
import type { Db } from '../database/db.ts'
import type { Attempt } from '../execution/attempt.ts'
import type { CurrentJobTracker } from '../execution/current-job.ts'
import { installCurrentJobHook, type RunningJob } from '../heartbeat/current-job-hook.ts'
import { HeartbeatThread } from '../heartbeat/heartbeat-thread.ts'
import { ProcessPauses } from '../heartbeat/process-pauses.ts'
import { setFree, slot, turnMs } from '../heartbeat/shared-state.ts'
import { heartbeatEvery } from '../jobs/model/policy.ts'
import { type Clock, sharedElapsed } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { type Loop, loop } from '../lib/loop.ts'
import { whileIdle } from '../lib/unref-timer.ts'
import type { Supervision } from '../supervisor/supervision.ts'
import type { WorkerIncarnation } from './incarnation.ts'
import type { MetricsFlusher } from './metrics-flusher.ts'
import { attemptsHeldBy, lostBy, writeHeartbeat } from './sql/lease-heartbeat.ts'

export { defaultMemoryCap } from '../heartbeat/worker-memory-cap.ts'

/** Settings of the heartbeat thread; without settings only the main loop writes heartbeats. */
export interface HeartbeatSettings {
  /** A direct connection, without a pooler. */
  target: ConnectionTarget
  /** The schema of the engine. */
  schema: string
  killWhenHung: boolean
  memoryBytes: number
  /** After this time without a heartbeat the worker considers itself dead and ends isolated attempts. */
  silentMs: number
}

export interface MainLoopHeartbeatOptions {
  db: Db
  clock: Clock
  log: Log
  supervision: Supervision
  currentJob: CurrentJobTracker
  thread: HeartbeatSettings | undefined
  queues: readonly string[]
  metricsFlusher: MetricsFlusher
  worker: MonitoredWorker
}

/** The worker, as the heartbeat uses the worker. */
export interface MonitoredWorker {
  /** The number of further jobs of this queue that could start now. */
  free(queue: string): number
  /** The number of abandoned handlers that still run. */
  readonly abandoned: number
  /** Starts a new incarnation after `dead` was declared dead. Retried until it succeeds. */
  startOver(dead: WorkerIncarnation): Promise<void>
}

const deadlineMs = heartbeatEvery - 500
/** From this delay on the loop was blocked, and other attempts are not charged for the time. */
const blockedMs = 500
/** From this delay on the cause is worth finding. */
const worthKnowingMs = 1000
const beatsBetweenSearches = 12

export class MainLoopHeartbeat {
  readonly #options: MainLoopHeartbeatOptions
  /** The incarnation that lives; set by `live`. */
  #incarnation!: WorkerIncarnation
  /** The number of further heartbeats that check for unknown attempts. */
  #searches = 0
  #beatsSinceSearch = 0
  #heartbeatThread: HeartbeatThread | undefined
  #loop: Loop | undefined
  #stopTurning = () => {}
  #stopAnswering = () => {}
  #dead: string | undefined
  readonly #pauses = new ProcessPauses()
  #standsIn = false
  /** The instant of the main loop's own last heartbeat. */
  #heartbeatAt = Number.NEGATIVE_INFINITY
  /** The difference between the shared clock and `clock.elapsed()`, in milliseconds. */
  #offset = 0
  /** True after a blocked loop of unknown cause: from now on the async context of every handler is tracked. */
  trackAll = false

  constructor(options: MainLoopHeartbeatOptions) {
    this.#options = options
  }

  start(): void {
    const { clock, log, thread } = this.#options
    if (thread !== undefined) this.#startThread(thread)
    const failed = (error: unknown) => {
      log.warn({ err: error }, 'the heartbeat failed; trying again')
      this.#silent()
    }
    this.#loop = loop({ clock, every: heartbeatEvery, tick: () => this.#tick(), failed })
  }

  /** Runs the next tick soon. */
  wake(): void {
    this.#loop?.wake()
  }

  /** The answer to a statement was lost: the database may list attempts of this worker that are unknown here. */
  unsure(): void {
    this.#searches = 2
    this.wake()
  }

  /** A new incarnation has begun. */
  live(incarnation: WorkerIncarnation): void {
    this.#incarnation = incarnation
    this.#heartbeatThread?.live(incarnation.id)
  }

  async stop(): Promise<void> {
    this.#stopTurning()
    this.#stopAnswering()
    await Promise.all([this.#loop?.stop(), this.#heartbeatThread?.stop()])
  }

  #startThread(settings: HeartbeatSettings): void {
    const { clock, log, queues, supervision, currentJob } = this.#options
    this.#offset = sharedElapsed() - clock.elapsed()
    this.#heartbeatThread = new HeartbeatThread({
      ...settings,
      log,
      queues,
      reportFolder: supervision.reportFolder,
      dead: id => {
        this.#dead = id
        this.wake()
      },
      silent: () => this.#silent(),
    })
    this.#heartbeatThread.live(this.#incarnation.id)
    this.turn()
    this.#stopTurning = whileIdle(turnMs, () => this.turn())
    this.#stopAnswering = installCurrentJobHook({
      get knowsJob() {
        return currentJob.current !== undefined
      },
      current: () => this.#current(),
    })
  }

  /**
   * Handles a failed heartbeat of the thread or the main loop. The worker counts as silent only if neither wrote a heartbeat for
   * `silentMs`.
   */
  #silent(): void {
    const { thread: settings, clock } = this.#options
    if (settings === undefined) return
    const byThread = this.#heartbeatThread!.sharedState[slot.heartbeatAt]! - this.#offset
    if (clock.elapsed() - Math.max(byThread, this.#heartbeatAt) >= settings.silentMs)
      this.#incarnation.heartbeatsFailed()
  }

  /** Records a turn of the loop. Also called before attempts time out, so that attempts delayed by a blocked loop do not. */
  turn(): void {
    const heartbeatThread = this.#heartbeatThread
    if (heartbeatThread === undefined) return
    const { sharedState } = heartbeatThread
    const { clock, queues, worker } = this.#options
    const present = this.#incarnation
    const now = sharedElapsed()
    const late = now - sharedState[slot.turnAt]! - turnMs
    if (late > sharedState[slot.lagMs]!) sharedState[slot.lagMs] = late
    if (late >= blockedMs) this.#blockedFor(present, late, now)
    sharedState[slot.abandoned] = worker.abandoned
    sharedState[slot.writeLagMs] = present.writeLagMs
    for (const [n, queue] of queues.entries()) setFree(sharedState, n, worker.free(queue))
    this.#show(present, present.sole)
    const allDue = present.allDue(clock.elapsed()) ?? (worker.abandoned > 0 ? clock.elapsed() : undefined)
    sharedState[slot.allDueAt] = allDue === undefined ? 0 : allDue + this.#offset
    sharedState[slot.turnAt] = now
  }

  /** Records the start of a handler, which may block the loop before the next turn. */
  started(attempt: Attempt): void {
    const incarnation = this.#incarnation
    if (this.#heartbeatThread === undefined) return
    this.#show(incarnation, incarnation.runner.handling === 1 ? attempt : undefined)
    const { sharedState } = this.#heartbeatThread
    sharedState[slot.allDueAt] = Math.max(sharedState[slot.allDueAt]!, attempt.time.deadline + this.#offset)
  }

  #show(incarnation: WorkerIncarnation, sole: Attempt | undefined): void {
    const { sharedState } = this.#heartbeatThread!
    sharedState[slot.running] = incarnation.runner.handling
    sharedState[slot.dueAt] = incarnation.due === Number.POSITIVE_INFINITY ? 0 : incarnation.due + this.#offset
    sharedState[slot.soleJob] = Number(sole?.claimed.id ?? 0)
    sharedState[slot.soleAttempt] = sole?.claimed.attempt ?? 0
  }

  #blockedFor(incarnation: WorkerIncarnation, late: number, now: number): void {
    const { sharedState } = this.#heartbeatThread!
    const stopped = Math.min(this.#pauses.since(sharedState[slot.turnAt]!, sharedState, now), late)
    if (stopped > 0) incarnation.stopped(stopped)
    const ms = late - stopped
    if (ms < blockedMs) return
    const job = sharedState[slot.blockedJob]!
    if (job === 0 && ms >= worthKnowingMs) this.trackAll = true
    incarnation.discountBlockedTime(ms, job === 0 ? undefined : `${job}/${sharedState[slot.blockedAttempt]}`)
  }

  /** Answers the heartbeat thread in the middle of running code: the attempt that this code belongs to. */
  #current(): RunningJob | undefined {
    const incarnation = this.#incarnation
    const known = this.#options.currentJob.current
    const sole = incarnation.sole
    // Quick kinds are not tracked beyond the first `await`; if no other handler runs, the code belongs to the sole attempt.
    const attempt = known === undefined ? (sole?.tracked ? undefined : sole) : incarnation.leases.find(known)
    if (attempt === undefined) return undefined
    const { id, kind, attempt: number } = attempt.claimed
    const turnedAt = this.#heartbeatThread!.sharedState[slot.turnAt]! - this.#offset
    return { id, attempt: number, kind, leftMs: attempt.time.leftOfOne(turnedAt) }
  }

  async #tick(): Promise<undefined> {
    const { db, worker } = this.#options
    const present = this.#incarnation
    const { id, leases } = present
    if (this.#dead === id || !(await this.#isAlive(present))) return void (await worker.startOver(present))
    leases.lose(await lostBy(db, id, leases.held, deadlineMs))
    await leases.extend()
    await this.#search(present)
  }

  /** Checks for unknown attempts at the next two heartbeats after `unsure`, and once a minute anyway. */
  async #search({ id, leases }: WorkerIncarnation): Promise<void> {
    this.#options.metricsFlusher.onHeartbeat()
    if (++this.#beatsSinceSearch >= beatsBetweenSearches) this.#searches = Math.max(this.#searches, 2)
    if (this.#searches === 0) return
    this.#beatsSinceSearch = 0
    await leases.reconcile(await attemptsHeldBy(this.#options.db, id))
    this.#searches--
  }

  async #isAlive(incarnation: WorkerIncarnation): Promise<boolean> {
    const { db, clock, log, queues, worker, supervision } = this.#options
    const standsIn = this.#heartbeatThread?.isBeating === false
    // The end of the heartbeat thread was already logged.
    if (standsIn && !this.#standsIn && this.#heartbeatThread?.isThere && this.#heartbeatThread.canBeat)
      log.warn({ worker: incarnation.id }, 'the heartbeat thread is silent; the main loop writes the heartbeats')
    this.#standsIn = standsIn
    if (this.#heartbeatThread !== undefined && !standsIn) return true
    const measurements = {
      memoryBytes: process.memoryUsage.rss(),
      inFlightCount: incarnation.runner.handling,
      abandoned: worker.abandoned,
      freeSlots: Object.fromEntries(queues.map(queue => [queue, worker.free(queue)])),
      writeLagMs: incarnation.writeLagMs,
      supervised: supervision.reportFolder !== undefined,
    }
    const { alive } = await writeHeartbeat(
      db,
      { id: incarnation.id, inFlight: [], ...measurements },
      deadlineMs,
      clock.instant(),
    )
    this.#heartbeatAt = clock.elapsed()
    return alive
  }
}
