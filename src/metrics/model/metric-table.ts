/**
 * Defines every metric of the engine in a single table: name, type and help text. docs/metrics.md, the alerts and the dashboard
 * use the same names; tests check this.
 */

export interface MetricDefinition {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** A single sentence. */
  readonly help: string
}

/** The labels of a series, by name. */
export type MetricLabels = Readonly<Record<string, string>>

/** A value of a metric. */
export interface MetricSample {
  /** The labels of the series. Default: none. */
  readonly labels?: MetricLabels
  readonly value: number
  /** Histogram only: the series. Default: the metric itself. */
  readonly of?: 'bucket' | 'sum' | 'count'
}

/** A metric with the current values. An application may add metrics: see `metrics` of createApp. */
export interface MetricFamily extends MetricDefinition {
  readonly samples: readonly MetricSample[]
}

const gauge = (name: string, help: string): MetricDefinition => ({ name, type: 'gauge', help })
const counter = (name: string, help: string): MetricDefinition => ({ name, type: 'counter', help })

/** Metrics of the whole system, equal in every process. */
export const systemMetrics = {
  jobs: gauge(
    'retoma_jobs',
    'Jobs that are not final, by queue and state (waiting, running, stalled), as last counted',
  ),
  kindJobs: gauge('retoma_kind_jobs', 'The same by queue, kind and state'),
  ready: gauge('retoma_queue_ready', 'Waiting jobs whose time has come'),
  scheduled: gauge('retoma_queue_scheduled', 'Waiting jobs that are for later: delayed, or to be tried again'),
  oldest: gauge(
    'retoma_queue_oldest_seconds',
    'How long the first ready job of a queue has waited; those of paused batches do not count',
  ),
  paused: gauge('retoma_queue_paused', '1: somebody has paused the queue'),
  sampleAge: gauge('retoma_job_counts_age_seconds', 'How long ago the live jobs were counted'),
  stuck: gauge(
    'retoma_problems',
    'Hung, slow, starved and stalled jobs and batches, by verdict (hung, slow, starved, stalled, stalled_batch)',
  ),
  batches: gauge('retoma_batches', 'Batches that are not over, by state'),
  attempts: counter('retoma_attempts_total', 'Attempts that have ended, by queue, kind and outcome'),
  retries: counter('retoma_retries_total', 'Attempts that failed and are tried again, by queue and kind'),
  duration: {
    name: 'retoma_job_duration_seconds',
    type: 'histogram',
    help: 'How long handlers took, by queue and kind; every attempt counts',
  },
  workers: gauge('retoma_workers', 'Workers that live'),
  heartbeatAge: gauge('retoma_worker_heartbeat_age_seconds', 'Seconds since the last heartbeat of a live worker'),
  workerRunning: gauge('retoma_worker_running', 'Attempts whose handler runs'),
  workerLag: gauge(
    'retoma_worker_loop_lag_seconds',
    'The longest a worker’s main loop was late between its last two heartbeats, or has been blocked by now',
  ),
  workerMemory: gauge('retoma_worker_memory_bytes', 'What a worker’s process takes'),
  workerAbandoned: gauge('retoma_worker_abandoned', 'Handlers that still run after their signal was aborted'),
  workerWriteLag: gauge(
    'retoma_worker_write_lag_seconds',
    'How long the oldest outcome of a worker has waited for the database',
  ),
  providerWaiting: gauge('retoma_provider_waiting', '1: the provider has asked all workers to wait, and they do'),
  providerStopped: gauge(
    'retoma_provider_stopped',
    '1: the provider has stopped; one job asks the provider once a minute',
  ),
  watchdogLag: gauge(
    'retoma_watchdog_lag_seconds',
    'Seconds since the last check of any watchdog; a check is due every 5 s',
  ),
} satisfies Record<string, MetricDefinition>

/** Metrics of the process that answers. */
export const processMetrics = {
  build: gauge('retoma_build_info', 'Always 1; its labels say what runs'),
  databaseUp: gauge('retoma_database_up', '1: the database has answered; without it only the metrics below are known'),
  limited: counter('retoma_rate_limited_total', 'Requests that a rate limit refused, by bucket'),
  sseClients: gauge('retoma_sse_clients', 'Open event streams'),
  loopLag: gauge('retoma_process_loop_lag_seconds', 'The longest its main loop was late since it was last asked'),
  memory: gauge('process_resident_memory_bytes', 'What this process takes'),
  heap: gauge('nodejs_heap_size_used_bytes', 'What of it the heap takes'),
  cpu: counter('process_cpu_seconds_total', 'What it has used of the processor'),
  started: gauge('process_start_time_seconds', 'When it began, in seconds since 1970'),
} satisfies Record<string, MetricDefinition>

/** Upper bounds in seconds; a last bucket takes the values above. */
export const durationBuckets = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900] as const

/** Largest number of series of a metric in a process: further series are counted as `other`. */
export const mostSeries = 300
export const other = 'other'
