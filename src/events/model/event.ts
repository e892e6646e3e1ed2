/**
 * Defines the events of a reader. Exceptions and actions are stored; the `state` of a normal job, `progress` and `reset` are
 * derived while a reader listens (docs/events.md).
 */
import type { JobLogLine } from '../../jobs/model/job-log.ts'
import type { JobState } from '../../jobs/model/state.ts'

interface UnpositionedEvent {
  /** Cursor for `after`, to continue here. */
  position: string
  at: Date
  jobId: string | null
  batchId: string | null
}

/** The state of a job or batch changed. */
export interface StateEvent extends UnpositionedEvent {
  type: 'state'
  data: {
    /** null: the first state for this reader. */
    from: string | null
    to: string
    reason: string | null
    [more: string]: unknown
  }
}

/** A job of a batch failed, as an event of the batch. */
export interface ItemEvent extends UnpositionedEvent {
  type: 'item'
  data: { ref: string | null; state: JobState; attempt: number; reason: string | null; [more: string]: unknown }
}

/** An actor ran an action with an effect. */
export interface ActionEvent extends UnpositionedEvent {
  type: 'action'
  data: { who: string | null; what: string; [more: string]: unknown }
}

/** The engine warns about a job that continues anyway. */
export interface WarningEvent extends UnpositionedEvent {
  type: 'warning'
  data: { what: string; [more: string]: unknown }
}

/** Progress: the data of ctx.progress for a job, the counts for a batch. At most four per second, only after a change. */
export interface ProgressEvent extends UnpositionedEvent {
  type: 'progress'
  data: Readonly<Record<string, unknown>>
}

/** Further log lines of a job, in a stream with `logs`: the lines since the event before, at most four events per second. */
export interface LogEvent extends UnpositionedEvent {
  type: 'log'
  data: { lines: readonly JobLogLine[] }
}

/** `after` is older than the stored events: the reader missed events. Read the status again; the stream continues from now. */
export interface ResetEvent extends UnpositionedEvent {
  type: 'reset'
  data: Readonly<Record<string, never>>
}

/** An event of `engine.events`. */
export type EngineEvent = StateEvent | ItemEvent | ActionEvent | WarningEvent | ProgressEvent | LogEvent | ResetEvent

/** Subject of a stream: a job, a batch, or everything. */
export interface Subject {
  readonly job?: string
  readonly batch?: string
}

/** Options of `engine.events`. */
export interface EventsFilter {
  /** Only events of this job. Default: any. */
  job?: string | undefined
  /** Only events of this batch and its jobs. Default: any. */
  batch?: string | undefined
  /** Position of the last event read. Default: from now on. */
  after?: string | undefined
  /**
   * With `job`: also `log` events with the lines of `ctx.log`, from the kept lines of the last attempt on. Default: false.
   */
  logs?: boolean | undefined
  /** Ends the stream, without an error. Default: none. */
  signal?: AbortSignal | undefined
}
