/**
 * Declares the internals of an engine: methods that only HTTP, the command line and `retoma/testing` use. `internalsOf` answers the
 * internals of an engine; the package root does not export this file.
 *
 * The key is a registered symbol, not a WeakMap of this module: a bundler may load this module twice in a process, once for
 * `retoma` and once for `retoma/http`.
 */

import type { GuessThrottle } from '../auth/brute-force-throttle.ts'
import type { Authentication } from '../auth/tokens.ts'
import type { AnyBatch } from '../batches/model/batch.ts'
import type { MixedEnqueuer } from '../enqueue/enqueue-mixed.ts'
import type { IdempotentRequests } from '../idempotency/idempotent-request.ts'
import type { JobReadsOfHttp } from '../jobs/job-actions.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import type { KindFlags } from '../jobs/sql/job-kind.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import type { RateLimitPeek } from '../limits/rate-limiter.ts'
import type { Check } from '../maintenance/model/doctor-check.ts'
import type { Meter } from '../metrics/metrics-registry.ts'
import type { IdempotentSchedules } from '../schedules/schedule-actions.ts'
import type { WorkOptions } from '../worker/work-options.ts'
import type { Worker } from '../worker/worker.ts'
import type { Engine } from './engine-api.ts'

/** The methods of the internals; each is checked as the public methods are (closed-check.ts). */
export interface InternalMethods
  extends MixedEnqueuer,
    IdempotentRequests,
    IdempotentSchedules,
    JobReadsOfHttp,
    RateLimitPeek,
    GuessThrottle,
    Authentication {
  /** Answers the job definition of a kind; throws `unknown_kind`. */
  kind(name: string): AnyJob
  /** The kinds of this engine. */
  kinds(): AnyJob[]
  /** The private and the internal kinds of all processes on the database. */
  kindFlags(): Promise<KindFlags>
  /** The private kinds with jobs in a queue. */
  privateKindsIn(queue: string): Promise<string[]>
  /** The queues that have private kinds. */
  privateQueues(): Promise<string[]>
  /** Answers a batch definition of this engine by name; throws `unknown_batch`. */
  batchNamed(name: string): AnyBatch
  /** For a queue that a caller outside of the code names; throws `unknown_queue`. */
  findQueue(name: string): Promise<void>
  /** Throws database_unreachable or database_timeout. */
  ping(): Promise<void>
  /** The instant of the database, by which `created_at` of a job is set. */
  databaseNow(): Promise<Date>
  /** Seconds since the last check of any watchdog; null: no check yet. Watchdogs check every 5 s. */
  watchdogLag(): Promise<number | null>
  /** Seconds since the workers of this process could last claim; null: this process has no worker. Workers claim every 5 s. */
  claimLag(): Promise<number | null>
  /** The checks of `retoma doctor` on the database of this engine, without the check of the settings. */
  doctor(): Promise<Check[]>
  /** Resolves once every worker of this process has claimed without an error, or has stopped. */
  firstClaim(): Promise<void>

  // A worker driven by hand and single passes of the services, for `retoma/testing`.
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

export interface EngineInternals extends InternalMethods {
  /** The source of time of the engine. */
  readonly clock: Clock
  /** The log of the engine. */
  readonly log: Log
  /** The metrics of this process. */
  readonly meter: Meter
}

const internals = Symbol.for('retoma.engine.internals')

/** Adds the internals to an engine, hidden from `Object.keys` and from a spread. */
export function withInternals(engine: Engine, given: EngineInternals): Engine {
  return Object.defineProperty(engine, internals, { value: given })
}

export function internalsOf(engine: Engine): EngineInternals {
  return (engine as unknown as Record<typeof internals, EngineInternals>)[internals]
}
