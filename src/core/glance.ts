/**
 * A followed job or batch as it is at one instant, and what of it is worth telling: another state, another progress. Not
 * stored anywhere: made from the row, for each reader by what it saw last.
 */
import { type BatchState, isFinalBatch } from './batch-state.ts'
import { etaOf, rateOf, type Sample } from './rate.ts'
import { isFinal, type State } from './state.ts'
import { viewValue } from './value.ts'

/** One form for jobs and batches. */
export interface Glance {
  id: string
  batchId: string | null
  /** The state, with a job's attempt, and the progress, in the form of a cursor's place. */
  phase: string
  stamp: string | null
  /** Nothing more comes of it, unless somebody presses something. */
  over: boolean
  /** Events of it are committed that no reader can see yet. */
  pending: boolean
  /** Since it last made progress, or since it came in. */
  idleSeconds: number
  state: { to: string; reason: string | null; [more: string]: unknown }
  progress: Readonly<Record<string, unknown>>
}

export interface JobFacts {
  id: string
  batchId: string | null
  state: State
  attempt: number
  progress: unknown
  checkpoint: string | null
  /** Microseconds, as text: when progress was last noted. */
  progressAt: string | null
  error: { what: string; message: string; code: string | null } | null
  pending: boolean
  idleSeconds: number
}

/** The error of a try before says nothing about one that runs or went well. */
const explained: readonly State[] = ['waiting', 'stalled', 'failed', 'skipped']

export function glanceAtJob(job: JobFacts): Glance {
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
    state: { to: state, attempt, what: error?.what ?? null, code: error?.code ?? null, reason: error?.message ?? null },
    progress: { progress: viewValue(progress), checkpoint },
  }
}

export interface BatchFacts {
  id: string
  state: BatchState
  reason: ({ code: string } & Record<string, unknown>) | null
  /** Rows still follow what was pressed. */
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
  /** How many had ended when, lately. */
  samples: readonly Sample[]
  pending: boolean
  idleSeconds: number
}

export function glanceAtBatch(batch: BatchFacts): Glance {
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

/** Of a batch, which has no attempts, the state alone. */
export const phaseOf = (state: string, attempt?: unknown): string =>
  attempt === undefined ? state : `${String(attempt)}.${state}`

/** The state that a phase is of. */
export const stateOf = (phase: string | null): string | null => phase?.slice(phase.indexOf('.') + 1) ?? null
