/** Converts the statistics of the whole system to metrics, as a pure function. */

import type { ProviderView } from '../providers/model/provider.ts'
import {
  durationBuckets,
  type MetricDefinition,
  type MetricFamily,
  type MetricSample,
  mostSeries,
  other,
  systemMetrics,
} from './model/metric-table.ts'
import type { Series } from './sql/metric-counters.ts'
import type { Readings, SystemCounts } from './sql/read-stats.ts'
import type { EngineStats, KindStats, QueueStats } from './stats.ts'

const family = (metric: MetricDefinition, samples: readonly MetricSample[]): MetricFamily => ({ ...metric, samples })

export function familiesOf(
  stats: EngineStats,
  readings: Readings,
  counted: readonly Series[],
  providers: readonly ProviderView[],
): MetricFamily[] {
  const { queues, kinds, batches, findings, watchdogLagSeconds } = stats
  const { sampleAgeSeconds } = readings
  const of = systemMetrics
  const each = (value: (queue: QueueStats) => number) =>
    queues.map(queue => ({ labels: { queue: queue.queue }, value: value(queue) }))
  const perWorker = (value: (worker: SystemCounts) => number) =>
    readings.workers.map(worker => ({ labels: { worker: worker.id, host: worker.host }, value: value(worker) }))
  const perProvider = (state: ProviderView['state']) =>
    providers.map(provider => ({ labels: { provider: provider.name }, value: Number(provider.state === state) }))
  const stalled = queues.reduce((sum, queue) => sum + queue.stalled, 0)
  const found = { hung: 0, slow: 0, starved: 0, ...findings, stalled, stalled_batch: batches.stalled ?? 0 }
  return [
    family(of.jobs, queues.flatMap(queue => statesOf({ queue: queue.queue }, queue))),
    family(of.kindJobs, bounded(kinds).flatMap(kind => statesOf({ queue: kind.queue, kind: kind.kind }, kind))),
    family(of.ready, each(queue => queue.ready)),
    family(of.scheduled, each(queue => queue.scheduled)),
    family(of.oldest, each(queue => queue.oldestReadySeconds ?? 0)),
    family(of.paused, each(queue => Number(queue.paused))),
    family(of.sampleAge, known(sampleAgeSeconds)),
    family(of.stuck, byLabel('verdict', found)),
    family(of.batches, byLabel('state', batches)),
    family(of.attempts, countsOf(of.attempts, counted)),
    family(of.retries, countsOf(of.retries, counted)),
    family(of.duration, summed(of.duration, counted).flatMap(histogram)),
    family(of.workers, [{ value: readings.workers.length }]),
    family(of.heartbeatAge, perWorker(worker => worker.heartbeatAgeSeconds)),
    family(of.workerRunning, perWorker(worker => worker.inFlight)),
    family(of.workerLag, perWorker(lagOf)),
    family(of.workerMemory, perWorker(worker => worker.memoryBytes ?? 0)),
    family(of.workerAbandoned, perWorker(worker => worker.abandoned)),
    family(of.workerWriteLag, perWorker(worker => worker.writeLagMs / 1000)),
    family(of.providerWaiting, perProvider('waiting')),
    family(of.providerStopped, perProvider('stopped')),
    family(of.watchdogLag, known(watchdogLagSeconds)),
  ] // biome-ignore format: a metric a line
}

const known = (value: number | null): MetricSample[] => (value === null ? [] : [{ value }])

const lagOf = ({ loopLagMs, blockedSeconds }: SystemCounts) => Math.max((loopLagMs ?? 0) / 1000, blockedSeconds ?? 0)

const byLabel = (label: string, values: Readonly<Record<string, number>>): MetricSample[] =>
  Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }))

type Live = Pick<QueueStats, 'ready' | 'scheduled' | 'running' | 'stalled'>

/** Uses the state names of jobs: ready and scheduled jobs are both `waiting`. */
const statesOf = (labels: Record<string, string>, { ready, scheduled, running, stalled }: Live): MetricSample[] =>
  byLabel('state', { waiting: ready + scheduled, running, stalled }).map(sample => ({
    value: sample.value,
    labels: { ...labels, ...sample.labels },
  }))

/** The largest kinds; all others are added up in a single series. */
function bounded(kinds: readonly KindStats[]): KindStats[] {
  if (kinds.length <= mostSeries) return [...kinds]
  const size = (each: Live) => each.ready + each.scheduled + each.running + each.stalled
  const sorted = kinds.toSorted((a, b) => size(b) - size(a))
  const rest = { queue: other, kind: other, ready: 0, scheduled: 0, running: 0, stalled: 0 }
  for (const each of sorted.slice(mostSeries))
    for (const state of ['ready', 'scheduled', 'running', 'stalled'] as const) rest[state] += each[state]
  return [...sorted.slice(0, mostSeries), rest]
}

/** Adds up the series of a metric over all processes. */
function summed(metric: MetricDefinition, counted: readonly Series[]): Series[] {
  const sums = new Map<string, { name: string; labels: Series['labels']; value: number[] }>()
  for (const { name, labels, value } of counted) {
    if (name !== metric.name) continue
    // Fixed label order for readers; the database returns another order.
    const { queue, kind, ...more } = labels as Record<string, string>
    const ordered = { queue: queue!, kind: kind!, ...more }
    const key = JSON.stringify(ordered)
    const sum = sums.get(key)
    if (sum === undefined) sums.set(key, { name, labels: ordered, value: [...value] })
    else for (const [i, n] of value.entries()) sum.value[i] = (sum.value[i] ?? 0) + n
  }
  return [...sums.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, series]) => series)
}

const countsOf = (metric: MetricDefinition, counted: readonly Series[]): MetricSample[] =>
  summed(metric, counted).map(({ labels, value }) => ({ labels, value: value[0]! }))

/** Prometheus buckets are cumulative: each bucket includes the counts of the smaller buckets. */
function histogram({ labels, value }: Series): MetricSample[] {
  let count = 0
  const buckets = [...durationBuckets.map(String), '+Inf'].map((le, i) => {
    count += value[i]!
    return { labels: { ...labels, le }, value: count, of: 'bucket' as const }
  })
  return [...buckets, { labels, value: value.at(-1)!, of: 'sum' }, { labels, value: count, of: 'count' }]
}
