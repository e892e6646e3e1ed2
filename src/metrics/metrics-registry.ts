/**
 * Collects the metrics of a single process: refused requests, open streams, memory, and the metrics of applications. The values
 * are not stored: each process reports its own, and a scraper adds them up.
 */

import type { Log } from '../lib/logging/log.ts'
import {
  type MetricDefinition,
  type MetricFamily,
  type MetricLabels,
  type MetricSample,
  mostSeries,
  other,
  processMetrics,
} from './model/metric-table.ts'
import { ProcessMetrics } from './process-metrics.ts'

/** Metrics of an application, read at every scrape: must be fast, and must never scan all finished jobs. */
export type MetricSource = () => readonly MetricFamily[] | Promise<readonly MetricFamily[]>

interface Counted {
  labels: MetricLabels
  value: number
}

export interface Meter {
  /** Adds `more` to a counter or gauge; a gauge also accepts a negative number. */
  add(metric: MetricDefinition, more: number, labels?: MetricLabels): void
  /** Adds the metrics of `source` to every scrape from now on. */
  include(source: MetricSource): void
  /** A failing source does not affect the others. `alone`: without the metrics of applications. */
  families(log: Log, alone?: 'alone'): Promise<MetricFamily[]>
}

export function createMeter(): Meter {
  const counted = new Map<string, { metric: MetricDefinition; series: Map<string, Counted> }>()
  const sources = new Set<MetricSource>()
  const self = new ProcessMetrics()

  function seriesOf(metric: MetricDefinition): Map<string, Counted> {
    const family = counted.get(metric.name) ?? { metric, series: new Map<string, Counted>() }
    counted.set(metric.name, family)
    return family.series
  }

  const meter: Meter = {
    add(metric, more, labels = {}) {
      const series = seriesOf(metric)
      const name = JSON.stringify(labels)
      const known = series.get(name)
      if (known !== undefined) known.value += more
      else if (series.size < mostSeries) series.set(name, { labels, value: more })
      else addOther(series, labels, more)
    },
    include: source => void sources.add(source),
    async families(log, alone) {
      const ofApps = await Promise.all(
        Array.from(alone === undefined ? sources : [], async source => {
          try {
            return await source()
          } catch (error) {
            log.warn({ err: error }, 'cannot read some metrics')
            return []
          }
        }),
      )
      const own = Array.from(counted.values(), ({ metric, series }) => ({
        ...metric,
        samples: Array.from(series.values(), ({ labels, value }): MetricSample => ({ labels, value })),
      }))
      return [...own, ...self.families(), ...ofApps.flat()]
    },
  }
  meter.add(processMetrics.sseClients, 0)
  seriesOf(processMetrics.limited)
  return meter
}

/** Bounds the memory, because outside callers choose label values. */
function addOther(series: Map<string, Counted>, labels: MetricLabels, more: number): void {
  const named = Object.fromEntries(Object.keys(labels).map(name => [name, other]))
  const counted = series.get(other) ?? { labels: named, value: 0 }
  counted.value += more
  series.set(other, counted)
}
