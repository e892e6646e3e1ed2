/**
 * Answers `engine.metrics.history`: the counts, durations and waiting times of the queues over time, from rows by minute or by hour. The
 * read costs as much as the rows of the span, whatever the number of jobs.
 */
import type { Db } from '../database/db.ts'
import { localized, RetomaError } from '../errors/errors.ts'
import type { Clock } from '../lib/clock.ts'
import { historyBounds, noCounts, quantileOf } from './model/histogram.ts'
import { type HistoryOptions, spanOf } from './model/history-span.ts'
import { type HistoryCount, type HistoryRow, historyCounts, readHistory } from './sql/queue-history.ts'

/** A histogram with its quantiles. Values lie within a bucket, so a quantile is at most 2.5 times off. */
export interface HistoryDistribution {
  /** The number of measured values. */
  count: number
  /** null: nothing was measured. */
  meanSeconds: number | null
  p50Seconds: number | null
  p95Seconds: number | null
  /** A count for each bound of `bucketSeconds`, and a last count for the values above. */
  buckets: number[]
}

/** The counts of a step. `retried`: failed attempts with a further attempt. `deferred`: releases, snoozes and provider waits. */
export interface HistoryPoint extends Record<HistoryCount, number> {
  /** Start of the step. */
  at: Date
  /** How long handlers took; every attempt that ended counts. */
  duration: HistoryDistribution
  /** From the time a job was ready until its handler started. */
  waiting: HistoryDistribution
}

/** The points of a queue; a step without any count has no point. */
export interface QueueHistory {
  queue: string
  points: HistoryPoint[]
}

/** The answer of `engine.metrics.history`. */
export interface EngineHistory {
  from: Date
  to: Date
  stepSeconds: number
  /** Upper bounds of the buckets. */
  bucketSeconds: number[]
  /** By name. */
  queues: QueueHistory[]
  /** The sum over these queues. */
  total: HistoryPoint[]
}

/** The largest number of points over all queues. */
const mostRows = 20_000

export function createHistory({ db, clock }: { db: Db; clock: Clock }) {
  return {
    async history(options: HistoryOptions = {}): Promise<EngineHistory> {
      const span = spanOf(options, clock.now())
      const rows = await readHistory(db, { ...span, queue: options.queue, limit: mostRows + 1 })
      if (rows.length > mostRows)
        throw new RetomaError('bad_option', {
          option: 'step',
          problem: localized(
            `the answer has more than ${mostRows} points over all queues; choose a longer step or one queue`,
            `a resposta tem mais de ${mostRows} pontos em todas as filas; escolha um passo maior ou uma fila`,
          ),
        })
      const { exceptQueues = [] } = options
      return historyOf(
        span,
        rows.filter(({ queue }) => !exceptQueues.includes(queue)),
      )
    },
  }
}

function historyOf(span: { from: Date; to: Date; stepSeconds: number }, rows: readonly HistoryRow[]): EngineHistory {
  const queues: QueueHistory[] = []
  const sums = new Map<number, HistoryRow>()
  for (const row of rows) {
    if (queues.at(-1)?.queue !== row.queue) queues.push({ queue: row.queue, points: [] })
    queues.at(-1)!.points.push(pointOf(row))
    sums.set(row.at, sumOf(sums.get(row.at), row))
  }
  return {
    from: span.from,
    to: span.to,
    stepSeconds: span.stepSeconds,
    bucketSeconds: historyBounds.map(bound => bound / 1000),
    queues,
    total: [...sums.values()].toSorted((a, b) => a.at - b.at).map(pointOf),
  }
}

const added = (a: readonly number[], b: readonly number[]) => a.map((count, n) => count + (b[n] ?? 0))

function sumOf(sum: HistoryRow | undefined, row: HistoryRow): HistoryRow {
  if (sum === undefined) return row
  const counts = historyCounts.map(name => [name, sum[name] + row[name]] as const)
  return {
    ...sum,
    ...(Object.fromEntries(counts) as Record<HistoryCount, number>),
    durationMs: sum.durationMs + row.durationMs,
    waitingMs: sum.waitingMs + row.waitingMs,
    durations: added(sum.durations, row.durations),
    waitings: added(sum.waitings, row.waitings),
  }
}

function pointOf({ at, durations, waitings, durationMs, waitingMs, ...row }: HistoryRow): HistoryPoint {
  const counts = historyCounts.map(name => [name, row[name]] as const)
  return {
    at: new Date(at * 1000),
    ...(Object.fromEntries(counts) as Record<HistoryCount, number>),
    duration: distributionOf(durations, durationMs),
    waiting: distributionOf(waitings, waitingMs),
  }
}

function distributionOf(counts: readonly number[], ms: number): HistoryDistribution {
  const count = counts.reduce((sum, each) => sum + each, 0)
  const seconds = (q: number) => {
    const found = quantileOf(counts, q)
    return found === null ? null : found / 1000
  }
  return {
    count,
    meanSeconds: count === 0 ? null : ms / count / 1000,
    p50Seconds: seconds(0.5),
    p95Seconds: seconds(0.95),
    buckets: counts.length === 0 ? noCounts() : [...counts],
  }
}
