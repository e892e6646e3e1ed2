/** Exports the public API: `import … from 'retoma'`. Everything else is private. */

export type { TokenRole } from './auth/model/token.ts'
export type { TokenFilter, TokenView } from './auth/sql/token-rows.ts'
export type { CreatedToken, CreateTokenOptions, TokensApi } from './auth/tokens.ts'
export type {
  BatchActionResult,
  ItemPageOptions,
  ResumedBatch,
  ResumeOptions,
  RetriedBatch,
} from './batches/batch-actions.ts'
export type { StalledBatch } from './batches/batch-stall.ts'
export {
  type AnyBatch,
  type Batch,
  type BatchEnd,
  type BatchNotice,
  type BatchOptions,
  type BatchOverrides,
  type BatchPolicy,
  defineBatch,
  type StopAfter,
} from './batches/model/batch.ts'
export type { BatchAbout } from './batches/model/batch-display.ts'
export type { BatchState } from './batches/model/batch-state.ts'
export type { ItemMap } from './batches/model/item-map.ts'
export type { BatchActionView } from './batches/sql/batch-action-events.ts'
export type { FailureGroup, ItemFilter, ItemPage } from './batches/sql/batch-items.ts'
export type { BatchView } from './batches/sql/batch-view.ts'
export type { SubmitOptions, Submitted } from './batches/submit-batch.ts'
export { type Config, defineConfig } from './config.ts'
export type { ConnectionConfig, ConnectionPool } from './database/connection-config.ts'
export type { Transaction } from './database/transactions/caller-transaction.ts'
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
  type RunUntilEmptyOptions,
  type RunUntilEmptyResult,
  type SystemParts,
  type WorkerHandle,
  type WorkersApi,
  type WorkOptions,
} from './engine/create-engine.ts'
export { retryWhileDatabaseAway } from './engine/retry-while-database-away.ts'
export type { Enqueued } from './enqueue/enqueue.sql.ts'
export type { EnqueuedMany, EnqueueManyOptions, EnqueueTransaction } from './enqueue/enqueue.ts'
export type { BatchItemOptions, CheckedEnqueueOptions, EnqueueOptions } from './enqueue/model/enqueue-options.ts'
export type { JobUpdate, JobUpdater } from './enqueue/update-job.ts'
export type { EraseResult } from './erasure/erase.ts'
export { defineErrors, type OwnErrors } from './errors/app-errors.ts'
export {
  type Entry as ErrorEntry,
  type ErrorCode,
  type ErrorFact,
  type ErrorFacts,
  type ErrorName,
  isErrorCode,
  isRetomaError,
  type Language,
  type LocalizedText,
  localized,
  type OwnError,
  RetomaError,
} from './errors/errors.ts'
export type { EventStream } from './events/events.ts'
export type {
  ActionEvent,
  EngineEvent,
  EventsFilter,
  ItemEvent,
  LogEvent,
  ProgressEvent,
  ResetEvent,
  StateEvent,
  WarningEvent,
} from './events/model/event.ts'
export type { ExplainSubject } from './explain/explain.ts'
export type { AdviceAction, Explanation, Verdict } from './explain/model/explanation.ts'
export type { FileHome, FilesApi } from './files/file-streams.ts'
export type { FileOptions, FileView, OpenFile } from './files/model/file.ts'
export type { GuardsApi } from './guards/guard-actions.ts'
export type { GuardRun } from './guards/guard-run.ts'
export { defineGuard, type Guard, type GuardedRow, type GuardOptions } from './guards/model/guard.ts'
export { type GuardNow, type GuardValue, guardNow } from './guards/model/guard-value.ts'
export type { TableName } from './guards/model/table-name.ts'
export type { GuardAbout, GuardError, GuardView } from './guards/sql/guard-runs.ts'
export type { RowKey } from './guards/sql/mark-lost-rows.ts'
export type { HealthView, IncidentView, ProblemView } from './incidents/incident-reads.ts'
export type { IncidentEvent, NoticeSeverity, WebhookNotice } from './incidents/model/notice.ts'
export type { ProblemAction, ProblemEvent } from './incidents/model/problem.ts'
export type { BulkActionResult, BulkFilter, BulkOptions } from './jobs/bulk-actions.ts'
export type { FailOptions, RunAgainOptions } from './jobs/job-actions.ts'
export type { ActedBy } from './jobs/model/actor.ts'
export type { Backoff } from './jobs/model/backoff.ts'
export type { CostAmount } from './jobs/model/cost.ts'
export type { CrashSuspicion } from './jobs/model/crash-suspicion.ts'
export { type BatchPause, pauseBatch } from './jobs/model/deferral.ts'
export type { ChildEnvironment } from './jobs/model/environment-option.ts'
export {
  type AnyJob,
  defineJob,
  type HandlerModule,
  type HandlerUrl,
  type HandlerUrlOf,
  handlerOf,
  type InputOf,
  type Job,
  type JobOptions,
  type JobResult,
  type NoInputNeeded,
  type OutputOf,
  type ParsedInput,
  type ResultOf,
} from './jobs/model/job.ts'
export type {
  Collected,
  EachOptions,
  IsolatedOptions,
  JobContext,
  JobFiles,
  JobLog,
  JobProgress,
  JobQuery,
  JobTransaction,
  StepOptions,
} from './jobs/model/job-context.ts'
export type { JobHandle, StoredResult, WaitOptions } from './jobs/model/job-handle.ts'
export type { JobLogFilter, JobLogLine } from './jobs/model/job-log.ts'
export { doNotRetry, isNonRetryable, type Skip, type Snooze, skip, snooze } from './jobs/model/outcome.ts'
export type { Isolation, JobPolicy, PolicyAction, PolicyMessages } from './jobs/model/policy.ts'
export type { ItemOptions, JobPolicyOptions, PolicyOptions } from './jobs/model/policy-options.ts'
export type { OwnRetention, Retention } from './jobs/model/retention.ts'
export type { FinalJobState, JobState } from './jobs/model/state.ts'
export type { FailureCause } from './jobs/sql/failure-causes.ts'
export type { JobFilter } from './jobs/sql/job-list.ts'
export type {
  BlockedLoopView,
  CheckpointView,
  FailureView,
  JobError,
  JobEventView,
  JobView,
  OmittedFields,
  QueueView,
  WorkerView,
} from './jobs/sql/job-view.ts'
export type { Clock } from './lib/clock.ts'
export type { GivenLog, Log } from './lib/logging/log.ts'
export { megabytes } from './lib/values/bytes.ts'
export { type Duration, days, hours, milliseconds, minutes, seconds } from './lib/values/duration.ts'
export type { ListPage, ListPageOptions } from './lib/values/page.ts'
export type {
  EachGroupLimits,
  FairTurns,
  GroupLimits,
  LimitsByQueue,
  PerGroupLimits,
  QueueLimits,
  QueueRate,
} from './limits/model/queue-limits.ts'
export type { LimitOptions, RateAllowance } from './limits/model/rate-window.ts'
export type { QueueClearOptions, QueueClearResult, QueueLimitsResult, QueuesApi } from './limits/queue-actions.ts'
export type { GroupUsage } from './limits/sql/group-usage.ts'
export type { UpstashAccess } from './limits/upstash.ts'
export type { EngineHistory, HistoryDistribution, HistoryPoint, QueueHistory } from './metrics/history.ts'
export type { MetricSource } from './metrics/metrics-registry.ts'
export type { HistoryOptions } from './metrics/model/history-span.ts'
export type { MetricDefinition, MetricFamily, MetricLabels, MetricSample } from './metrics/model/metric-table.ts'
export type { EngineStats, KindStats, QueueStats, StatsOptions } from './metrics/stats.ts'
export { callProvider, type ProviderRequest } from './providers/call-provider.ts'
export type { ProviderView } from './providers/model/provider.ts'
export {
  type AnswerReading,
  hideSecrets,
  judgeAnswer,
  meaningOfStatus,
  type ProblemMeaning,
  type ProviderAnswer,
  type ProviderFacts,
  type ProviderProblem,
  type ProviderResponse,
  type ProviderVerdict,
  retryAfterOf,
  unwrapVerdict,
  uselessAnswer,
} from './providers/model/provider-answer.ts'
export { type ProviderStop, type ProviderWait, providerStop, providerWait } from './providers/model/provider-errors.ts'
export type { ClearedProvider, ProvidersApi } from './providers/provider-actions.ts'
export type { FindingView } from './recovery/sql/findings.ts'
export type { CatchUp } from './schedules/model/catch-up.ts'
export type { CronRecurrence, IntervalRecurrence, Recurrence } from './schedules/model/recurrence.ts'
export {
  defineSchedule,
  type Schedule,
  type ScheduledJobOptions,
  type ScheduleOptions,
} from './schedules/model/schedule.ts'
export type { ScheduleView } from './schedules/schedule.sql.ts'
export type {
  ScheduleActionResult,
  ScheduleOccurrences,
  ScheduleRun,
  SchedulesApi,
} from './schedules/schedule-actions.ts'
export { readSystemSettings, type Setting, type SystemSettings, settingChecks } from './settings/system-settings.ts'
