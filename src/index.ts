/** Exports the public API: `import … from 'retoma'`. Everything else is private. */

export type { Role } from './auth/model/token.ts'
export type { TokenFilter, TokenView } from './auth/sql/token-rows.ts'
export type { Known } from './auth/tokens.ts'
export type { BatchActionResult, ResumedBatch, RetriedBatch } from './batches/batch-actions.ts'
export type { StalledBatch } from './batches/batch-stall.ts'
export {
  type AnyBatch,
  type Batch,
  type BatchEnd,
  type BatchNotice,
  type BatchOptions,
  type BatchOverrides,
  defineBatch,
  type StopAfter,
} from './batches/model/batch.ts'
export type { BatchAbout } from './batches/model/batch-display.ts'
export type { BatchState } from './batches/model/batch-state.ts'
export { presets } from './batches/model/presets.ts'
export type { FailureGroup, ItemFilter, ItemPage } from './batches/sql/batch-items.ts'
export type { BatchView } from './batches/sql/batch-view.ts'
export type { SubmitOptions, Submitted } from './batches/submit-batch.ts'
export { type Config, defineConfig } from './config.ts'
export type { Transaction } from './database/caller-transaction.ts'
export {
  type BatchesApi,
  createEngine,
  type Engine,
  type EngineOptions,
  type JobActionResult,
  type JobDetail,
  type JobsApi,
  type MaintenanceReport,
  type MetricsApi,
  type NotifyOptions,
  type QueueActionResult,
  type RateLimits,
  type WorkerHandle,
  type WorkersApi,
  type WorkOptions,
} from './engine/create-engine.ts'
export type { Enqueued } from './enqueue/enqueue.sql.ts'
export type { EnqueuedMany, EnqueueManyOptions } from './enqueue/enqueue.ts'
export type { EnqueueOptions } from './enqueue/model/enqueue-options.ts'
export { defineErrors, type OwnErrors } from './errors/app-errors.ts'
export {
  type Entry as ErrorEntry,
  type ErrorCode,
  type ErrorName,
  isRetomaError,
  type Language,
  type OwnError,
  RetomaError,
  type Saying,
  say,
} from './errors/errors.ts'
export type { EventStream } from './events/events.ts'
export type {
  ActionEvent,
  EngineEvent,
  EventsFilter,
  ItemEvent,
  ProgressEvent,
  ResetEvent,
  StateEvent,
  WarningEvent,
} from './events/model/event.ts'
export type { Explained } from './explain/explain.ts'
export type { AdviceAction, Explanation, Verdict } from './explain/model/explanation.ts'
export type { FileHome, Files } from './files/file-streams.ts'
export type { FileOptions, FileView, OpenFile } from './files/model/file.ts'
export type { GuardRun } from './guards/guard-run.ts'
export { defineGuard, type Guard, type GuardedRow, type GuardOptions } from './guards/model/guard.ts'
export { type GuardValue, type Now, now } from './guards/model/guard-value.ts'
export type { GuardAbout, GuardError, GuardView } from './guards/sql/guard-runs.ts'
export type { RowKey } from './guards/sql/mark-lost-rows.ts'
export type { Notice } from './incidents/model/notice.ts'
export type { BulkActionResult, BulkFilter } from './jobs/bulk-actions.ts'
export type { ActedBy } from './jobs/model/actor.ts'
export type { Backoff } from './jobs/model/backoff.ts'
export type { CrashSuspicion } from './jobs/model/crash-suspicion.ts'
export { type BatchPause, pauseBatch } from './jobs/model/deferral.ts'
export { type AnyJob, defineJob, type Job, type JobOptions } from './jobs/model/job.ts'
export type {
  Collected,
  EachOptions,
  IsolatedOptions,
  JobContext,
  JobFiles,
  JobLog,
  JobQuery,
  JobTransaction,
  Progress,
  StepOptions,
} from './jobs/model/job-context.ts'
export { doNotRetry, type Skip, type Snooze, skip, snooze } from './jobs/model/outcome.ts'
export type { Action, Isolation, Messages, Policy } from './jobs/model/policy.ts'
export type { ItemOptions, PolicyOptions } from './jobs/model/policy-options.ts'
export type { Retention } from './jobs/model/retention.ts'
export type { State } from './jobs/model/state.ts'
export type { JobFilter } from './jobs/sql/job-list.ts'
export type {
  CheckpointView,
  FailureView,
  JobError,
  JobEventView,
  JobView,
  Omitted,
  QueueView,
  WorkerView,
} from './jobs/sql/job-view.ts'
export type { Clock } from './lib/clock.ts'
export type { Log } from './lib/logging/log.ts'
export { megabytes } from './lib/values/bytes.ts'
export { type Duration, days, hours, milliseconds, minutes, seconds } from './lib/values/duration.ts'
export type { Page } from './lib/values/page.ts'
export type { GroupLimits, Limits, PerGroupLimits, QueueLimits, Rate } from './limits/model/queue-limits.ts'
export type { Allowance, LimitOptions } from './limits/model/rate-window.ts'
export type { Meter, MetricSource } from './metrics/metrics-registry.ts'
export type { Labels, Metric, MetricFamily, MetricSample } from './metrics/model/metric-table.ts'
export type { KindStats, QueueStats, Stats } from './metrics/stats.ts'
export type { ProviderView } from './providers/model/provider.ts'
export { type ProviderStop, type ProviderWait, providerStop, providerWait } from './providers/model/provider-wait.ts'
export type { ClearedProvider } from './providers/provider-actions.ts'
export type { FindingView } from './recovery/sql/findings.ts'
export type { CatchUp } from './schedules/model/catch-up.ts'
export type { CronPlan, EveryPlan, Plan } from './schedules/model/recurrence.ts'
export {
  defineSchedule,
  type Schedule,
  type ScheduledJobOptions,
  type ScheduleOptions,
} from './schedules/model/schedule.ts'
export type { ScheduleView } from './schedules/schedule.sql.ts'
export type { ScheduleRun } from './schedules/schedule-actions.ts'
