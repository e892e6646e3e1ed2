/** Exports the public API: `import … from 'retoma'`. Everything else is private. */
export { type Config, defineConfig } from './config.ts'
export type { Backoff } from './core/backoff.ts'
export {
  type AnyBatch,
  type Batch,
  type BatchEnd,
  type BatchNotice,
  type BatchOptions,
  type BatchOverrides,
  defineBatch,
  type StopAfter,
} from './core/batch.ts'
export type { BatchAbout } from './core/batch-about.ts'
export type { BatchState } from './core/batch-state.ts'
export type { By } from './core/by.ts'
export type { Care } from './core/care.ts'
export type { CatchUp } from './core/catch-up.ts'
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
} from './core/context.ts'
export { type Duration, days, hours, milliseconds, minutes, seconds } from './core/duration.ts'
export type { EnqueueOptions } from './core/enqueue-options.ts'
export type {
  ActionEvent,
  EngineEvent,
  EventsFilter,
  ItemEvent,
  ProgressEvent,
  ResetEvent,
  StateEvent,
  WarningEvent,
} from './core/event.ts'
export type { AdviceAction, Explanation, Verdict } from './core/explain/explanation.ts'
export type { FileOptions, FileView, OpenFile } from './core/file.ts'
export { defineGuard, type Guard, type GuardedRow, type GuardOptions } from './core/guard.ts'
export { type GuardValue, type Now, now } from './core/guard-value.ts'
export {
  type BatchPause,
  type ProviderStop,
  type ProviderWait,
  pauseBatch,
  providerStop,
  providerWait,
} from './core/hand-back.ts'
export { type AnyJob, defineJob, type Job, type JobOptions } from './core/job.ts'
export type { GroupLimits, Limits, PerGroupLimits, QueueLimits, Rate } from './core/limits.ts'
export { megabytes } from './core/megabytes.ts'
export type { Labels, Metric, MetricFamily, MetricSample } from './core/metric.ts'
export type { Notice } from './core/notice.ts'
export { doNotRetry, type Skip, type Snooze, skip, snooze } from './core/outcome.ts'
export { defineErrors, type OwnErrors } from './core/own-errors.ts'
export type { Page } from './core/page.ts'
export type { CronPlan, EveryPlan, Plan } from './core/plan.ts'
export type { Action, Isolation, Messages, Policy } from './core/policy.ts'
export type { ItemOptions, PolicyOptions } from './core/policy-options.ts'
export { presets } from './core/presets.ts'
export type { ProviderView } from './core/provider.ts'
export type { Retention } from './core/retention.ts'
export { defineSchedule, type Schedule, type ScheduledJobOptions, type ScheduleOptions } from './core/schedule.ts'
export type { State } from './core/state.ts'
export type { StepOptions } from './core/step.ts'
export type { Role } from './core/token.ts'
export type { Allowance, LimitOptions } from './core/window.ts'
export type { PressedBatch, ResumedBatch, RetriedBatch } from './engine/batches.ts'
export type { BulkFilter, PressedMany } from './engine/bulk.ts'
export type { EventStream } from './engine/events.ts'
export type { Explained } from './engine/explain.ts'
export type { FileHome, Files } from './engine/files.ts'
export type { EnqueuedMany, EnqueueManyOptions } from './engine/inbox.ts'
export type { Meter, MetricSource } from './engine/meter.ts'
export type { ClearedProvider } from './engine/providers.ts'
export type { KindStats, QueueStats, Stats } from './engine/stats.ts'
export type { SubmitOptions, Submitted } from './engine/submit.ts'
export type { Known } from './engine/tokens.ts'
export {
  createEngine,
  type Engine,
  type EngineOptions,
  type JobDetail,
  type NotifyOptions,
  type Passed,
  type Pressed,
  type PressedQueue,
  type RateLimits,
  type WorkerHandle,
  type WorkOptions,
} from './engine.ts'
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
} from './errors.ts'
export type { Clock } from './lib/clock.ts'
export type { Log } from './lib/log.ts'
export type { FailureGroup, ItemFilter, ItemPage } from './store/batch-items.ts'
export type { BatchView } from './store/batch-view.ts'
export type { Enqueued } from './store/enqueue.ts'
export type { FindingView } from './store/finding.ts'
export type { RowKey } from './store/guard.ts'
export type { GuardAbout, GuardError, GuardView } from './store/guard-turn.ts'
export type { JobFilter } from './store/list.ts'
export type { ScheduleView } from './store/schedule.ts'
export type { TokenFilter, TokenView } from './store/token.ts'
export type { Transaction } from './store/tx.ts'
export type {
  CheckpointView,
  FailureView,
  JobError,
  JobEventView,
  JobView,
  Omitted,
  QueueView,
  WorkerView,
} from './store/view.ts'
export type { StalledBatch } from './watchdog/batch-stall.ts'
export type { GuardRun } from './watchdog/guard-run.ts'
