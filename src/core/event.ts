/**
 * Events as a reader gets them. Stored are exceptions and actions; `state` of a job that goes its way, `progress` and
 * `reset` are made while somebody listens (docs/events.md).
 */
import type { State } from './state.ts'

interface Told {
  /** Where a reader goes on: `after`. */
  position: string
  at: Date
  jobId: string | null
  batchId: string | null
}

/** A job or a batch has come to another state. */
export interface StateEvent extends Told {
  type: 'state'
  data: {
    /** null: it is the first that this reader hears of it. */
    from: string | null
    to: string
    reason: string | null
    [more: string]: unknown
  }
}

/** A job of a batch went wrong, as the batch tells it. */
export interface ItemEvent extends Told {
  type: 'item'
  data: { ref: string | null; state: State; attempt: number; reason: string | null; [more: string]: unknown }
}

/** Somebody pressed something, and it changed something. */
export interface ActionEvent extends Told {
  type: 'action'
  data: { who: string | null; what: string; [more: string]: unknown }
}

/** The engine has something to say about a job that goes on all the same. */
export interface WarningEvent extends Told {
  type: 'warning'
  data: { what: string; [more: string]: unknown }
}

/** How far it is: of a job what ctx.progress said, of a batch its counts. At most four a second, only when it changed. */
export interface ProgressEvent extends Told {
  type: 'progress'
  data: Readonly<Record<string, unknown>>
}

/** `after` is older than what is kept: events were missed. Read the status anew; the stream goes on from now. */
export interface ResetEvent extends Told {
  type: 'reset'
  data: Readonly<Record<string, never>>
}

export type EngineEvent = StateEvent | ItemEvent | ActionEvent | WarningEvent | ProgressEvent | ResetEvent

/** What a stream is of: a job, a batch, or everything. */
export interface Subject {
  readonly job?: string
  readonly batch?: string
}

export interface EventsFilter {
  job?: string | undefined
  batch?: string | undefined
  /** The position of the last event that was seen. Default: from now on. */
  after?: string | undefined
  /** Ends the stream, without an error. */
  signal?: AbortSignal | undefined
}
