/**
 * Declares the public API of an engine: the interfaces of the capabilities, and the remaining methods. HTTP, the command
 * line and `retoma/testing` use only this interface.
 */

import type { GuessThrottle } from '../auth/brute-force-throttle.ts'
import type { Tokens } from '../auth/tokens.ts'
import type { Batches } from '../batches/batch-actions.ts'
import type { AnyBatch } from '../batches/model/batch.ts'
import type { BatchSubmitter } from '../batches/submit-batch.ts'
import type { AppTransactions } from '../database/app-transaction.ts'
import type { Enqueuer } from '../enqueue/enqueue.ts'
import type { MixedEnqueuer } from '../enqueue/enqueue-mixed.ts'
import type { Eraser } from '../erasure/erase.ts'
import type { Events } from '../events/events.ts'
import type { Explainer } from '../explain/explain.ts'
import type { Files } from '../files/file-streams.ts'
import type { GuardActions } from '../guards/guard-actions.ts'
import type { IdempotentRequests } from '../idempotency/idempotent-request.ts'
import type { BulkActions } from '../jobs/bulk-actions.ts'
import type { JobActions } from '../jobs/job-actions.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import type { WorkerView } from '../jobs/sql/job-view.ts'
import type { Clock } from '../lib/clock.ts'
import type { Queues } from '../limits/queue-actions.ts'
import type { RateLimiter } from '../limits/rate-limiter.ts'
import type { Meter } from '../metrics/metrics-registry.ts'
import type { StatsDesk } from '../metrics/stats.ts'
import type { Providers } from '../providers/provider-actions.ts'
import type { FindingView } from '../recovery/sql/findings.ts'
import type { ScheduleActions } from '../schedules/schedule-actions.ts'
import type { WorkOptions } from '../worker/work-options.ts'
import type { Worker } from '../worker/worker.ts'
import type { WorkerHandle } from '../worker/worker-pool.ts'
import type { MaintenanceReport } from './background-services.ts'

export interface Engine
  extends Enqueuer,
    MixedEnqueuer,
    IdempotentRequests,
    BatchSubmitter,
    JobActions,
    BulkActions,
    Batches,
    Queues,
    ScheduleActions,
    GuardActions,
    RateLimiter,
    Providers,
    GuessThrottle,
    Tokens,
    Events,
    Explainer,
    StatsDesk,
    AppTransactions,
    Eraser,
    AsyncDisposable {
  /** Files in PostgreSQL, visible to every process on every host. */
  readonly files: Files
  /** The metrics of this process. */
  readonly meter: Meter
  /** Answers the job definition of a kind; throws `unknown_kind`. */
  kind(name: string): AnyJob
  /** The kinds of this engine. */
  kinds(): AnyJob[]
  /** Answers a batch definition of this engine by name; throws `unknown_batch`. */
  batchNamed(name: string): AnyBatch
  workers(): Promise<WorkerView[]>
  /** Throws database_unreachable or database_timeout. */
  ping(): Promise<void>
  /** Seconds since the last check of any watchdog; null: no check yet. Watchdogs check every 5 s. */
  watchdogLag(): Promise<number | null>
  /** Seconds since the workers of this process could last claim; null: this process has no worker. Workers claim every 5 s. */
  claimLag(): Promise<number | null>
  work(options?: WorkOptions): Promise<WorkerHandle>
  /** Runs watchdog, janitor, scheduler and guards in this process until the engine closes; a worker does so without this call. */
  watch(): void
  /**
   * Runs a single pass of these services, for an external cron. If a worker is silent, the pass takes the ten seconds between the
   * suspicion and the verdict; otherwise it ends at once.
   */
  watchOnce(): Promise<MaintenanceReport>
  /** The findings of the watchdog: hung, slow, starved; each for as long as the problem lasts. At most 500. */
  findings(): Promise<FindingView[]>
  /** The source of time of the engine. */
  readonly clock: Clock
  close(): Promise<void>
}

/**
 * Further methods for `retoma/testing`: a worker driven by hand, and single passes of the watchdog, the janitor, the scheduler,
 * the guards and the sampler.
 */
export interface DrivenEngine extends Engine {
  begin(options: WorkOptions, mode: 'by hand'): Promise<Worker>
  tick(): Promise<void>
  clean(): Promise<void>
  schedule(): Promise<unknown>
  guard(): Promise<unknown>
  notify(): Promise<unknown>
  sample(): Promise<unknown>
  /** Checks now whether touched batches are complete; answers whether any batch was. */
  endBatches(): Promise<boolean>
}
