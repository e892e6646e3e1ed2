/** The seed's words for the states of a job and of a batch. The view quotes.quote_requests has the same words, and a test compares both. */
import type { BatchState, JobState } from 'retoma'

export const statuses = ['PENDING', 'PROCESSING', 'DONE', 'ERROR', 'CANCELLED'] as const
export type Status = (typeof statuses)[number]

export const statusOf: Readonly<Record<JobState, Status>> = {
  waiting: 'PENDING',
  running: 'PROCESSING',
  stalled: 'PROCESSING',
  succeeded: 'DONE',
  failed: 'ERROR',
  // No route skips a quote; the engine's own routes can.
  skipped: 'CANCELLED',
  cancelled: 'CANCELLED',
}

export const batchStatuses = [...statuses, 'PAUSED'] as const
export type BatchStatus = (typeof batchStatuses)[number]

export const batchStatusOf: Readonly<Record<BatchState, BatchStatus>> = {
  submitting: 'PENDING',
  waiting: 'PENDING',
  running: 'PROCESSING',
  paused: 'PAUSED',
  stalled: 'PAUSED',
  succeeded: 'DONE',
  completed_with_failures: 'DONE',
  failed: 'ERROR',
  cancelled: 'CANCELLED',
}
