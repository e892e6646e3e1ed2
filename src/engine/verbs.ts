/**
 * Every verb of an engine, as people call them: each part of src/engine brings its own, and the rest stand here. HTTP, the
 * command line and `retoma/testing` know the engine by this alone.
 */
import type { AnyBatch } from '../core/batch.ts'
import type { AnyJob } from '../core/job.ts'
import type { Clock } from '../lib/clock.ts'
import type { FindingView } from '../store/finding.ts'
import type { WorkerView } from '../store/view.ts'
import type { Worker } from '../worker/worker.ts'
import type { Batches } from './batches.ts'
import type { Bulk } from './bulk.ts'
import type { WorkerHandle } from './crew.ts'
import type { Desk } from './desk.ts'
import type { Erasing } from './erase.ts'
import type { Events } from './events.ts'
import type { Explains } from './explain.ts'
import type { Files } from './files.ts'
import type { GuardDesk } from './guards.ts'
import type { Guesses } from './guesses.ts'
import type { Inbox } from './inbox.ts'
import type { LimitDesk } from './limits.ts'
import type { Meter } from './meter.ts'
import type { Onces } from './once.ts'
import type { Own } from './own.ts'
import type { Providers } from './providers.ts'
import type { Queues } from './queues.ts'
import type { Passed } from './rounds.ts'
import type { StatsDesk } from './stats.ts'
import type { Submits } from './submit.ts'
import type { Timetable } from './timetable.ts'
import type { Together } from './together.ts'
import type { Tokens } from './tokens.ts'
import type { WorkOptions } from './work-options.ts'

export interface Engine
  extends Inbox,
    Together,
    Onces,
    Submits,
    Desk,
    Bulk,
    Batches,
    Queues,
    Timetable,
    GuardDesk,
    LimitDesk,
    Providers,
    Guesses,
    Tokens,
    Events,
    Explains,
    StatsDesk,
    Own,
    Erasing,
    AsyncDisposable {
  /** Files, in PostgreSQL: every process of every host sees them. */
  readonly files: Files
  /** What this process counts of itself. */
  readonly meter: Meter
  /** The kind of job with this name; throws unknown_kind. */
  kind(name: string): AnyJob
  /** The kinds this engine knows. */
  kinds(): AnyJob[]
  /** The batch with this name that this engine was made with; throws unknown_batch. */
  batchNamed(name: string): AnyBatch
  workers(): Promise<WorkerView[]>
  /** Throws database_unreachable or database_timeout. */
  ping(): Promise<void>
  /** Seconds since a watchdog looked, anywhere; null: none ever has. They look every 5 s. */
  watchdogLag(): Promise<number | null>
  /** Seconds since the workers of this process could last ask for jobs; null: none works here. They ask every 5 s. */
  claimLag(): Promise<number | null>
  work(options?: WorkOptions): Promise<WorkerHandle>
  /** Keeps watchdog, janitor, scheduler and guards ticking in this process until the engine closes; a worker does so by itself. */
  watch(): void
  /**
   * One pass of all that, for an outside cron. Where a worker is silent it takes the ten seconds between suspecting it and
   * declaring it dead; otherwise it ends at once.
   */
  watchOnce(): Promise<Passed>
  /** What the watchdog has found and only reports: hung, slow, starved; for as long as it is so. At most 500. */
  findings(): Promise<FindingView[]>
  /** Where its time comes from. */
  readonly clock: Clock
  close(): Promise<void>
}

/** What `retoma/testing` drives besides: a worker by hand, one pass of the watchdog, of the janitor, of the scheduler, of the guards, of the sampler. */
export interface DrivenEngine extends Engine {
  begin(options: WorkOptions, mode: 'by hand'): Promise<Worker>
  tick(): Promise<void>
  clean(): Promise<void>
  schedule(): Promise<unknown>
  guard(): Promise<unknown>
  notify(): Promise<unknown>
  sample(): Promise<unknown>
  /** Asks now whether the batches that something of has ended are over; answers whether one was. */
  endBatches(): Promise<boolean>
}
