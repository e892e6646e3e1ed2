/**
 * Declares the public API of an engine: the methods of everyday work on the engine itself, all others in a namespace by subject.
 * A method takes the id of a single subject: `jobs.*` take job ids, `batches.*` batch ids.
 */

import type { TokensApi } from '../auth/tokens.ts'
import type { BatchActions, BatchReads } from '../batches/batch-actions.ts'
import type { BatchSubmitter } from '../batches/submit-batch.ts'
import type { AppTransactions } from '../database/transactions/app-transaction.ts'
import type { Enqueuer } from '../enqueue/enqueue.ts'
import type { JobUpdater } from '../enqueue/update-job.ts'
import type { EraseResult } from '../erasure/erase.ts'
import type { Events } from '../events/events.ts'
import type { Explainer } from '../explain/explain.ts'
import type { FilesApi } from '../files/file-streams.ts'
import type { GuardsApi } from '../guards/guard-actions.ts'
import type { IncidentReads } from '../incidents/incident-reads.ts'
import type { BulkActions } from '../jobs/bulk-actions.ts'
import type { JobActions, JobReads } from '../jobs/job-actions.ts'
import type { ActedBy } from '../jobs/model/actor.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import type { FailureCause } from '../jobs/sql/failure-causes.ts'
import type { WorkerView } from '../jobs/sql/job-view.ts'
import type { QueuesApi } from '../limits/queue-actions.ts'
import type { RateLimiter } from '../limits/rate-limiter.ts'
import type { MetricSource } from '../metrics/metrics-registry.ts'
import type { MetricReads } from '../metrics/stats.ts'
import type { ProvidersApi } from '../providers/provider-actions.ts'
import type { FindingView } from '../recovery/sql/findings.ts'
import type { SchedulesApi } from '../schedules/schedule-actions.ts'
import type { RunUntilEmptyOptions, RunUntilEmptyResult } from '../worker/run-until-empty.ts'
import type { WorkOptions } from '../worker/work-options.ts'
import type { WorkerHandle } from '../worker/worker-pool.ts'
import type { MaintenanceReport } from './background-services.ts'

/** The answer of `createEngine`. Everyday work is on the engine itself, all other methods are in a namespace for each subject. */
export interface Engine
  extends Enqueuer,
    BatchSubmitter,
    JobReads,
    BatchReads,
    Explainer,
    Events,
    AppTransactions,
    RateLimiter,
    AsyncDisposable {
  /** Lists jobs and acts on jobs. */
  readonly jobs: JobsApi
  /** Lists batches and acts on batches. */
  readonly batches: BatchesApi
  /** Lists, pauses and limits queues. */
  readonly queues: QueuesApi
  /** Lists schedules, and runs a schedule now. */
  readonly schedules: SchedulesApi
  /** Lists guards, and runs a guard now. */
  readonly guards: GuardsApi
  /** Lists providers, and ends a stop by hand. */
  readonly providers: ProvidersApi
  /** Lists the workers of all processes. */
  readonly workers: WorkersApi
  /** Creates, lists and revokes tokens of the HTTP API. */
  readonly tokens: TokensApi
  /** Reads metrics and findings. */
  readonly metrics: MetricsApi
  /** Files in PostgreSQL, visible to every process on every host. */
  readonly files: FilesApi
  /**
   * Starts a worker in this process: claims and runs jobs, and runs watchdog, janitor, scheduler and guards. Throws `bad_option`.
   *
   * @example
   * await using worker = await engine.work({ queues: { documents: 20, mail: 5 } })
   */
  work(options?: WorkOptions): Promise<WorkerHandle>
  /**
   * Runs ready jobs until none is left or `maxMs` have passed, with heartbeats, for hosts without a permanent process. Jobs whose handlers
   * have not ended by then are released, and another call continues. Also resolves if no job is ready.
   */
  runUntilEmpty(options?: RunUntilEmptyOptions): Promise<RunUntilEmptyResult>
  /** Runs watchdog, janitor, scheduler and guards in this process until the engine closes; a worker does so without this call. */
  watch(): void
  /**
   * Runs a single pass of these services, for an external cron. If a worker is silent, the pass takes the ten seconds between the
   * suspicion and the verdict; otherwise it ends at once.
   */
  watch(options: { once: true }): Promise<MaintenanceReport>
  /** Stops the workers, answers the calls under way and closes the connections. Later calls throw `engine_closed`. */
  close(): Promise<void>
}

/** The namespace `engine.jobs`. */
export interface JobsApi extends JobActions, BulkActions, JobUpdater {
  /**
   * Recovers the orphans of a kind now, without the wait for the next sweep of the kind (`sweepEvery`). An orphan is a running job
   * whose worker is dead since the kind's `orphanAfter`; `onOrphan` decides what happens to the job. Returns the ids of the jobs.
   */
  recoverOrphans(job: AnyJob): Promise<string[]>
  /**
   * Erases a finished job with its checkpoints, failures, events, files, incidents and notices. The batch of an item still counts
   * the item. The unique key becomes free: an enqueue with the same key creates another job. A missing job counts as already
   * erased. Throws `wrong_state`.
   */
  erase(id: string, options?: ActedBy): Promise<EraseResult>
  /** The 1,000 newest failed jobs of all queues grouped by error fingerprint, the most frequent first. At most 50. */
  failures(options?: {
    /** Leaves out jobs of these kinds. Default: none. */
    except?: readonly string[] | undefined
  }): Promise<FailureCause[]>
}

/** The namespace `engine.batches`. */
export interface BatchesApi extends BatchActions {
  /**
   * Erases a finished batch with its jobs, checkpoints, failures, events, files, incidents and notices. A missing batch counts as
   * already erased. Throws `batch_state`.
   */
  erase(id: string, options?: ActedBy): Promise<EraseResult>
}

/** The namespace `engine.workers`. */
export interface WorkersApi {
  /** The live workers of all processes, and the workers that ended a short time ago. */
  list(): Promise<WorkerView[]>
}

/** The namespace `engine.metrics`. */
export interface MetricsApi extends MetricReads, IncidentReads {
  /** The findings of the watchdog: hung, slow, starved; each for as long as the problem lasts. At most 500. */
  findings(): Promise<FindingView[]>
  /** Adds the metrics of `source` to every scrape of this process from now on. */
  include(source: MetricSource): void
}
