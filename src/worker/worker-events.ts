/** The reports of a worker to the rest of its process: to other workers, to callers that wait for a job, and to batches. */

import type { FailedItem } from '../batches/batch-completion-checks.ts'
import type { MovedBatch } from '../batches/sql/provider-pauses.ts'

/** The worker pool implements the reports. */
export interface WorkerEvents {
  /** The worker has claimed a job of this queue. */
  claimed(queue: string, jobId: string): void
  /** The outcome of an attempt is written, the lease is lost, or nothing could be written. */
  settled(jobId: string): void
  /** A job of this queue waits again and is ready after `delayMs`. Another slot, in this process or elsewhere, may be free for the job. */
  released(queue: string, delayMs: number): void
  /** A job of this batch has reached a final state, or may have. */
  batchTouched(batchId: string): void
  /** An attempt of a job of a batch has failed, and the failure is committed. */
  attemptFailed(failed: FailedItem): void
  /** An attempt of a job of this batch has succeeded, or was skipped. */
  attemptSucceeded(batchId: string): void
  /** A job of this batch has paused the batch. */
  batchPaused(batch: MovedBatch): void
  /** A stopped provider answers again: batches and jobs paused by the stop continue. */
  providerAnswered(): Promise<void>
}
