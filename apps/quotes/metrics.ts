/** Reports the stuck quotes and the average time of a quote in /metrics. The same in every process: use `max`, not `sum`. */
import type { Engine, MetricFamily } from 'retoma'
import { readStats } from './store/processing.ts'

export async function quoteMetrics(engine: Engine): Promise<MetricFamily[]> {
  const { stuck_count, total_processing, avg_processing_time_seconds: average } = await readStats(engine)
  const gauge = (name: string, help: string, value: number | null): MetricFamily => ({
    name,
    help,
    type: 'gauge',
    samples: value === null ? [] : [{ value }],
  })
  return [
    gauge('retoma_quotes_processing', 'Quotes that are PROCESSING', total_processing),
    gauge(
      'retoma_quotes_stuck',
      'Quotes that are PROCESSING without a sign of life for more than ten minutes',
      stuck_count,
    ),
    gauge(
      'retoma_quotes_avg_processing_seconds',
      'Average time of the quotes that were DONE in the last hour; no sample: none was',
      average,
    ),
  ]
}
