/**
 * Converts jobs, batches, queues, workers and guards to JSON for HTTP and --json: snake_case, ids as strings, instants in ISO
 * 8601 UTC.
 */

import type { Language } from './errors/errors.ts'
import type {
  BatchActionView,
  BatchView,
  EngineEvent,
  EngineHistory,
  EngineStats,
  Explanation,
  FailureCause,
  FailureGroup,
  FindingView,
  GroupLimits,
  GroupUsage,
  GuardRun,
  GuardView,
  HistoryPoint,
  IncidentView,
  ItemMap,
  JobDetail,
  JobLogLine,
  JobView,
  MaintenanceReport,
  OmittedFields,
  PerGroupLimits,
  ProblemView,
  ProviderView,
  QueueLimits,
  QueueRate,
  QueueView,
  ScheduleView,
  TokenView,
  WorkerView,
} from './index.ts'
import { attemptsOf } from './jobs/model/attempt-history.ts'
import { timelineOf } from './jobs/model/timeline.ts'
import { readableValue } from './lib/values/value-codec.ts'
import { namedGroups } from './limits/model/queue-limits.ts'

/** Converts the names of the first level only: the inside of an input or a result belongs to the user. */
export const snakeCase = (view: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(view).map(([name, value]) => [name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`), value]),
  )

/** Converts the values of the user to JSON. */
const values = ({ input, result, progress }: Pick<JobView, 'input' | 'result' | 'progress'>) => ({
  input: readableValue(input),
  result: readableValue(result),
  progress: readableValue(progress),
})

/** Durations in seconds. */
export const policyWire = ({ policyOverride, retention }: Pick<JobView, 'policyOverride' | 'retention'>) => {
  const { maxAttempts, backoff, timeout } = policyOverride ?? {}
  return {
    policy_override: policyOverride && {
      ...(maxAttempts === undefined ? {} : { max_attempts: maxAttempts }),
      ...(backoff === undefined
        ? {}
        : {
            backoff: {
              first_seconds: backoff.first / 1000,
              factor: backoff.factor,
              max_seconds: backoff.max / 1000,
              jitter: backoff.jitter,
            },
          }),
      ...(timeout === undefined ? {} : { timeout_seconds: timeout / 1000 }),
    },
    retention_seconds:
      retention && Object.fromEntries(Object.entries(retention).map(([state, kept]) => [state, kept / 1000])),
  }
}

export const jobWire = ({ omitted, policyOverride, retention, ...job }: JobView) => ({
  ...snakeCase(job),
  ...values(job),
  ...policyWire({ policyOverride, retention }),
  omitted: omittedWire(job.id, omitted),
})

/** Each omitted field with its size, and the address of the complete value. */
export const omittedWire = (id: string, omitted: OmittedFields | null) =>
  omitted &&
  Object.fromEntries(Object.entries(omitted).map(([field, bytes]) => [field, { bytes, href: `/api/v1/jobs/${id}` }]))

export const jobDetailWire = ({
  history,
  checkpoints,
  events,
  omitted: _,
  policyOverride,
  retention,
  ...job
}: JobDetail) => ({
  ...snakeCase(job),
  ...values(job),
  ...policyWire({ policyOverride, retention }),
  attempts: attemptsOf({ ...job, history }).map(snakeCase),
  history: history.map(({ evidence, ...failure }) => ({
    ...snakeCase(failure),
    evidence: evidence === null ? null : snakeCase(evidence),
  })),
  checkpoints: checkpoints.map(snakeCase),
  events: events.map(snakeCase),
  timeline: timelineOf({ ...job, history, checkpoints, events }).map(snakeCase),
})
export const logLineWire = (line: JobLogLine) => snakeCase(line)
export const batchWire = (batch: BatchView) => snakeCase(batch)
export const itemMapWire = (map: ItemMap) => snakeCase(map)
export const batchActionWire = (action: BatchActionView) => snakeCase(action)
export const failureGroupWire = (group: FailureGroup) => snakeCase(group)
export const queueWire = ({ limits, ...queue }: Pick<QueueView, 'limits'>) => ({
  ...snakeCase(queue),
  limits: limitsWire(limits),
})
export const groupUsageWire = ({ rate, ...usage }: GroupUsage) => ({
  ...snakeCase(usage),
  rate: rate && { limit: rate.limit, per_ms: rate.per },
})
export const failureCauseWire = (cause: FailureCause) => snakeCase(cause)
export const problemWire = ({ sentence, ...problem }: ProblemView | IncidentView, language: Language) => ({
  ...snakeCase(problem),
  sentence: sentence[language],
})
export const tokenWire = (token: TokenView) => snakeCase(token)
export const workerWire = (worker: Pick<WorkerView, 'id'>) => snakeCase(worker)
export const providerWire = (provider: ProviderView) => snakeCase(provider)

/** Form of an event in a stream (http/streaming/sse.ts). The progress of a batch has the counts as in GET, and also together in `counts`. */
export const eventWire = ({ position, type, at, jobId, batchId, data }: EngineEvent) => ({
  event: type,
  id: position,
  data: {
    at: at.toISOString(),
    job_id: jobId,
    batch_id: batchId,
    ...snakeCase(readableValue(data) as object),
    ...(type === 'progress' && jobId === null ? { counts: countsIn(data) } : {}),
  },
})

const countsIn = ({ rate: _rate, etaSeconds: _left, ...counts }: Readonly<Record<string, unknown>>) => counts

export const statsWire = ({ queues, kinds, ...stats }: { queues: readonly object[]; kinds: EngineStats['kinds'] }) => ({
  ...snakeCase(stats),
  queues: queues.map(snakeCase),
  kinds: kinds.map(snakeCase),
})

const historyPointWire = ({ duration, waiting, ...point }: HistoryPoint) => ({
  ...snakeCase(point),
  duration: snakeCase(duration),
  waiting: snakeCase(waiting),
})

export const historyWire = ({ queues, total, ...history }: EngineHistory) => ({
  ...snakeCase(history),
  queues: queues.map(({ queue, points }) => ({ queue, points: points.map(historyPointWire) })),
  total: total.map(historyPointWire),
})

/** All facts are ours, so that the names are converted at every depth. */
export const explanationWire = ({ facts, ...rest }: Explanation) => ({ ...rest, facts: deepSnakeCase(facts) })

function deepSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(deepSnakeCase)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(snakeCase(value)).map(([name, each]) => [name, deepSnakeCase(each)]))
}

/** The values below `facts` stay unchanged; only the names are converted. */
export const findingWire = ({ facts, ...finding }: FindingView) => ({ ...snakeCase(finding), facts: snakeCase(facts) })
export const maintenanceReportWire = ({ batches, findings, ...passed }: MaintenanceReport) => ({
  ...snakeCase(passed),
  batches: batches.map(({ reason, ...batch }) => ({ ...snakeCase(batch), reason: snakeCase(reason) })),
  findings: findings.map(findingWire),
})

/** The recurrence is flat: `cron` and `time_zone`, or `every_ms`. */
export const scheduleWire = ({ recurrence, ...schedule }: ScheduleView) => ({
  ...snakeCase(schedule),
  ...('every' in recurrence
    ? { every_ms: recurrence.every }
    : { cron: recurrence.cron, time_zone: recurrence.timeZone }),
})

/** The name of a column and the key of a row stay unchanged. */
export const guardRunWire = (
  { rows, refused, warnings, ...run }: Pick<GuardRun, 'rows' | 'refused' | 'warnings'>,
  language: Language,
) => ({
  ...snakeCase(run),
  rows: rows.map(snakeCase),
  refused: refused.map(({ key, error }) => ({ key, code: error.code, message: error.in(language) })),
  warnings: warnings.map(each => each[language]),
})

export const guardWire = (
  { after, every, lastError, warnings, ...guard }: Pick<GuardView, 'after' | 'every' | 'lastError' | 'warnings'>,
  language: Language,
) => ({
  ...snakeCase(guard),
  after_ms: after,
  every_ms: every,
  last_error: lastError === null ? null : { code: lastError.code, message: lastError[language] },
  warnings: warnings.map(each => each[language]),
})

/** Only limits with a value; `{}` for a queue without limits. */
export const limitsWire = ({ perGroup, maxDepth, fair, weights, ...whole }: QueueLimits) => ({
  ...gateWire(whole),
  ...(perGroup === undefined ? {} : { per_group: perGroupWire(perGroup) }),
  ...(fair === undefined ? {} : { fair }),
  ...(weights === undefined ? {} : { weights }),
  ...(maxDepth === undefined ? {} : { max_depth: maxDepth }),
})

const perGroupWire = (perGroup: PerGroupLimits) => ({
  ...Object.fromEntries(namedGroups(perGroup).map(([group, limits]) => [group, gateWire(limits)])),
  ...gateWire(perGroup),
  ...admitWire(perGroup),
})

const gateWire = ({ concurrency, rate }: GroupLimits) => ({
  ...(concurrency === undefined ? {} : { concurrency }),
  ...(rate === undefined ? {} : { rate: rateWire(rate) }),
})

const admitWire = ({ admit }: PerGroupLimits) => (admit === undefined ? {} : { admit: rateWire(admit) })

const rateWire = ({ limit, per }: QueueRate) => ({ limit, per_ms: per })
