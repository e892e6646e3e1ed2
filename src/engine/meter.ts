/**
 * What one process tells of itself: requests refused, streams open, its memory; and what its apps tell. Not kept: each process
 * tells its own, and a scraper adds them up.
 */
import {
  type Labels,
  type Metric,
  type MetricFamily,
  type MetricSample,
  mostSeries,
  other,
  processMetrics,
} from '../core/metric.ts'
import type { Log } from '../lib/log.ts'
import { Self } from './self.ts'

/** Metrics of an app, asked for at every scrape: quick, and never over all that is finished. */
export type MetricSource = () => readonly MetricFamily[] | Promise<readonly MetricFamily[]>

interface Counted {
  labels: Labels
  value: number
}

export class Meter {
  readonly #counted = new Map<string, { metric: Metric; series: Map<string, Counted> }>()
  readonly #self = new Self()
  readonly #sources = new Set<MetricSource>()

  constructor() {
    this.add(processMetrics.sseClients, 0)
    this.#of(processMetrics.limited)
  }

  /** So many more, or fewer where it is a gauge. */
  add(metric: Metric, more: number, labels: Labels = {}): void {
    const { series } = this.#of(metric)
    const name = JSON.stringify(labels)
    const known = series.get(name)
    if (known !== undefined) known.value += more
    else if (series.size < mostSeries) series.set(name, { labels, value: more })
    else this.#addOther(series, labels, more)
  }

  /** What that answers is told with the rest from now on. */
  include(source: MetricSource): void {
    this.#sources.add(source)
  }

  /** A source that fails takes nothing else with it. */
  async families(log: Log): Promise<MetricFamily[]> {
    const ofApps = await Promise.all(
      Array.from(this.#sources, async source => {
        try {
          return await source()
        } catch (error) {
          log.warn({ err: error }, 'some metrics could not be read')
          return []
        }
      }),
    )
    const counted = Array.from(this.#counted.values(), ({ metric, series }) => ({
      ...metric,
      samples: Array.from(series.values(), ({ labels, value }): MetricSample => ({ labels, value })),
    }))
    return [...counted, ...this.#self.families(), ...ofApps.flat()]
  }

  /** Names that somebody else chooses do not fill the memory. */
  #addOther(series: Map<string, Counted>, labels: Labels, more: number): void {
    const named = Object.fromEntries(Object.keys(labels).map(name => [name, other]))
    const counted = series.get(other) ?? { labels: named, value: 0 }
    counted.value += more
    series.set(other, counted)
  }

  #of(metric: Metric) {
    const family = this.#counted.get(metric.name) ?? { metric, series: new Map<string, Counted>() }
    this.#counted.set(metric.name, family)
    return family
  }
}
