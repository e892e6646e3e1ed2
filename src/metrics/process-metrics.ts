/** Measures this process: memory, CPU time and event loop lag. */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { systemClock } from '../lib/clock.ts'
import { version } from '../version.ts'
import { type MetricDefinition, type MetricFamily, processMetrics as of } from './model/metric-table.ts'

const resolutionMs = 20

export class ProcessMetrics {
  /** Created at the first read: without a scraper the lag is not measured. */
  #delay: IntervalHistogram | undefined

  families(): MetricFamily[] {
    const { rss, heapUsed } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    return [
      { ...of.build, samples: [{ labels: { version, node: process.versions.node }, value: 1 }] },
      one(of.loopLag, this.#lag()),
      one(of.memory, rss),
      one(of.heap, heapUsed),
      one(of.cpu, (user + system) / 1e6),
      one(of.started, systemClock.now().getTime() / 1000 - process.uptime()),
    ]
  }

  #lag(): number {
    if (this.#delay === undefined) {
      this.#delay = monitorEventLoopDelay({ resolution: resolutionMs })
      this.#delay.enable()
      return 0
    }
    // Without a measurement `max` is 0.
    const late = Math.max(0, this.#delay.max / 1e9 - resolutionMs / 1000)
    this.#delay.reset()
    return late
  }
}

const one = (metric: MetricDefinition, value: number): MetricFamily => ({ ...metric, samples: [{ value }] })
