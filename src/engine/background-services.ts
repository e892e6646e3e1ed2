/**
 * Runs the background services of this process, with or without a worker: watchdog (with the sampler), janitor, scheduler,
 * guards, and the check for incidents. Wakes workers after each change.
 *
 * Invariant: runs of the same service never overlap, and no service waits for another, so that a hanging guard does not keep the
 * watchdog from its checks. After stop() nothing runs.
 */

import type { BatchCompletion } from '../batches/batch-completion-checks.ts'
import type { StalledBatch } from '../batches/batch-stall.ts'
import { batchTick } from '../batches/batch-tick.ts'
import { armProbes } from '../batches/sql/provider-pauses.ts'
import type { Db } from '../database/db.ts'
import { createGuards, type Guards, pollIntervalMs as guardEveryMs } from '../guards/guard-tick.ts'
import type { Guard } from '../guards/model/guard.ts'
import { IncidentCheck, pollIntervalMs as incidentEveryMs } from '../incidents/incident-check.ts'
import { notifyQueue } from '../incidents/model/notice.ts'
import type { Notify } from '../incidents/notice-job.ts'
import { watchEvery } from '../jobs/model/policy.ts'
import type { FinalJobState } from '../jobs/model/state.ts'
import type { SettleListeners } from '../jobs/settle-listeners.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { type Loop, loop } from '../lib/loop.ts'
import type { Duration } from '../lib/values/duration.ts'
import { janitorTick } from '../maintenance/janitor.ts'
import { JobCountSampler } from '../metrics/job-count-sampler.ts'
import { applyCrashReports } from '../recovery/apply-crash-reports.ts'
import { recoverFromDeadProcesses } from '../recovery/dead-processes.ts'
import type { Overdue } from '../recovery/sql/expired-jobs.ts'
import { type FindingView, viewFindings } from '../recovery/sql/findings.ts'
import { type Tick, Watchdog } from '../recovery/watchdog.ts'
import type { Schedule } from '../schedules/model/schedule.ts'
import { createScheduler, pollIntervalMs, type Scheduler } from '../schedules/scheduler.ts'
import type { Supervision } from '../supervisor/supervision.ts'
import type { WorkerPool } from '../worker/worker-pool.ts'

const janitorMs = 60_000
/** For this long a new process checks for ended processes of its machine. */
const beginningMs = 30_000
/** The janitor is never urgent, while jobs that wait for a starting process are. */
const janitorAfterMs = 3000

export interface BackgroundServicesOptions {
  db: Db
  clock: Clock
  log: Log
  workerPool: WorkerPool
  settleListeners: SettleListeners
  completion: BatchCompletion
  retention: Record<FinalJobState, Duration>
  schedules: readonly Schedule[]
  guards: readonly Guard[]
  /** Undefined: no notices are sent. */
  notify: Notify | undefined
  supervision: Supervision
  /** Tells all workers of the queue: running jobs were cancelled, or failed with their batch. */
  leasesEnded: (queue: string) => void
}

/** The changes and findings of a single pass of all services. */
export interface MaintenanceReport {
  /** Workers declared dead. */
  dead: string[]
  /** Orphans: jobs of dead workers. */
  recovered: string[]
  /** Jobs whose attempt timed out, or made no progress. */
  timedOut: string[]
  stalled: string[]
  /** Jobs past their `maxAge` or `maxWait`. */
  overdue: string[]
  batches: StalledBatch[]
  findings: FindingView[]
}

const idsOf = (jobs: readonly { id: string }[]): string[] => jobs.map(each => each.id)

export class BackgroundServices {
  readonly #given: BackgroundServicesOptions
  readonly #watchdogService: Watchdog
  readonly #scheduler: Scheduler
  readonly #guards: Guards
  readonly #incidents: IncidentCheck | undefined
  readonly #sampler: JobCountSampler
  #begun: number | undefined
  /** Workers of this machine that existed at the start and have not certainly ended. */
  #before: readonly string[] | undefined
  #watchdog: Loop | undefined
  #janitor: Loop | undefined
  #schedules: Loop | undefined
  #guarding: Loop | undefined
  #notifying: Loop | undefined
  #sampling: Promise<void> | undefined

  constructor(given: BackgroundServicesOptions) {
    const fired = (queue: string) => given.workerPool.wake(queue)
    this.#given = given
    this.#watchdogService = new Watchdog(given.db, given.clock, given.log)
    this.#scheduler = createScheduler({ ...given, fired })
    this.#guards = createGuards({ ...given, fired })
    if (given.notify !== undefined) this.#incidents = new IncidentCheck({ ...given, writing: given.notify.writing })
    this.#sampler = new JobCountSampler(given)
  }

