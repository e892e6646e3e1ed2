/**
 * Builds the snapshot of a followed job or batch at an instant, with the parts worth an event: state and progress. Not stored:
 * computed from the row, and compared with the last snapshot of each reader.
 */
import { type BatchState, isFinalBatch } from '../../batches/model/batch-state.ts'
import { etaOf, rateOf, type Sample } from '../../batches/model/throughput.ts'
import type { StoredLog } from '../../jobs/model/job-log.ts'
import { isFinal, type JobState } from '../../jobs/model/state.ts'
import { viewValue } from '../../lib/values/value-codec.ts'

/** The same form for jobs and batches. */
export interface FollowedSnapshot {
  id: string
  batchId: string | null
  /** State (with the attempt of a job) and progress, in the form of a cursor. */
  phase: string
  stamp: string | null
  /** No further change comes, except by an action. */
  over: boolean
  /** Committed events of the subject are not yet visible to readers. */
  pending: boolean
  /** Time since the last progress, or since the enqueue. */
  idleSeconds: number
  state: { to: string; reason: string | null; [more: string]: unknown }
  progress: Readonly<Record<string, unknown>>
  /** New log lines, for readers that want lines. */
  logs?: readonly StoredLog[] | null
}

export interface FollowedJob {
  id: string
  batchId: string | null
  state: JobState
  attempt: number
  progress: unknown
  checkpoint: string | null
  /** Instant of the last progress, as text in microseconds. */
  progressAt: string | null
  error: { type: string; message: string; code: string | null } | null
  pending: boolean
  idleSeconds: number
  /** Log rows with lines after the requested place; null: none, or no reader wants lines. */
  logs: readonly StoredLog[] | null
}

/** States that show the error; the error of an earlier attempt does not matter for a running or succeeded job. */
const explained: readonly JobState[] = ['waiting', 'stalled', 'failed', 'skipped']

export function snapshotOfJob(job: FollowedJob): FollowedSnapshot {
  const { id, batchId, state, attempt, progress, checkpoint, progressAt, pending, idleSeconds } = job
  const error = explained.includes(state) ? job.error : null
  return {
    id,
    batchId,
    phase: phaseOf(state, attempt),
    stamp: progressAt,
    over: isFinal(state),
    pending,
    idleSeconds,
    state: {
      to: state,
      attempt,
      failure_type: error?.type ?? null,
      code: error?.code ?? null,
      reason: error?.message ?? null,
    },
    progress: { progress: viewValue(progress), checkpoint },
    logs: job.logs,
  }
}

export interface FollowedBatch {
  id: string
  state: BatchState
  reason: ({ code: string } & Record<string, unknown>) | null
  /** A cascade is under way. */
  following: boolean
  submitted: boolean
  total: number
  succeeded: number
  failed: number
  skipped: number
  cancelled: number
  stalled: number
  running: number
  ended: number
  /** Recent samples of the number of ended items. */
  samples: readonly Sample[]
  pending: boolean
  idleSeconds: number
}

export function snapshotOfBatch(batch: FollowedBatch): FollowedSnapshot {
  const { id, state, reason, total, succeeded, failed, skipped, cancelled, stalled, running, ended } = batch
  const waiting = Math.max(total - ended - stalled - running, 0)
  const rate = batch.state === 'submitting' || batch.state === 'running' ? rateOf(batch.samples, ended) : null
  const etaSeconds = batch.submitted ? etaOf(rate, total - ended) : null
  return {
    id,
    batchId: id,
    phase: phaseOf(state),
    stamp: [total, succeeded, failed, skipped, cancelled, stalled].join('.'),
    over: isFinalBatch(state) && !batch.following,
    pending: batch.pending,
    idleSeconds: batch.idleSeconds,
    state: { to: state, reason: reason?.code ?? null, facts: reason },
    progress: { total, waiting, running, succeeded, failed, skipped, cancelled, stalled, rate, etaSeconds },
  }
}

/** For a batch, which has no attempts, the state alone. */
export const phaseOf = (state: string, attempt?: unknown): string =>
  attempt === undefined ? state : `${String(attempt)}.${state}`

/** Returns the state in a phase. */
export const stateOf = (phase: string | null): string | null => phase?.slice(phase.indexOf('.') + 1) ?? null
