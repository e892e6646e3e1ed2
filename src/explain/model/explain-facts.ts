/**
 * Defines the facts for the explanation of a job, a batch or a queue. explain/sql/*.ts reads the facts in a single statement
 * each, so that all facts are of the same instant, `now`, by the clock of the database. Inputs and results are not among the
 * facts: an explanation reveals no secret, except for a secret in the message of a failure.
 */
import type { BatchState } from '../../batches/model/batch-state.ts'
import type { CrashSuspicion } from '../../jobs/model/crash-suspicion.ts'
import type { JobPolicy } from '../../jobs/model/policy.ts'
import type { JobState } from '../../jobs/model/state.ts'
import type { FairTurns } from '../../limits/model/queue-limits.ts'

/** Counts stop here: the exact number above does not matter. */
export const most = 10_000

/** A count up to `most`; `more`: the count stopped there. */
export interface Count {
  jobs: number
  more: boolean
}

/** A worker, as of the last heartbeat. */
export interface WorkerFacts {
  id: string
  host: string
  pid: number
  heartbeatAt: Date
  suspectedAt: Date | null
  deadAt: Date | null
  /** The worker stopped by itself. */
  leftAt: Date | null
  blockedSince: Date | null
  /** Instant at which the loop last came free: the clocks of the attempts were stopped until then. */
  unblockedAt: Date | null
  /** Stack of the main thread while the loop is blocked, and the blocking job if known. */
  stack: string | null
  blockedJob: string | null
  /** Kind of the blocking job; null: unknown, or the job is gone. */
  blockedKind: string | null
  blockedAttempt: number | null
  /** Waiting time of the oldest unwritten outcome or step. */
  writeLagMs: number
  supervised: boolean
  /** Crash report of the supervisor. */
  crashReport: { how: string; why: string } | null
}

/** The live workers, from the view of a kind in a queue. */
export interface EligibleWorkersFacts {
  live: number
  /** Live workers of the queue, then workers with the kind, then workers with this version, the eligible workers. */
  serving: number
  knowing: number
  taking: number
  /** Eligible workers with a blocked loop; all slots and free slots of the eligible workers. */
  blocked: number
  slots: number
  free: number
  /** Some queues of the live workers, some kinds of the workers of the queue, some versions of the workers with the kind. */
  queues: string[]
  kinds: string[]
  versions: string[]
}

/** A limit and its use. */
export interface LimitFacts {
  /** Limit of a group, not of the whole queue. */
  group: boolean
  running: number
  concurrency: number | null
  /** Starts in the rate window. */
  starts: number
  rate: number | null
  perMs: number | null
  /** Instant at which the oldest start leaves the rate window. */
  freesAt: Date | null
}

export interface WatchdogFacts {
  /** Last check of a watchdog; null: never. */
  checkedAt: Date | null
  /** Begin of the uninterrupted checks: unobserved time never counts. */
  unbrokenAt: Date | null
}

/** A provider that waits or has stopped. */
export interface ProviderFacts {
  name: string
  /** End of the wait, if known. */
  freeAt: Date | null
  stoppedAt: Date | null
  /** Number of waits in a row without an answer in between, and the begin of the first wait. */
  consecutiveWaits: number
  waitingSince: Date | null
  /** Stopped provider: instant of the next probe. */
  probeAt: Date | null
  code: string | null
  message: string | null
  /** Stopped provider: result of the last probe without an answer. */
  probeError: string | null
}

export interface ErrorFacts {
  type: string
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
  state: JobState
  attempt: number
  failures: number
  crashes: number
  restarts: number
  crashSuspicion: CrashSuspicion
  createdAt: Date
  runAt: Date
  /** `runAt`, or the last resume of the queue or batch if later. */
  readySince: Date
  startedAt: Date | null
  progressAt: Date | null
  finishedAt: Date | null
  progress: { done?: number; total?: number; note?: string } | null
  /** The last saved step. */
  checkpoint: string | null
  groupKey: string | null
  error: ErrorFacts | null
  policy: JobPolicy
  queuePaused: boolean
  batch: { id: string; state: BatchState; claimsBlocked: boolean; following: boolean; reason: Reason | null } | null
  /** Worker of the lease, by id; and the worker's row, null if deleted. */
  workerId: string | null
  worker: WorkerFacts | null
  lastFailure: FailureFacts | null
  /** Name of the current `ctx.sleep`. */
  sleep: string | null
  /** Ready jobs before this waiting job; in a queue with turns, only jobs of the same group or batch. */
  ahead: Count
  turns: FairTurns | null
  /** Name of the provider that deferred the last attempt. */
  deferredBy: string | null
  /** A provider that deferred the job or its batch last and currently waits or is stopped. */
  provider: ProviderFacts | null
  /** A provider that deferred other jobs of the kind and currently waits or is stopped: no deferral shows that this job uses the provider. */
  providerOfKind: ProviderFacts | null
  limits: LimitFacts[]
  eligibleWorkers: EligibleWorkersFacts
  watch: WatchdogFacts
}

type Reason = { code: string } & Record<string, unknown>

export interface RunnerFacts {
  id: string
  /** Running items of this batch on the worker. */
  items: number
  /** null if the worker's row is deleted. */
  worker: WorkerFacts | null
}

/** The share of a batch in a queue whose batches take turns. */
export interface TurnFacts {
  /** Other batches with waiting items of the same or a better priority. */
  batches: number
  /** Jobs of others that start before the last waiting item of this batch, if nothing comes or goes. */
  jobs: number
  /** Seconds until the last waiting item of this batch starts, at the rate of the last minute; null: unknown. */
  seconds: number | null
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
  /** Instant of the last items from the submit. */
  takenAt: Date | null
  submittedAt: Date | null
  finishedAt: Date | null
  resumes: number
  maxResumes: number
  stallAfterMs: number | null
  /** Start of the stall clock; null: the clock is stopped, for example while no item can run. */
  stallClockAt: Date | null
  following: boolean
  queuePaused: boolean
  /** Among the examined waiting items: ready items, items for later, and the earliest due instant of the latter. */
  ready: number
  later: number
  dueAt: Date | null
  /** All waiting items were examined. */
  seenAll: boolean
  /** null: the batches of the queue take no turns. */
  turn: TurnFacts | null
  /** Workers with running items of the batch, up to a limit; workers in trouble first. */
  runners: RunnerFacts[]
  /** The provider that deferred an item last, or paused the batch, and currently waits or is stopped. */
  provider: ProviderFacts | null
  limits: LimitFacts[]
  eligibleWorkers: EligibleWorkersFacts
  watch: WatchdogFacts
}

export interface QueueFacts {
  now: Date
  queue: string
  paused: boolean
  ready: Count
  /** Among the examined ready jobs: jobs of a batch that is paused, stalled or final. */
  claimsBlocked: number
  /** run_at of the job that has been ready longest. */
  oldestAt: Date | null
  /** Earliest due instant of the jobs for later. */
  dueAt: Date | null
  running: Count
  /** Ready jobs of kinds or versions without an eligible worker. */
  starved: { kind: string; version: number; jobs: number }[]
  /** Some workers of the queue with a blocked loop, the longest block first. */
  hung: WorkerFacts[]
  /** A provider used by the kinds of the queue that currently waits or is stopped. */
  provider: ProviderFacts | null
  limits: LimitFacts[]
  eligibleWorkers: EligibleWorkersFacts
  watch: WatchdogFacts
}
