/**
 * What is known of a job, a batch or a queue when it is explained: read by store/explain*.ts in one statement each, so all of
 * it is of one instant, `now`, by the database's clock. Inputs and results are not among it: nothing here can tell a secret
 * that a failure's own message does not.
 */
import type { BatchState } from '../batch-state.ts'
import type { Care } from '../care.ts'
import type { Policy } from '../policy.ts'
import type { State } from '../state.ts'

/** Counting stops here: more is "many". */
export const most = 10_000

/** Counted up to `most`; `more`: there the counting stopped. */
export interface Count {
  jobs: number
  more: boolean
}

/** A process that works, as its heart last told. */
export interface WorkerFacts {
  id: string
  host: string
  pid: number
  beatAt: Date
  suspectedAt: Date | null
  deadAt: Date | null
  blockedSince: Date | null
  /** When it last came free: the clocks of its attempts stood still until then. */
  unblockedAt: Date | null
  /** Of its main thread, while it is blocked; and the job on it, where it could be told. */
  stack: string | null
  blockedJob: string | null
  blockedAttempt: number | null
  /** How long the oldest outcome or step has waited for the database. */
  unwrittenMs: number
  supervised: boolean
  /** What it died of, by its supervisor. */
  death: { how: string; why: string } | null
}

/** The live workers, as one kind of one queue sees them. */
export interface TakersFacts {
  live: number
  /** Of those: who serves the queue, who of them knows the kind, who takes this version of it. */
  serving: number
  knowing: number
  taking: number
  /** Of those who take it: whose loop is blocked, how much they run at once, and how much more now. */
  blocked: number
  slots: number
  free: number
  /** Some of what the live workers serve, of the kinds those of the queue know, of the versions they take. */
  queues: string[]
  kinds: string[]
  versions: string[]
}

/** A limit, and how much of it is used. */
export interface GateFacts {
  /** Of its group, not of the whole queue. */
  group: boolean
  running: number
  concurrency: number | null
  /** Starts within the time. */
  starts: number
  rate: number | null
  perMs: number | null
  /** When the first of those starts no longer counts. */
  freesAt: Date | null
}

export interface WatchFacts {
  /** When a watchdog last looked; null: none ever did. */
  lookedAt: Date | null
  /** Since when looks have followed each other without a gap: what nobody could see counts against nobody. */
  unbrokenAt: Date | null
}

/** A service outside that waits or has stopped. */
export interface ProviderFacts {
  name: string
  /** When it may be asked again, where it has said so. */
  freeAt: Date | null
  stoppedAt: Date | null
  /** How often it has asked to wait without one answer in between, and since when. */
  waits: number
  waitingSince: Date | null
  /** Of a stopped one: when it is asked again. */
  probeAt: Date | null
  code: string | null
  message: string | null
  /** Of a stopped one: what the last that asked it met instead of an answer. */
  trouble: string | null
}

export interface ErrorFacts {
  what: string
  message: string
  code: string | null
}

interface FailureFacts extends ErrorFacts {
  attempt: number
  at: Date
  worker: string | null
  evidence: Readonly<Record<string, unknown>> | null
}

export interface JobFacts {
  now: Date
  id: string
  queue: string
  kind: string
  version: number
  state: State
  attempt: number
  failures: number
  crashes: number
  restarts: number
  care: Care
  createdAt: Date
  runAt: Date
  startedAt: Date | null
  progressAt: Date | null
  finishedAt: Date | null
  progress: { done?: number; total?: number; note?: string } | null
  /** The last step that was saved. */
  checkpoint: string | null
  groupKey: string | null
  error: ErrorFacts | null
  policy: Policy
  queuePaused: boolean
  batch: { id: string; state: BatchState; held: boolean; following: boolean; reason: Reason | null } | null
  /** Who holds it, by name; and its row, which may be gone. */
  workerId: string | null
  worker: WorkerFacts | null
  lastFailure: FailureFacts | null
  /** The sleep it is in, by the name its handler gave. */
  sleep: string | null
  /** Ready ones that come before it, while it waits itself; in a queue whose groups take turns, of its own group. */
  ahead: Count
  turns: boolean
  /** One that jobs of its kind have met waiting or stopped, and that still is. */
  provider: ProviderFacts | null
  gates: GateFacts[]
  takers: TakersFacts
  watch: WatchFacts
}

type Reason = { code: string } & Record<string, unknown>

export interface RunnerFacts {
  id: string
  /** Of this batch, that it holds. */
  items: number
  /** Null where its row is gone. */
  worker: WorkerFacts | null
}

export interface BatchFacts {
  now: Date
  id: string
  name: string
  key: string | null
  queue: string
  kind: string
  version: number
  state: BatchState
  reason: Reason | null
  total: number
  waiting: number
  running: number
  stalled: number
  succeeded: number
  failed: number
  skipped: number
  cancelled: number
  rate: number | null
  etaSeconds: number | null
  progressAt: Date | null
  createdAt: Date
  /** When its submit last brought items. */
  takenAt: Date | null
  submittedAt: Date | null
  finishedAt: Date | null
  resumes: number
  maxResumes: number
  stallAfterMs: number | null
  /** When its stall clock began to run; null: the clock stands still, as while no item can run. */
  stallClockAt: Date | null
  following: boolean
  queuePaused: boolean
  /** Of its waiting items, among those that were looked at: the ready ones, those for later, and when the first of these is due. */
  ready: number
  later: number
  dueAt: Date | null
  /** None of its waiting items was left out. */
  seenAll: boolean
  /** Who runs items of it, as far as was looked; those in trouble first. */
  runners: RunnerFacts[]
  /** One that jobs of its kind have met waiting or stopped, and that still is. */
  provider: ProviderFacts | null
  gates: GateFacts[]
  takers: TakersFacts
  watch: WatchFacts
}

export interface QueueFacts {
  now: Date
  queue: string
  paused: boolean
  ready: Count
  /** Of the ready ones that were looked at: those of a batch that is paused, stalled or over. */
  held: number
  /** The run_at of the one that has been ready longest. */
  oldestAt: Date | null
  /** When the next of those that are for later is due. */
  dueAt: Date | null
  running: Count
  /** Ready ones of kinds or versions that no live worker takes. */
  starved: { kind: string; version: number; jobs: number }[]
  /** Some of its workers whose loop is blocked, the longest first. */
  hung: WorkerFacts[]
  /** One that jobs of its kinds have met waiting or stopped, and that still is. */
  provider: ProviderFacts | null
  gates: GateFacts[]
  takers: TakersFacts
  watch: WatchFacts
}