  /** Starts the services until stop(): watchdog and janitor always, the others if they are configured. */
  watch(): void {
    const { clock, log, schedules, guards, notify } = this.#given
    const ticking = (what: string, every: number, tick: () => Promise<number | undefined>, after = 0): Loop =>
      loop({
        clock,
        every,
        after,
        tick,
        failed: error => log.warn({ err: error }, `the ${what} could not do its round; trying again`),
      })
    this.#given.workerPool.listen()
    this.#watchdog ??= ticking('watchdog', watchEvery, () => this.tick())
    this.#janitor ??= ticking('janitor', janitorMs, async () => void (await this.clean()), janitorAfterMs)
    if (schedules.length > 0) this.#schedules ??= ticking('scheduler', pollIntervalMs, () => this.schedule())
    // The first sweep of a process waits: after an outage, jobs of crashed processes run again first, and their rows then show progress.
    const firstSweepMs = Math.min(guardEveryMs, ...guards.map(({ every }) => every))
    if (guards.length > 0) this.#guarding ??= ticking('guards', guardEveryMs, () => this.guard(), firstSweepMs)
    if (notify !== undefined) this.#notifying ??= ticking('check for incidents', incidentEveryMs, () => this.notify())
  }

  /**
   * Recovers jobs of earlier processes: from the crash reports of the supervisor, and from processes that ended without a report.
   * The latter only for workers that existed when this process began: a killed process may take some seconds to end.
   */
  async applyCrashReports(): Promise<void> {
    await applyCrashReports({
      ...this.#given,
      wake: this.#given.workerPool.wake,
      crashed: jobs => this.#sampler.count({ crashed: jobs }),
    })
    const { clock } = this.#given
    this.#begun ??= clock.elapsed()
    if (clock.elapsed() - this.#begun <= beginningMs) await this.#recoverFromDeadProcesses()
  }

  async #recoverFromDeadProcesses(): Promise<void> {
    try {
      const { recovered, living } = await recoverFromDeadProcesses(this.#given, this.#before)
      this.#before = living
      this.#wakeMoved(recovered)
      await this.#sampler.count({ orphaned: recovered })
    } catch (error) {
      this.#given.log.warn({ err: error }, 'cannot check the worker processes of this machine; trying again')
    }
  }

  async tick(): Promise<undefined> {
    await this.applyCrashReports()
    await this.#applyTick(await this.#watchdogService.tick())
  }

  /** Applies the results of a tick; answers the batches without progress. */
  async #applyTick({ recovered, timedOut, stalled, batches, stopped, sample }: Tick): Promise<StalledBatch[]> {
    // A job that is not recovered to `waiting` may have freed capacity under the limit of the queue.
    this.#wakeMoved([...recovered, ...timedOut, ...stalled])
    await this.#sampler.count({ orphaned: recovered, timeout: timedOut, stalled })
    // Not awaited: a sample may take seconds, and the next check must not wait.
    if (sample && this.#watchdog !== undefined)
      this.#sampling ??= this.sample().finally(() => {
        this.#sampling = undefined
      })
    const { db, clock, completion, log, workerPool, settleListeners, leasesEnded } = this.#given
    if (stopped) {
      await workerPool.providerAnswered()
      for (const queue of await armProbes(db, clock.instant())) workerPool.wake(queue)
    }
    if (!batches) return []
    const still = await batchTick({ db, clock, leasesEnded, checkCompletion: ids => completion.check(ids) })
    for (const { id, state, reason, queue } of still) {
      log.warn({ batch: id, state, ...reason }, 'a batch made no progress')
      if (queue !== null) workerPool.wake(queue)
      settleListeners.settled(id)
    }
    return still
  }

  #wakeMoved(jobs: readonly { id: string; queue: string }[]): void {
    const { workerPool, settleListeners } = this.#given
    for (const queue of new Set(jobs.map(each => each.queue))) workerPool.wake(queue)
    for (const { id } of jobs) settleListeners.settled(id)
  }

  async clean(): Promise<Overdue[]> {
    const { db, log, clock, retention } = this.#given
    const overdue = await janitorTick(db, log, retention, clock.instant())
    this.#wakeMoved(overdue)
    await this.#sampler.count({ overdue })
    return overdue
  }

  /** Runs a single pass of all services, for callers that run only now and then. */
  async once(): Promise<MaintenanceReport> {
    const { db, schedules, guards } = this.#given
    const tick = await this.#watchdogService.once()
    const batches = await this.#applyTick(tick)
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

  /** Answers the delay in milliseconds until the next tick. */
  async schedule(): Promise<number> {
    return this.#scheduler.tick(this.#given.clock.instant())
  }

  /** Answers the delay in milliseconds until the next tick. */
  async guard(): Promise<number> {
    return this.#guards.tick()
  }

  /**
   * Checks once for incidents. Workers send the notices; this process sends notices that no worker has claimed by the next check,
   * because the loss of all workers must be reported too.
   */
  async notify(when: 'in turn' | 'at once' = 'in turn'): Promise<undefined> {
    if (this.#incidents === undefined) return
    const { workerPool } = this.#given
    const { made, left } = await this.#incidents.check()
    if (made) workerPool.wake(notifyQueue)
    if (workerPool.isEmpty && (left || (made && when === 'at once'))) await workerPool.deliver()
  }

  async stop(): Promise<void> {
    const loops = [this.#watchdog, this.#janitor, this.#schedules, this.#guarding, this.#notifying]
    await Promise.all(loops.map(each => each?.stop()))
    await this.#sampling
  }
}
