/**
 * Counts the outcomes and durations of an incarnation's attempts. Counts in memory at about 10 ns per job; written every 10 s if something
 * changed (metrics/sql/metric-counters.ts).
 *
 * Invariant: numbers only grow. Counts since the last write are lost if the process ends.
 */

import type { AttemptEnd } from '../execution/attempt-outcome.ts'
import { durationBuckets, mostSeries, other, systemMetrics } from '../metrics/model/metric-table.ts'
import type { Series } from '../metrics/sql/metric-counters.ts'

export type AttemptTotals = Record<How, number>

type How = 'succeeded' | 'skipped' | 'failed' | 'retried' | 'snoozed' | 'released' | 'deferred' | 'lost'

interface Counts {
  queue: string
  kind: string
  ends: AttemptTotals
  /** A count per bucket, a count above the last bucket, and the sum in seconds. */
  durations: number[]
}

const { attempts, retries, duration } = systemMetrics
const above = durationBuckets.length
const sum = above + 1

export class AttemptMetrics {
  readonly #byQueue = new Map<string, Map<string, Counts>>()
  #size = 0
  /** True if something was counted since the last `take`. */
  changed = false
  readonly #totals: AttemptTotals

  /** `totals`: counts the outcomes of all kinds, over all incarnations of a worker. */
  constructor(totals: AttemptTotals = noAttempts()) {
    this.#totals = totals
  }

  ended({ queue, kind }: { queue: string; kind: string }, end: AttemptEnd, ms: number): void {
    const counts = this.#byQueue.get(queue)?.get(kind) ?? this.#begin(queue, kind)
    const how = howOf(end)
    counts.ends[how]++
    this.#totals[how]++
    this.changed = true
    if (how === 'lost' || how === 'released' || how === 'deferred') return
    const seconds = ms / 1000
    let bucket = 0
    while (bucket < above && seconds > durationBuckets[bucket]!) bucket++
    counts.durations[bucket]!++
    counts.durations[sum]! += seconds
  }

  #begin(queue: string, kind: string): Counts {
    if (this.#size >= mostSeries && (queue !== other || kind !== other))
      return this.#byQueue.get(other)?.get(other) ?? this.#begin(other, other)
    this.#size++
    const counts = { queue, kind, ends: noAttempts(), durations: new Array<number>(sum + 1).fill(0) }
    const kinds = this.#byQueue.get(queue) ?? new Map<string, Counts>()
    this.#byQueue.set(queue, kinds.set(kind, counts))
    return counts
  }

  /** All series, ready to be written. */
  take(): Series[] {
    this.changed = false
    return [...this.#byQueue.values()].flatMap(kinds => [...kinds.values()].flatMap(seriesOf))
  }
}

export const noAttempts = (): AttemptTotals => ({
  succeeded: 0,
  skipped: 0,
  failed: 0,
  retried: 0,
  snoozed: 0,
  released: 0,
  deferred: 0,
  lost: 0,
})

function howOf(end: AttemptEnd): How {
  if (end.state === 'waiting') return end.failure === null ? 'snoozed' : 'retried'
  return end.state
}

function seriesOf({ queue, kind, ends, durations }: Counts): Series[] {
  const labels = { queue, kind }
  const ended = Object.entries(ends).filter(([, count]) => count > 0)
  return [
    ...ended.map(([outcome, count]) => ({ name: attempts.name, labels: { ...labels, outcome }, value: [count] })),
    ...(ends.retried > 0 ? [{ name: retries.name, labels, value: [ends.retried] }] : []),
    { name: duration.name, labels, value: [...durations] },
  ]
}
