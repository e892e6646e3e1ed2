/**
 * Declares the public API of an engine: the interfaces of the parts of src/engine, and the remaining methods. HTTP, the command
 * line and `retoma/testing` use only this interface.
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
  watchOnce(): Promise<Passed>
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
